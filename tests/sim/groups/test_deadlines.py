"""Blocking calls and close of a member, with its coordinator in every kind of trouble: each ends on its millisecond."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.fetch.sessions import SESSIONS_CLOSE_MS
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import ApiTimeout, CloseTimeout, KafkaError, WakeupError
from kctl.sandbox import Fault
from tests.sim.kit.groups import GROUP, GroupCluster
from tests.sim.virtual import Hub

T0 = TopicPartition("t", 0)
FAULTS = [Fault.FREEZE, Fault.SILENCE, Fault.RESET_ON_REQUEST, Fault.BLACKHOLE, Fault.REFUSE, Fault.RESET]
CALLS: dict[str, Callable[[Consumer, float], object]] = {
    "commit_sync": lambda consumer, timeout: consumer.commit_sync({T0: 1}, timeout=timeout),
    "committed": lambda consumer, timeout: consumer.committed([T0], timeout=timeout),
}


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=8) as hub:
        yield GroupCluster(hub)


@pytest.mark.parametrize("is_member", [True, False])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("call", CALLS)
def test_a_call_ends_on_its_deadline(cluster: GroupCluster, call: str, fault: Fault, is_member: bool) -> None:
    def body() -> None:
        consumer = cluster.member("a") if is_member else cluster.consumer(group_id=GROUP)
        if is_member:
            cluster.read(consumer, 5)
        cluster.break_all(fault)
        for timeout in (0.0, 0.001, 0.25, 7.5):
            before_ms = cluster.hub.now_ms
            try:
                CALLS[call](consumer, timeout)
            except ApiTimeout:
                assert cluster.hub.now_ms - before_ms == round(timeout * 1000)
            else:
                assert is_member, "a member's open connections outlive faults of new ones"
                assert fault in (Fault.BLACKHOLE, Fault.REFUSE, Fault.RESET)
            if is_member:
                assert cluster.elapsed_ms(lambda: consumer.poll(timeout=0.5)) <= 500
        before_ms = cluster.hub.now_ms
        consumer.close(3)
        assert cluster.hub.now_ms - before_ms <= 3000
        cluster.sandbox.heal()
        cluster.hub.sleep_ms(20)

    cluster.play(body)


@pytest.mark.parametrize("fault", [None, *FAULTS])
@pytest.mark.parametrize("timeout", [0.0, 0.5, 60.0, float("inf")])
def test_close_ends_in_time_and_says_what_it_did(cluster: GroupCluster, fault: Fault | None, timeout: float) -> None:
    def body() -> None:
        cluster.write(0, 10)
        consumer = cluster.member("a", request_timeout_ms=4000)
        cluster.read(consumer, 5)
        callbacks: list[KafkaError | None] = []
        if fault is not None:
            cluster.break_all(fault)
        consumer.commit_async({T0: 3}, lambda _, error: callbacks.append(error))
        consumer.wakeup()
        before_ms = cluster.hub.now_ms
        result = consumer.close(timeout)
        elapsed_ms = cluster.hub.now_ms - before_ms
        assert elapsed_ms == result.elapsed_ms <= min(timeout * 1000, 2 * 4000)
        assert consumer.close() is result
        assert len(callbacks) == 1, "every callback has run"
        assert cluster.journal.of("a", "revoked")[-1][2] == (0, 1, 2, 3, 4, 5)
        is_reachable = fault in (None, Fault.BLACKHOLE, Fault.REFUSE, Fault.RESET)
        if timeout == 0:
            assert isinstance(callbacks[0], CloseTimeout)
            assert result.committed is False
        elif is_reachable:
            assert (result.committed, result.left_group, result.expired_in) == (True, True, None)
            assert elapsed_ms < SESSIONS_CLOSE_MS + 50, "a fetch under way holds the goodbye to its session up"
        else:
            assert (result.committed, result.left_group) == (False, False)
            assert result.expired_in == "committing offsets"
        cluster.sandbox.heal()
        cluster.hub.sleep_ms(20)

    cluster.play(body)


@pytest.mark.parametrize("on_close", ["leave", "remain", None])
@pytest.mark.parametrize("is_static", [True, False])
def test_close_leaves_as_asked(cluster: GroupCluster, on_close: str | None, is_static: bool) -> None:
    def body() -> None:
        consumer = cluster.member("a", **({"group_instance_id": "one"} if is_static else {}))
        cluster.read(consumer, 5)
        result = consumer.close(10, on_close=on_close)  # type: ignore[arg-type]  # plain text, as users write it
        leaves = on_close == "leave" or (on_close is None and not is_static)
        assert result.left_group is (True if leaves else None)
        assert (result.committed, result.expired_in) == (True, None)
        cluster.hub.sleep_ms(20)

    cluster.play(body)


def test_a_member_that_is_still_joining_closes_at_once(cluster: GroupCluster) -> None:
    def body() -> None:
        holder = cluster.member("a")
        cluster.read(holder, 5)
        joining = cluster.member("b")
        assert joining.poll(timeout=0.5) == []
        waiting = joining.waiting_for_group()
        assert waiting is not None
        assert str(waiting) == "joining group g: waiting for the other members to join"
        assert waiting.kind is WaitKind.JOINING
        assert cluster.elapsed_ms(joining.close) < 50, "the goodbye does not queue up behind the JoinGroup"
        holder.close()
        cluster.hub.sleep_ms(20)

    cluster.play(body)


def test_poll_is_bounded_while_the_group_rebalances_and_wakeup_ends_it(cluster: GroupCluster) -> None:
    def body() -> None:
        holder = cluster.member("a")
        cluster.read(holder, 5)
        joining = cluster.member("b")
        for timeout in (0.0, 0.001, 0.1, 3.0):
            assert cluster.elapsed_ms(partial(joining.poll, timeout)) == round(timeout * 1000)
        cluster.hub.call_later_ms(700, "waker", joining.wakeup)
        with pytest.raises(WakeupError):
            joining.poll(timeout=5)
        joining.close()
        holder.close()
        cluster.hub.sleep_ms(20)

    cluster.play(body)
