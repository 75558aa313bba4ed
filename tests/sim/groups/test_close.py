"""KIP-102, sentence by sentence: actions of close(), their order, duration, and result."""

import math
from collections.abc import Callable, Iterator, Sequence

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.group.application_side import RebalanceListener
from kctl.client.errors import CloseTimeout, IllegalStateError, KafkaError
from kctl.client.events import Closed, Event, RequestSent
from kctl.client.loop import at_exit
from kctl.client.runtime import Task, Waiter
from kctl.sandbox import Fault
from tests.sim.kit.groups import GROUP, GroupCluster
from tests.sim.virtual import Hub, sim_runtime

T0 = TopicPartition("t", 0)
REQUEST_TIMEOUT_MS = 4000
Listener = Callable[[Sequence[TopicPartition]], None]


class OnRevoked(RebalanceListener):
    """Calls a function when partitions go."""

    def __init__(self, call: Listener) -> None:
        self._call = call

    def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._call(topic_partitions)


class Member:
    """A member of the group that has read what there is, and everything that happened on its connections."""

    def __init__(self, cluster: GroupCluster, listener: RebalanceListener | None = None, **properties: object) -> None:
        self.scene = cluster
        self.events: list[Event] = []
        given = {
            "bootstrap_servers": cluster.bootstrap,
            "group_id": GROUP,
            "auto_offset_reset": "earliest",
            "request_timeout_ms": REQUEST_TIMEOUT_MS,
            "auto_commit_interval_ms": 3_600_000,
            **properties,
        }
        config = {name.replace("_", "."): value for name, value in given.items()}
        self.consumer = Consumer(config, sim_runtime(cluster.hub, "m", cluster.network), events=self.events.append)
        cluster.write(0, 4)
        self.consumer.subscribe(["t"], listener)
        read = 0
        while read < 4:
            read += len(self.consumer.poll(1))
        self.events.clear()

    def close(self, timeout: float | None = None) -> tuple[int, tuple[bool | None, bool | None, str | None]]:
        """Close the consumer. Return the elapsed time and the result."""
        before_ms = self.scene.hub.now_ms
        result = self.consumer.close(timeout)
        elapsed_ms = self.scene.hub.now_ms - before_ms
        assert result.elapsed_ms == elapsed_ms
        return elapsed_ms, (result.committed, result.left_group, result.expired_in)

    def sent(self, *apis: str) -> list[str]:
        return [event.api for event in self.events if isinstance(event, RequestSent) and event.api in apis]


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=59) as hub:
        yield GroupCluster(hub, topics={"t": 1})


def play(cluster: GroupCluster, body: Callable[[], None]) -> None:
    """Run the body; nothing of the consumer is left afterwards, and the nodes have heard of it."""

    def whole() -> None:
        body()
        cluster.sandbox.heal()
        cluster.hub.sleep_ms(50)

    cluster.play(whole)


def freeze_all(cluster: GroupCluster) -> None:
    for node_id in (1, 2, 3):
        cluster.sandbox.start_fault(node_id, Fault.FREEZE)


# --- actions ----------------------------------------------------------------------------------------------------------


def test_close_commits_and_leaves_the_group_before_the_coordinator_connection_is_closed(cluster: GroupCluster) -> None:
    def body() -> None:
        member = Member(cluster)
        elapsed_ms, achieved = member.close()
        assert achieved == (True, True, None)
        assert elapsed_ms <= 600
        steps = [
            event.api if isinstance(event, RequestSent) else "closed"
            for event in member.events
            if isinstance(event, Closed)
            or (isinstance(event, RequestSent) and event.api in ("OffsetCommit", "LeaveGroup"))
        ]
        assert steps[:2] == ["OffsetCommit", "LeaveGroup"]
        assert set(steps[2:]) == {"closed"}
        checker = cluster.consumer(group_id=GROUP)
        committed = checker.committed([T0])[T0]
        assert committed is not None
        assert committed.offset == 4
        checker.close()

    play(cluster, body)


def test_without_automatic_commits_it_commits_nothing_by_itself(cluster: GroupCluster) -> None:
    def body() -> None:
        member = Member(cluster, enable_auto_commit=False)
        assert member.close()[1] == (True, True, None)
        assert member.sent("OffsetCommit") == []
        assert member.sent("LeaveGroup") == ["LeaveGroup"]

    play(cluster, body)


def test_pending_async_commits_are_waited_for_and_called_back(cluster: GroupCluster) -> None:
    def body() -> None:
        heard: list[KafkaError | None] = []
        member = Member(cluster, enable_auto_commit=False)
        member.consumer.commit_async({T0: 2}, lambda _, error: heard.append(error))
        assert heard == []
        assert member.close()[1] == (True, True, None)
        assert heard == [None]

    play(cluster, body)


