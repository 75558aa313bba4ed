"""Which offsets a member of a group commits, and which of those that failed it tries again."""

import io
from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from kctl.cli.consume.group_reading import COMMIT_EVERY_MS, GroupReading
from kctl.cli.consume.reading import Limits
from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.formats.output import RecordOutput
from kctl.cli.options import Common
from kctl.cli.settings import Settings
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import ManualClock
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.chunk import FetchedChunk
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.group.commit_callbacks import OnCommit
from kctl.client.consumer.waiting import WaitKind, WaitReason
from kctl.client.errors import ApiTimeout, ConnectionLost, KafkaError
from kctl.client.records import OutputField, RecordBatchBuilder
from kctl.client.requests.group_offsets import OffsetAndMetadata
from kctl.grammar.topics import TopicWords

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
CONFIG = ConsumerConfig.parse({"bootstrap.servers": "a:1", "group.id": "g", "group.instance.id": "i"})
UNRELEASED = broker_error(ErrorCode.UNRELEASED_INSTANCE_ID, "stay in group g")
GONE = ConnectionLost("the coordinator closed the connection")
LOST = broker_error(ErrorCode.UNKNOWN_MEMBER_ID, "OffsetCommit")


class Member:
    """Stands for the consumer: keeps the commits until the test ends them."""

    def __init__(self) -> None:
        self.assignment: list[TopicPartition] = []
        self.commits: list[dict[TopicPartition, int]] = []
        self._callbacks: list[OnCommit] = []
        self.waits: WaitReason | None = None
        self.ends: dict[TopicPartition, int] = {}
        """Where partitions are at their ends."""

    def subscribe(self, topics: object, listener: object) -> None:
        pass

    def partitions_for(self, topic: str, _timeout: float | None = None) -> list[int]:
        return [0]

    def commit_async(self, offsets: Mapping[TopicPartition, int], callback: OnCommit) -> None:
        self.commits.append(dict(offsets))
        self._callbacks.append(callback)

    def committed(
        self, topic_partitions: Sequence[TopicPartition], _timeout: float | None = None
    ) -> dict[TopicPartition, None]:
        return dict.fromkeys(topic_partitions)

    def pause(self, topic_partitions: object) -> None:
        pass

    def poll_chunk(self, timeout: float) -> None:
        raise UNRELEASED

    def waiting_for_group(self) -> WaitReason | None:
        return self.waits

    def waiting_for(self) -> dict[TopicPartition, WaitReason]:
        return {tp: WaitReason(WaitKind.AT_END, "at its end") for tp in self.ends}

    def position(self, topic_partition: TopicPartition) -> int:
        return self.ends[topic_partition]

    def end(self, number: int, error: KafkaError | None) -> None:
        """Tell how a commit ended."""
        offsets = {tp: OffsetAndMetadata(offset) for tp, offset in self.commits[number].items()}
        self._callbacks[number](offsets, error)


