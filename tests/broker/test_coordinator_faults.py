"""The coordinator of three real brokers is killed, frozen and moved during poll, commit_sync and close.

Each call ends by its deadline, and what it says is true: asked afterwards, the group has what was confirmed. Both
protocols at once, as a fault takes its time.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from threading import Event
from typing import NamedTuple

import pytest

from kctl.client import Consumer, TopicPartition
from kctl.client.clock import SystemClock
from kctl.client.consumer.group.application_side import RebalanceListener
from kctl.client.errors import KafkaError
from kctl.client.loop.close import CloseResult
from tests.conformance.foreign.group_place import OFFSETS, coordinator, group_in
from tests.conformance.foreign.group_view import GroupView
from tests.conformance.foreign.numbered_topic import NumberedTopic
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

PLACE = 3
"""All groups of these tests are in this partition of __consumer_offsets."""
DATA_PARTITIONS = 3
WIDE_PARTITIONS = 64
"""Commits go to one after the other, so that each can be asked for afterwards."""
POLL_S, COMMIT_S = 0.5, 2.0
CLOSE_S = (3.0, 20.0, 3.0)
"""The second is enough for another coordinator to take over; the third close begins a second later."""
LATE_MS = 1_000
"""What a busy machine may add to a deadline."""
PATIENCE_MS = bound(60_000)
PROTOCOLS = ("classic", "consumer")


class Call(NamedTuple):
    """One call, and how it ended; `error` is None for one that succeeded."""

    began_at_ms: int
    elapsed_ms: int
    error: KafkaError | None


class _Losses(RebalanceListener):
    """Counts how often a member was thrown out of its group."""

    def __init__(self) -> None:
        self.at_ms: list[int] = []

    def on_partitions_lost(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self.at_ms.append(SystemClock().now_ms())


class Members:
    """Consumers of one protocol, each in a group of its own, all with the same coordinator."""

    def __init__(self, kafka: KafkaCluster, name: str, protocol: str, data: str, wide: str) -> None:
        self.polls: list[Call] = []
        self.commits: list[Call] = []
        self.read: dict[int, list[int]] = {partition: [] for partition in range(DATA_PARTITIONS)}
        self.positions: dict[str, dict[int, int]] = {}
        """Where each closer stands."""
        self.wide_group = group_in(PLACE, f"{name}-{protocol}-wide")
        self.losses = _Losses()
        self._clock = SystemClock()
        self._data, self._wide = data, wide
        settings = {
            "bootstrap.servers": kafka.bootstrap(),
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 3_600_000,  # the closers commit when they close
            "reconnect.backoff.max.ms": 500,
            "group.protocol": protocol,
        }
        if protocol == "classic":
            settings |= {"session.timeout.ms": 10_000, "heartbeat.interval.ms": 300}

        def consumer(topic: str, group: str) -> Consumer:
            made = Consumer({**settings, "group.id": group})
            made.subscribe([topic], self.losses)
            return made

        self._poller = consumer(data, group_in(PLACE, f"{name}-{protocol}-poll"))
        self._committer = consumer(wide, self.wide_group)
        closers = [group_in(PLACE, f"{name}-{protocol}-close-{i}") for i in range(len(CLOSE_S))]
        self.closers = {group: consumer(data, group) for group in closers}

    def wait_joined(self) -> None:
        """Return when every consumer has its partitions, and the closers have read something."""
        for each in (self._poller, self._committer):
            wait_until(lambda each=each: self._note(each) and bool(each.assignment), PATIENCE_MS, "an assignment")  # type: ignore[misc]  # a default has no type for mypy
        for group, each in self.closers.items():
            wait_until(lambda group=group, each=each: self._stand(group, each), PATIENCE_MS, "records")  # type: ignore[misc]  # a default has no type for mypy

    def _stand(self, group: str, consumer: Consumer) -> bool:
        """Whether a closer has read something of each partition; keeps where it stands."""
        positions = self.positions.setdefault(group, {})
        positions |= {record.partition: record.offset + 1 for record in consumer.poll(0.1)}
        return len(positions) == DATA_PARTITIONS

    def _note(self, consumer: Consumer, timeout: float = 0.1) -> bool:
        for record in consumer.poll(timeout):
            if record.topic == self._data:
                self.read[record.partition].append(record.offset)
        return True

    def poll(self, ends: Event) -> None:
        """Poll again and again; every call is noted."""
        while not ends.is_set():
            self.polls.append(self._timed(lambda: self._note(self._poller, POLL_S)))

    def commit(self, ends: Event) -> None:
        """Commit number after number, each to the next partition."""
        while not ends.wait(0.05):
            self._committer.poll(0)
            number = len(self.commits)
            offsets = {TopicPartition(self._wide, number % WIDE_PARTITIONS): number}
            self.commits.append(self._timed(lambda: self._committer.commit_sync(offsets, timeout=COMMIT_S)))  # noqa: B023 - called at once

    def _timed(self, call: Callable[[], object]) -> Call:
        began_at_ms = self._clock.now_ms()
        error = None
        try:
            call()
        except KafkaError as raised:
            error = raised
        return Call(began_at_ms, self._clock.now_ms() - began_at_ms, error)

    def close(self) -> None:
        for each in (self._poller, self._committer, *self.closers.values()):
            each.close(5)


class Closing(NamedTuple):
    """What a consumer was and said when it was closed."""

    group: str
    member_id: str
    positions: dict[int, int]
    timeout_s: float
    result: CloseResult


def close_one(members: Members, which: int) -> Closing:
    group, consumer = list(members.closers.items())[which]
    member_id = consumer.group_metadata().member_id
    return Closing(group, member_id, members.positions[group], CLOSE_S[which], consumer.close(CLOSE_S[which]))


@contextmanager
def _killed(kafka: KafkaCluster) -> Iterator[None]:
    node = coordinator(kafka, PLACE)
    node.kill()
    try:
        yield
    finally:
        node.start()


@contextmanager
def _frozen(kafka: KafkaCluster) -> Iterator[None]:
    node = coordinator(kafka, PLACE)
    node.freeze()
    try:
        yield
    finally:
        node.thaw()
        kafka.wait_ready()


@contextmanager
def _moved(kafka: KafkaCluster) -> Iterator[None]:
    node = coordinator(kafka, PLACE)
    kafka.move_leader(OFFSETS, PLACE, kafka.node(node.number % 3 + 1))
    yield


OUTAGE_S = {"killed": 4, "frozen": 7, "moved": 0}
"""Frozen for longer than the cluster waits for a broker, so that another coordinates when it wakes up."""
FAULTS = {"killed": _killed, "frozen": _frozen, "moved": _moved}


@pytest.mark.parametrize("fault", FAULTS)
def test_calls_end_in_time_and_tell_the_truth(
    kafka_three: KafkaCluster, fault: str, record_property: Callable[[str, object], None]
) -> None:
    coordinator(kafka_three, PLACE)
    data = kafka_three.create_topic(partitions=DATA_PARTITIONS)
    wide = kafka_three.create_topic(partitions=WIDE_PARTITIONS)
    clock = SystemClock()
    with ExitStack() as stack:
        stack.enter_context(NumberedTopic(kafka_three.bootstrap(), data, DATA_PARTITIONS, every_ms=20))
        every = {protocol: Members(kafka_three, fault, protocol, data, wide) for protocol in PROTOCOLS}
        for members in every.values():
            stack.callback(members.close)
        for members in every.values():
            members.wait_joined()
        ends = Event()
        stack.callback(ends.set)
        pool = stack.enter_context(ThreadPoolExecutor(12))
        stack.callback(ends.set)
        running = [pool.submit(call, ends) for members in every.values() for call in (members.poll, members.commit)]
        wait_until(lambda: all(len(members.commits) > 5 for members in every.values()), PATIENCE_MS, "commits")
        began_at_ms = clock.now_ms()
        with FAULTS[fault](kafka_three):
            closings = _close_all(pool, every, 0, 1)
            Event().wait(1)
            closings += _close_all(pool, every, 2)
            Event().wait(OUTAGE_S[fault])
        closed = [each.result() for each in closings]
        after_ms = clock.now_ms()
        wait_until(
            lambda: all(_goes_on(members, after_ms) for members in every.values()), PATIENCE_MS, "commits and records"
        )
        ends.set()
        for each in running:
            each.result()
        _check(kafka_three, every, wide, data, closed, may_be_thrown_out=fault == "frozen")
    for protocol, members in every.items():
        good = [call for call in members.commits if call.error is None and call.began_at_ms > began_at_ms + 500]
        record_property(
            f"{protocol}: first good commit after ms", good[0].began_at_ms + good[0].elapsed_ms - began_at_ms
        )
        record_property(f"{protocol}: thrown out after ms", [at_ms - began_at_ms for at_ms in members.losses.at_ms])
    record_property("closed", [each.result for each in closed])


def _close_all(pool: ThreadPoolExecutor, every: dict[str, Members], *which: int) -> list[Future[Closing]]:
    return [pool.submit(close_one, members, each) for each in which for members in every.values()]


def _goes_on(members: Members, after_ms: float) -> bool:
    """Whether the last three commits began after that instant and succeeded."""
    return all(call.error is None and call.began_at_ms > after_ms for call in members.commits[-3:])


def _check(
    kafka: KafkaCluster,
    every: dict[str, Members],
    wide: str,
    data: str,
    closings: list[Closing],
    *,
    may_be_thrown_out: bool,
) -> None:
    """Args: may_be_thrown_out: a coordinator that stood still forgets members when it wakes up, and says so."""
    for members in every.values():
        for calls, limit_s in ((members.polls, POLL_S), (members.commits, COMMIT_S)):
            assert max(call.elapsed_ms for call in calls) <= limit_s * 1000 + LATE_MS, calls
        assert [call for call in members.polls if call.error is not None] == []
        for offsets in members.read.values():
            assert all(after <= before + 1 for before, after in pairwise(offsets)), "a record was skipped"
            steps_back = sum(after <= before for before, after in pairwise(offsets))
            assert steps_back <= len(members.losses.at_ms), "records came again, and the group had not said why"
    with GroupView(kafka.bootstrap()) as view:
        for members in every.values():
            _check_commits(members.commits, view.committed(members.wide_group, wide, WIDE_PARTITIONS))
        for group, member_id, positions, timeout_s, result in closings:
            assert result.elapsed_ms <= timeout_s * 1000 + LATE_MS, (group, result)
            found = view.committed(group, data, DATA_PARTITIONS)
            if result.committed:
                assert found == positions, (group, result)
            else:
                assert found in ({}, positions), (group, result)
            if result.left_group:
                assert member_id not in view.members(group), (group, result)
            if result.expired_in is None and not may_be_thrown_out:
                assert (result.committed, result.left_group) == (True, True), (group, result)


def _check_commits(calls: list[Call], found: dict[int, int]) -> None:
    """What was confirmed is there, unless overwritten; what raised may be."""
    for partition in range(WIDE_PARTITIONS):
        possible: set[int | None] = {None}
        for number in range(partition, len(calls), WIDE_PARTITIONS):
            possible = {number} if calls[number].error is None else possible | {number}
        assert found.get(partition) in possible, (partition, found.get(partition), possible)