@pytest.mark.parametrize(
    "end", [Consumer.close, Consumer.unsubscribe, lambda consumer: at_exit.finish([consumer._side.open_loop])]
)
def test_commit_async_that_failed_once_is_retried_at_the_end(
    cluster: GroupCluster, end: Callable[[Consumer], object]
) -> None:
    def body() -> None:
        member = Member(cluster, enable_auto_commit=False)
        cluster.sandbox.fail_requests("OffsetCommit", ErrorCode.NOT_COORDINATOR, times=1)
        member.consumer.commit_async()
        member.consumer.poll(1)
        assert cluster.sandbox.committed(GROUP) == {}
        end(member.consumer)
        cluster.hub.sleep_ms(1000)
        assert cluster.sandbox.committed(GROUP)["t", 0].offset == 4
        assert member.consumer.close().committed

    play(cluster, body)


def test_commit_async_that_failed_once_is_retried_before_a_revocation(cluster: GroupCluster) -> None:
    def body() -> None:
        member = Member(cluster, enable_auto_commit=False)
        cluster.sandbox.fail_requests("OffsetCommit", ErrorCode.NOT_COORDINATOR, times=1)
        member.consumer.commit_async()
        member.consumer.poll(1)
        assert cluster.sandbox.committed(GROUP) == {}
        member.consumer.enforce_rebalance()
        member.consumer.poll(5)
        assert cluster.sandbox.committed(GROUP)["t", 0].offset == 4
        member.consumer.close()

    play(cluster, body)


def test_result_is_uncommitted_after_a_commit_async_that_failed_for_good_until_a_later_one(
    cluster: GroupCluster,
) -> None:
    def body() -> None:
        for has_later in (False, True):
            member = Member(cluster, enable_auto_commit=False)
            cluster.sandbox.fail_requests("OffsetCommit", ErrorCode.GROUP_AUTHORIZATION_FAILED, times=1)
            member.consumer.commit_async({T0: 1})
            member.consumer.poll(1)
            if has_later:
                member.consumer.commit_sync({T0: 2}, timeout=5)
            assert member.close()[1] == (has_later, True, None)

    play(cluster, body)


def test_result_ignores_a_failed_commit_of_a_partition_that_is_no_longer_assigned(cluster: GroupCluster) -> None:
    def body() -> None:
        member = Member(cluster, enable_auto_commit=False)
        member.consumer.commit_async({TopicPartition("no-such-topic", 0): 1})
        member.consumer.poll(1)
        assert member.close()[1] == (True, True, None)

    play(cluster, body)


# --- how long it takes ------------------------------------------------------------------------------------------------


def test_the_default_is_30_seconds(cluster: GroupCluster) -> None:
    def body() -> None:
        member = Member(cluster, request_timeout_ms=100_000)
        freeze_all(cluster)
        elapsed_ms, achieved = member.close()
        assert 29_990 <= elapsed_ms <= 30_000
        assert achieved == (False, False, "committing offsets")

    play(cluster, body)


@pytest.mark.parametrize("timeout", [9.0, 60.0, math.inf])
def test_each_request_has_the_request_timeout_at_most_so_a_close_without_limit_ends_too(
    cluster: GroupCluster, timeout: float
) -> None:
    def body() -> None:
        member = Member(cluster)
        freeze_all(cluster)
        elapsed_ms, achieved = member.close(timeout)
        assert REQUEST_TIMEOUT_MS <= elapsed_ms <= 2 * REQUEST_TIMEOUT_MS
        assert achieved == (False, False, "committing offsets")

    play(cluster, body)


@pytest.mark.parametrize("timeout_ms", [1, 10, 100, 1000, 3999])
def test_one_timer_goes_through_all_steps_and_is_kept_to_the_millisecond(
    cluster: GroupCluster, timeout_ms: int
) -> None:
    def body() -> None:
        member = Member(cluster)
        freeze_all(cluster)
        elapsed_ms, achieved = member.close(timeout_ms / 1000)
        assert timeout_ms - 5 <= elapsed_ms <= timeout_ms, "the thread ends in the last 5 ms"
        assert achieved == (False, False, "committing offsets")

    play(cluster, body)


def test_zero_does_not_wait(cluster: GroupCluster) -> None:
    def body() -> None:
        member = Member(cluster)
        elapsed_ms, (committed, left_group, expired_in) = member.close(0)
        assert elapsed_ms == 0
        assert (committed, left_group) == (False, False)
        assert expired_in == "committing offsets"

    play(cluster, body)