class Run:
    """A reading whose member has what the test gives it."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.member = Member()
        environment = Environment(
            io.BytesIO(), io.BytesIO(), io.StringIO(), {}, self.clock, closing_notice=ClosingNotice(), secrets=Secrets()
        )
        common = Common(environment, Settings({}), 0, None, False, False)
        output = RecordOutput([OutputField("value"), b"\n"])
        self.reading = GroupReading(common, CONFIG, cast(Consumer, self.member), output, Limits())

    def gets(self, *topic_partitions: TopicPartition) -> None:
        self.member.assignment += topic_partitions
        self.reading.on_partitions_assigned(topic_partitions)

    def nothing_comes(self, timeout: float) -> None:
        """Let the time of a poll pass."""
        self.clock.advance(int(timeout * 1000))

    def loses(self, *topic_partitions: TopicPartition) -> None:
        self.reading.on_partitions_lost(topic_partitions)
        self.member.assignment = [tp for tp in self.member.assignment if tp not in topic_partitions]

    def writes(self, tp: TopicPartition, until: int) -> None:
        """Write a record before that offset, after the time of a commit has come."""
        self.clock.advance(COMMIT_EVERY_MS)
        self.reading._write(_chunk(tp, until - 1))

    def looks(self) -> None:
        """Nothing comes, and the time of a commit has come."""
        self.clock.advance(COMMIT_EVERY_MS)
        self.reading._flush()


def _chunk(tp: TopicPartition, offset: int) -> FetchedChunk:
    builder = RecordBatchBuilder("none", batch_size_bytes=1000)
    builder.try_append(None, b"x", (), 0)
    data = bytearray(builder.build())
    data[0:8] = offset.to_bytes(8, "big")
    return FetchedChunk(tp, 0, offset, offset + 1, bytes(data))


def test_written_records_are_committed_once() -> None:
    run = Run()
    run.gets(T0, T1)
    run.writes(T0, 10)
    run.looks()
    assert run.member.commits == [{T0: 10}]


def test_a_commit_that_failed_is_tried_again_with_the_next() -> None:
    run = Run()
    run.gets(T0, T1)
    run.writes(T0, 10)
    run.member.end(0, LOST)
    run.writes(T1, 5)
    assert run.member.commits == [{T0: 10}, {T0: 10, T1: 5}]


def test_a_commit_that_failed_is_not_tried_again_behind_a_newer_one() -> None:
    run = Run()
    run.gets(T0)
    run.writes(T0, 10)
    run.writes(T0, 20)
    run.member.end(0, LOST)
    run.member.end(1, None)
    run.looks()
    assert run.member.commits == [{T0: 10}, {T0: 20}]


def test_a_commit_that_failed_is_not_tried_again_when_the_partition_was_lost_and_came_back() -> None:
    """Somebody else may have read on and committed more in between: that must stay."""
    run = Run()
    run.gets(T0, T1)
    run.writes(T0, 10)
    run.loses(T0, T1)
    run.gets(T0)
    run.member.end(0, LOST)
    run.looks()
    assert run.member.commits == [{T0: 10}]


def test_an_instance_id_that_is_not_released_is_waited_for_until_the_api_timeout() -> None:
    run = Run()
    assert run.reading._poll(0) is None
    words = run.reading._words()
    assert words.is_fault
    assert "another member uses group.instance.id=i until" in words.text
    run.clock.advance(CONFIG.default_api_timeout_ms - 1)
    assert run.reading._poll(0) is None
    run.clock.advance(1)
    with pytest.raises(CommandError, match=r"another process uses group\.instance\.id=i") as caught:
        run.reading._poll(0)
    assert caught.value.code == ExitCode.AUTHENTICATION
    assert "wait until the session of the killed member times out" in caught.value.hint


def test_after_an_assignment_a_refused_instance_id_is_waited_for_again() -> None:
    run = Run()
    run.reading._poll(0)
    run.gets(T0)
    assert not run.reading._words().is_fault
    run.clock.advance(CONFIG.default_api_timeout_ms)
    assert run.reading._poll(0) is None


def test_ends_of_partitions_are_a_goal_before_the_first_assignment() -> None:
    """A join that never succeeds ends -e by the api timeout."""
    run = Run()
    run.reading.join(TopicWords(("t",), ()), (), exit_at_end=True)
    run.member.waits = WaitReason(
        WaitKind.COORDINATOR, "waiting for the coordinator of group g", cause=GONE, started_at_ms=0
    )
    run.member.poll_chunk = run.nothing_comes  # type: ignore[method-assign]  # no error of a poll here
    with pytest.raises(ApiTimeout) as caught:
        run.reading.follow()
    assert caught.value.cause is GONE
    assert run.clock.now_ms() == CONFIG.default_api_timeout_ms


def test_position_where_a_quiet_partition_begins_is_committed() -> None:
    run = Run()
    run.gets(T0, T1)
    run.member.ends[T1] = 7
    run.reading._follow_empty_positions()
    run.looks()
    assert run.member.commits == [{T1: 7}]


def test_record_that_cannot_be_written_leaves_the_beginning_to_commit() -> None:
    run = Run()
    run.gets(T0)
    run.reading._begun(T0, 9)
    run.reading.on_partitions_revoked([T0])
    assert run.member.commits == [{T0: 9}]


@pytest.mark.parametrize("is_confirmed", [False, True])
def test_last_commit_has_all_that_no_response_has_confirmed(is_confirmed: bool) -> None:
    run = Run()
    run.gets(T0, T1)
    run.writes(T0, 10)
    if is_confirmed:
        run.member.end(0, None)
    run.reading.on_partitions_revoked([T0, T1])
    assert run.member.commits == [{T0: 10}] * (1 if is_confirmed else 2)
