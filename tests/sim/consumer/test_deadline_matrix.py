"""Every waiting call under every fault with every timeout: it ends at its deadline, never early, and says why."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import ApiTimeout, TransportError
from kctl.client.hedged_requests import SILENCE_MS
from kctl.sandbox import Fault
from tests.sim.kit.groups import GROUP, GroupCluster
from tests.sim.virtual import Hub

TIMEOUTS_MS = (0, 1, 100, 5000)
SLOW_MS = 20_000


class Waits(NamedTuple):
    """Call, the brokers that it needs, and the expected text of its error."""

    call: Callable[[Consumer, TopicPartition, float], object]
    needs: tuple[str, ...]
    names: str


CALLS = {
    "beginning_offsets": Waits(lambda c, tp, s: c.beginning_offsets([tp], s), ("leader",), "offset of t-"),
    "end_offsets": Waits(lambda c, tp, s: c.end_offsets([tp], s), ("leader",), "offset of t-"),
    "offsets_for_times": Waits(lambda c, tp, s: c.offsets_for_times({tp: 1}, s), ("leader",), "offset of t-"),
    "position": Waits(lambda c, tp, s: c.position(tp, s), ("leader",), "offset of t-"),
    "partitions_for": Waits(lambda c, _, s: c.partitions_for("t", s), (), "metadata of t"),
    "list_topics": Waits(lambda c, _, s: c.list_topics(s), (), "metadata of all topics"),
    "client_instance_id": Waits(lambda c, _, s: c.client_instance_id(s), (), "client instance id"),
    "committed": Waits(lambda c, tp, s: c.committed([tp], s), ("coordinator",), "coordinator"),
    "commit_sync": Waits(lambda c, tp, s: c.commit_sync({tp: 1}, s), ("coordinator",), "coordinator"),
    "poll": Waits(lambda c, _, s: c.poll(s), ("leader",), ""),
    "poll_chunk": Waits(lambda c, _, s: c.poll_chunk(s), ("leader",), ""),
}
FAULTS: dict[str, tuple[str, Fault]] = {
    "all blackholed": ("all", Fault.BLACKHOLE),
    "all frozen": ("all", Fault.FREEZE),
    "leader frozen": ("leader", Fault.FREEZE),
    "coordinator frozen": ("coordinator", Fault.FREEZE),
    "slow brokers": ("all", Fault.DELAY),
    "answers dropped": ("all", Fault.SILENCE),
}


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=61) as hub:
        yield GroupCluster(hub, topics={"t": 3})


def start(cluster: GroupCluster, where: str, fault: Fault, tp: TopicPartition) -> None:
    nodes = {"all": [1, 2, 3], "leader": [cluster.leader(tp.partition)], "coordinator": [cluster.coordinator()]}[where]
    for node_id in nodes:
        cluster.sandbox.start_fault(node_id, fault, ms=SLOW_MS if fault is Fault.DELAY else 0)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", CALLS)
def test_call_under_a_fault_ends_at_its_deadline(cluster: GroupCluster, name: str, fault: str) -> None:
    where, kind = FAULTS[fault]
    wanted = CALLS[name]
    is_blocked = where == "all" or where in wanted.needs

    def body() -> None:
        partition = next(i for i in range(3) if cluster.leader(i) != cluster.coordinator())
        tp = TopicPartition("t", partition)
        consumer = cluster.consumer(group_id=GROUP, enable_auto_commit=False)
        consumer.assign([tp])
        if kind is not Fault.BLACKHOLE:  # which meets only those who are not connected yet
            consumer.poll(1)
            consumer.committed([tp])
            consumer.partitions_for("t")
        if name == "position":
            consumer.seek_to_beginning()
        start(cluster, where, kind, tp)
        for timeout_ms in TIMEOUTS_MS:
            if name.startswith("poll"):
                assert_polls(cluster, wanted, consumer, tp, timeout_ms)
            elif is_blocked or timeout_ms == 0:
                assert_times_out(cluster, wanted, consumer, tp, timeout_ms)
            elif timeout_ms == 5000:
                assert_is_not_blocked(cluster, wanted, consumer, tp)
        if name == "poll":
            cluster.write(partition, 3)
            cluster.sandbox.heal()
            assert len(consumer.poll(SLOW_MS / 1000 + 15)) == 3, "what was asked for is not lost"
        consumer.close(0)
        cluster.sandbox.heal()
        cluster.hub.sleep_ms(SLOW_MS + 50)

    cluster.play(body)


@pytest.mark.parametrize("fault", [Fault.BLACKHOLE, Fault.FREEZE, Fault.REFUSE])
@pytest.mark.parametrize("name", [name for name in CALLS if not name.startswith("poll")])
def test_call_without_a_connection_names_what_the_connection_waits_for(
    cluster: GroupCluster, name: str, fault: Fault
) -> None:
    def body() -> None:
        cluster.break_all(fault)
        tp = TopicPartition("t", 0)
        with cluster.consumer(group_id=GROUP, enable_auto_commit=False) as consumer:
            consumer.assign([tp])
            consumer.seek_to_beginning()
            for timeout_ms in (100, 5000):
                error = assert_times_out(cluster, CALLS[name], consumer, tp, timeout_ms)
                assert isinstance(error.cause, TransportError), error

    cluster.play(body)


@pytest.mark.parametrize("name", ["committed", "commit_sync"])
def test_call_names_what_the_connection_to_the_coordinator_waits_for(cluster: GroupCluster, name: str) -> None:
    def body() -> None:
        tp = TopicPartition("t", 0)
        cluster.sandbox.start_fault(cluster.coordinator(), Fault.BLACKHOLE)
        with cluster.consumer(group_id=GROUP, enable_auto_commit=False) as consumer:
            consumer.assign([tp])
            with pytest.raises(ApiTimeout, match=r"waiting for the coordinator .*; last error: .*no SYN-ACK yet"):
                CALLS[name].call(consumer, tp, 5)

    cluster.play(body)


def assert_polls(cluster: GroupCluster, wanted: Waits, consumer: Consumer, tp: TopicPartition, timeout_ms: int) -> None:
    before_ms = cluster.hub.now_ms
    assert not wanted.call(consumer, tp, timeout_ms / 1000)
    assert cluster.hub.now_ms - before_ms == timeout_ms


def assert_times_out(
    cluster: GroupCluster, wanted: Waits, consumer: Consumer, tp: TopicPartition, timeout_ms: int
) -> ApiTimeout:
    before_ms = cluster.hub.now_ms
    with pytest.raises(ApiTimeout) as caught:
        wanted.call(consumer, tp, timeout_ms / 1000)
    assert cluster.hub.now_ms - before_ms == timeout_ms
    check(caught.value, wanted, timeout_ms)
    return caught.value


def assert_is_not_blocked(cluster: GroupCluster, wanted: Waits, consumer: Consumer, tp: TopicPartition) -> None:
    before_ms = cluster.hub.now_ms
    wanted.call(consumer, tp, 5)
    assert cluster.hub.now_ms - before_ms < SILENCE_MS + 100, "it needs nobody who is in trouble, or finds another"


def check(error: ApiTimeout, wanted: Waits, timeout_ms: int) -> None:
    """Check that the error is retriable, and has the missing response and a complete time breakdown."""
    assert error.retriable
    assert (error.timeout_ms, error.elapsed_ms) == (timeout_ms, timeout_ms)
    assert error.waiting_for.startswith("waiting for")
    if timeout_ms > 1:
        assert wanted.names in error.waiting_for
        assert sum(int(entry.split()[-2]) for entry in error.time_breakdown) == pytest.approx(timeout_ms, abs=1)