def test_close_with_zero_timeout_still_sends_commit_and_leave_group(cluster: GroupCluster) -> None:
    def body() -> None:
        member = Member(cluster)
        member.consumer.commit_async({T0: 2})
        member.consumer.close(0)
        cluster.hub.sleep_ms(50)  # the responses are not awaited, but the requests arrive
        assert member.sent("OffsetCommit", "LeaveGroup") == ["OffsetCommit", "OffsetCommit", "LeaveGroup"]
        checker = cluster.consumer(group_id=GROUP)
        committed = checker.committed([T0])[T0]
        assert committed is not None
        assert committed.offset == 4, "the later commit of the close wins"
        checker.subscribe(["t"])
        before_ms = cluster.hub.now_ms
        while not checker.assignment:
            checker.poll(0.1)
        assert cluster.hub.now_ms - before_ms < 5_000, "the group does not wait for the session timeout of who left"
        checker.close()

    play(cluster, body)


def test_close_with_zero_timeout_and_nothing_outstanding_reports_no_expiry(cluster: GroupCluster) -> None:
    def body() -> None:
        alone = cluster.consumer()
        alone.assign([T0])
        alone.poll(1)
        assert alone.close(0).expired_in is None

    play(cluster, body)


@pytest.mark.parametrize("timeout", [-1, -0.001, -math.inf])
def test_a_negative_timeout_is_refused_and_the_consumer_stays_open(cluster: GroupCluster, timeout: float) -> None:
    def body() -> None:
        member = Member(cluster)
        with pytest.raises(ValueError, match="timeout must not be negative"):
            member.consumer.close(timeout)
        with pytest.raises(ValueError, match="on_close must be"):
            member.consumer.close(on_close="stay")  # type: ignore[arg-type]  # plain text, as users write it
        assert member.consumer.poll(0) == []
        assert member.close()[1] == (True, True, None)

    play(cluster, body)


# --- results ----------------------------------------------------------------------------------------------------------


def test_the_commit_was_in_time_and_the_goodbye_was_not(cluster: GroupCluster) -> None:
    def body() -> None:
        member = Member(cluster)
        cluster.sandbox.start_fault(cluster.coordinator(), Fault.DELAY, ms=700)
        elapsed_ms, achieved = member.close(1)
        assert achieved == (True, False, "leaving the group")
        assert 995 <= elapsed_ms <= 1000

    play(cluster, body)


def test_the_commit_was_not_in_time(cluster: GroupCluster) -> None:
    def body() -> None:
        member = Member(cluster)
        cluster.sandbox.start_fault(cluster.coordinator(), Fault.DELAY, ms=2000)
        heard: list[KafkaError | None] = []
        member.consumer.commit_async({T0: 1}, lambda _, error: heard.append(error))
        assert member.close(1)[1] == (False, False, "committing offsets")
        [error] = heard
        assert isinstance(error, CloseTimeout)
        assert "committing offsets" in str(error)

    play(cluster, body)


def test_a_slow_coordinator_gets_the_time_that_there_is(cluster: GroupCluster) -> None:
    def body() -> None:
        member = Member(cluster)
        cluster.sandbox.start_fault(cluster.coordinator(), Fault.DELAY, ms=1500)
        elapsed_ms, achieved = member.close(20)
        assert achieved == (True, True, None)
        assert 3000 <= elapsed_ms < 3100

    play(cluster, body)


def test_a_second_close_says_the_same_and_does_nothing(cluster: GroupCluster) -> None:
    def body() -> None:
        member = Member(cluster)
        first = member.consumer.close()
        before_ms = cluster.hub.now_ms
        assert member.consumer.close(5) is first
        assert member.consumer.close(0, on_close="remain") is first
        assert cluster.hub.now_ms == before_ms

    play(cluster, body)


# --- interference -----------------------------------------------------------------------------------------------------


def test_wakeup_cannot_be_used_to_interrupt_it(cluster: GroupCluster) -> None:
    def body() -> None:
        member = Member(cluster)
        cluster.sandbox.start_fault(cluster.coordinator(), Fault.DELAY, ms=500)
        member.consumer.wakeup()
        cluster.hub.call_later_ms(200, "waker", member.consumer.wakeup)
        cluster.hub.call_later_ms(700, "waker", member.consumer.wakeup)
        elapsed_ms, achieved = member.close(10)
        assert achieved == (True, True, None)
        assert 1000 <= elapsed_ms < 1100

    play(cluster, body)


def test_a_listener_that_raises_does_not_keep_it_from_closing(cluster: GroupCluster) -> None:
    def body() -> None:
        def refuse(_: object) -> None:
            raise RuntimeError("not now")

        member = Member(cluster, OnRevoked(refuse))
        with pytest.raises(RuntimeError, match="not now"):
            member.consumer.close()
        result = member.consumer.close()
        assert (result.committed, result.left_group, result.expired_in) == (True, True, None)
        with pytest.raises(IllegalStateError, match="closed"):
            member.consumer.poll(0)

    play(cluster, body)


