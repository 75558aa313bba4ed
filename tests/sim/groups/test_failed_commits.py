"""Failed commits: whether a close, an assignment, or a rebalance retries them, and how long it waits for them."""

from collections.abc import Callable, Iterator

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.waiting import WaitReason
from tests.sim.kit.groups import GROUP, GroupCluster, Noting
from tests.sim.virtual import Hub

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
GIVE_UP: dict[str, Callable[[Consumer], None]] = {
    "assign": lambda consumer: consumer.assign([T1]),
    "unassign": lambda consumer: consumer.unassign([T0]),
    "unsubscribe": Consumer.unsubscribe,
}


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=67) as hub:
        yield GroupCluster(hub, topics={"t": 2})


def committed(cluster: GroupCluster, partition: int = 0) -> int | None:
    offset = cluster.sandbox.committed(GROUP).get(("t", partition))
    return None if offset is None else offset.offset


# --- manual assignment ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_automatic", [False, True])
@pytest.mark.parametrize("fails_first", [False, True])
@pytest.mark.parametrize("give_up", GIVE_UP)
def test_failed_commit_of_an_unassigned_partition_is_not_retried_over_a_later_offset(
    cluster: GroupCluster, give_up: str, fails_first: bool, is_automatic: bool
) -> None:
    def body() -> None:
        cluster.write(0, 8)
        first = cluster.consumer(group_id=GROUP, enable_auto_commit=is_automatic, auto_commit_interval_ms=1000)
        first.assign([T0, T1])
        assert len(first.poll(5)) == 8
        times = 1000 if is_automatic else 1
        cluster.sandbox.fail_requests("OffsetCommit", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, times=times)
        if is_automatic:
            cluster.hub.sleep_ms(1000)
            first.poll(0)
        else:
            first.commit_async()
        if fails_first:
            cluster.hub.sleep_ms(50)
        GIVE_UP[give_up](first)
        cluster.hub.sleep_ms(50)
        cluster.sandbox.heal()
        cluster.commit(GROUP, {("t", 0): 20})
        cluster.hub.sleep_ms(3000)
        first.close()
        assert committed(cluster) == 20

    cluster.play(body)