def test_a_listener_may_commit_within_the_time_of_the_close(cluster: GroupCluster) -> None:
    def body() -> None:
        took_ms: list[int] = []

        def commit(_: object) -> None:
            before_ms = cluster.hub.now_ms
            with pytest.raises(KafkaError, match="coordinator"):
                member.consumer.commit_sync({T0: 3}, 60)
            took_ms.append(cluster.hub.now_ms - before_ms)

        member = Member(cluster, OnRevoked(commit))
        freeze_all(cluster)
        elapsed_ms, achieved = member.close(2)
        assert took_ms == [2000], "the timer of the close is above that of the call"
        assert elapsed_ms == 2000
        assert achieved[:2] == (False, False)

    play(cluster, body)


def test_wakeup_does_not_interrupt_what_a_listener_does_in_it_either(cluster: GroupCluster) -> None:
    def body() -> None:
        member = Member(cluster, OnRevoked(lambda _: member.consumer.commit_sync({T0: 3}, 5)))
        member.consumer.wakeup()
        assert member.close(10)[1] == (True, True, None)
        assert member.sent("OffsetCommit") == ["OffsetCommit", "OffsetCommit"], "the automatic one, and the listener's"

    play(cluster, body)


def test_a_listener_may_not_close_again(cluster: GroupCluster) -> None:
    def body() -> None:
        member = Member(cluster, OnRevoked(lambda _: member.consumer.close() and None))
        with pytest.raises(IllegalStateError, match="within close"):
            member.consumer.close()
        assert member.consumer.close().left_group is True

    play(cluster, body)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_close_in_the_middle_of_a_rebalance_leaves_the_group(cluster: GroupCluster, protocol: str) -> None:
    def body() -> None:
        member = Member(cluster, group_protocol=protocol)
        config = {"group_id": GROUP, "group_protocol": protocol}
        joining = cluster.consumer(**config)
        joining.subscribe(["t"])
        joining.poll(0.1)
        member.consumer.poll(0)
        assert member.close(10)[1] == (True, True, None)
        joining.poll(6)
        assert joining.assignment == [T0]
        joining.close()

    play(cluster, body)


class Interrupting:
    """A driver whose join is interrupted once, after so long; all else is the simulation's."""

    def __init__(self, hub: Hub, consumer: Consumer, after_ms: int) -> None:
        self._hub = hub
        self._after_ms = after_ms
        self._inner = consumer._side.mailbox.driver
        self._is_due = True
        consumer._side.mailbox.driver = self  # type: ignore[assignment]  # only these two are used from now on

    def wait(self, waiter: Waiter, deadline_at_ms: int) -> bool:
        return self._inner.wait(waiter, deadline_at_ms)

    def join(self, task: Task, deadline_at_ms: int) -> bool:
        if self._is_due:
            self._is_due = False
            if not self._inner.join(task, min(deadline_at_ms, self._hub.now_ms + self._after_ms)):
                raise KeyboardInterrupt
        return self._inner.join(task, deadline_at_ms)


@pytest.mark.parametrize("second_timeout", [0.0, 0.5, 60.0])
def test_a_keyboard_interrupt_inside_of_it_leaves_it_to_be_finished_or_cut_short(
    cluster: GroupCluster, second_timeout: float
) -> None:
    def body() -> None:
        member = Member(cluster)
        Interrupting(cluster.hub, member.consumer, 1000)
        freeze_all(cluster)
        with pytest.raises(KeyboardInterrupt):
            member.consumer.close(30)
        before_ms = cluster.hub.now_ms
        result = member.consumer.close(second_timeout)
        elapsed_ms = cluster.hub.now_ms - before_ms
        assert elapsed_ms <= min(second_timeout * 1000, 2 * REQUEST_TIMEOUT_MS - 1000)
        assert result.committed is False
        assert result.expired_in is not None
        assert member.consumer.close() is result
        cluster.hub.sleep_ms(10)  # close(0) does not wait for the thread
        assert cluster.network.open_connections == 0, "its sockets are closed, though nobody answers"

    play(cluster, body)


def test_after_a_keyboard_interrupt_the_rest_is_done_if_it_may_take_its_time(cluster: GroupCluster) -> None:
    def body() -> None:
        member = Member(cluster)
        Interrupting(cluster.hub, member.consumer, 300)
        cluster.sandbox.start_fault(cluster.coordinator(), Fault.DELAY, ms=1000)
        with pytest.raises(KeyboardInterrupt):
            member.consumer.close(30)
        assert member.close(30)[1] == (True, True, None)
        assert member.sent("LeaveGroup") == ["LeaveGroup"], "said once"

    play(cluster, body)