def test_failed_commit_of_a_partition_that_stays_assigned_is_retried_at_the_close(cluster: GroupCluster) -> None:
    def body() -> None:
        cluster.write(0, 8)
        first = cluster.consumer(group_id=GROUP, enable_auto_commit=False)
        first.assign([T0, T1])
        assert len(first.poll(5)) == 8
        cluster.sandbox.fail_requests("OffsetCommit", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        first.commit_async()
        cluster.hub.sleep_ms(50)
        first.assign([T0])
        assert first.close().committed
        assert (committed(cluster), committed(cluster, 1)) == (8, None)

    cluster.play(body)


# --- rebalances -------------------------------------------------------------------------------------------------------

PROTOCOLS: dict[str, dict[str, object]] = {
    "range": {"partition_assignment_strategy": "range"},
    "cooperative": {"partition_assignment_strategy": "cooperative-sticky"},
    "consumer": {"group_protocol": "consumer"},
}


def member(cluster: GroupCluster, name: str, properties: dict[str, object]) -> Consumer:
    consumer = cluster.consumer(group_id=GROUP, **properties)
    cluster.journal.consumers[name] = consumer
    consumer.subscribe(["t"], Noting(cluster.journal, name))
    return consumer


@pytest.mark.parametrize("is_automatic", [False, True])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_member_whose_commits_fail_gives_up_partitions_before_the_group_removes_it(
    cluster: GroupCluster, protocol: str, is_automatic: bool
) -> None:
    given = {
        "enable_auto_commit": is_automatic,
        "auto_commit_interval_ms": 1000,
        "max_poll_interval_ms": 8000,
        **PROTOCOLS[protocol],
    }
    cluster.write(0, 4)
    cluster.write(1, 4)
    waits: list[WaitReason] = []

    def first() -> None:
        consumer = member(cluster, "a", given)
        cluster.read(consumer, 5)
        assert len(consumer.assignment) == 2
        member_id = consumer.group_metadata().member_id
        cluster.sandbox.fail_requests("OffsetCommit", ErrorCode.UNKNOWN_SERVER_ERROR, times=10_000)
        consumer.commit_async()
        while cluster.hub.now_ms < 50_000:
            cluster.read(consumer, 0.3)
            waits.extend(wait for wait in [consumer.waiting_for_group()] if wait is not None)
        assert consumer.group_metadata().member_id == member_id
        assert cluster.journal.of("a", "lost") == []
        codes = {getattr(wait.cause, "code", None) for wait in waits if wait.text.endswith("to commit the offsets")}
        assert ErrorCode.UNKNOWN_SERVER_ERROR in codes
        consumer.close(1)
        cluster.hub.sleep_ms(20)

    def other(name: str, start_ms: int) -> None:
        cluster.hub.sleep_ms(start_ms)
        consumer = member(cluster, name, given)
        cluster.read(consumer, 12)
        assert cluster.journal.of(name, "assigned")
        cluster.read(consumer, 42 - start_ms / 1000)
        consumer.close(1)
        cluster.hub.sleep_ms(20)

    cluster.play(first, lambda: other("b", 8000), lambda: other("c", 24_000))


# --- close and unsubscribe --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timeout", [3, None])
@pytest.mark.parametrize("is_automatic", [False, True])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_close_whose_commit_takes_the_whole_time_still_sends_leave_group(
    cluster: GroupCluster, protocol: str, is_automatic: bool, timeout: float | None
) -> None:
    def body() -> None:
        cluster.write(0, 4)
        consumer = member(cluster, "a", {"enable_auto_commit": is_automatic, **PROTOCOLS[protocol]})
        cluster.read(consumer, 5)
        cluster.sandbox.fail_requests("OffsetCommit", ErrorCode.UNKNOWN_SERVER_ERROR, times=10_000)
        if not is_automatic:
            consumer.commit_async()
            cluster.hub.sleep_ms(50)
        result = consumer.close(timeout)
        assert (result.committed, result.left_group, result.expired_in) == (False, False, "committing offsets")
        assert result.elapsed_ms <= (timeout or 30) * 1000
        cluster.hub.sleep_ms(50)
        assert cluster.sandbox.members(GROUP) == []

    cluster.play(body)


@pytest.mark.parametrize("close_timeout", [0, 1, 60, None])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_unsubscribe_whose_commits_fail_leaves_the_group_in_time(
    cluster: GroupCluster, protocol: str, close_timeout: float | None
) -> None:
    def body() -> None:
        cluster.write(0, 4)
        given = {"enable_auto_commit": False, "request_timeout_ms": 2000, **PROTOCOLS[protocol]}
        consumer = member(cluster, "a", given)
        cluster.read(consumer, 5)
        cluster.sandbox.fail_requests("OffsetCommit", ErrorCode.UNKNOWN_SERVER_ERROR, times=10_000)
        consumer.commit_async()
        cluster.hub.sleep_ms(50)
        consumer.unsubscribe()
        if close_timeout is None:
            cluster.hub.sleep_ms(2200)
        else:
            consumer.close(close_timeout)
            cluster.hub.sleep_ms(50)
        assert cluster.sandbox.members(GROUP) == []
        consumer.close()

    cluster.play(body)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_new_subscription_waits_for_failed_automatic_commits_only_until_the_request_timeout(
    cluster: GroupCluster, protocol: str
) -> None:
    def body() -> None:
        given = {"auto_commit_interval_ms": 1000, "request_timeout_ms": 2000, **PROTOCOLS[protocol]}
        consumer = cluster.consumer(group_id=GROUP, **given)
        consumer.subscribe(["other"])
        cluster.read(consumer, 5)
        cluster.sandbox.fail_requests("OffsetCommit", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, times=10_000)
        cluster.read(consumer, 1.2)  # an automatic commit is due
        consumer.subscribe(["t"])
        cluster.read(consumer, 6)
        assert consumer.assignment == [T0, T1]
        consumer.close(1)
        cluster.hub.sleep_ms(50)

    cluster.sandbox.create_topic("other", 1)
    cluster.play(body)
