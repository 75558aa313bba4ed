"""One reading of `kctl consume` against a consumer that answers by script, in virtual time."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.consume.bounds import Bounds
from kctl.cli.consume.chunk_writer import WRITE_BYTES
from kctl.cli.consume.reading import Limits, Reading
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
from kctl.client.consumer.waiting import WaitKind, WaitReason
from kctl.client.errors import ApiTimeout, ConnectionRefused
from kctl.client.records import Condition, OutputField, RecordBatchBuilder

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

T0, T1, T9 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("t", 9)
CONFIG = ConsumerConfig.parse({"bootstrap.servers": "a:1", "default.api.timeout.ms": 5000})


class Scripted:
    """Hands out chunks; when there are none left, time passes and nothing comes."""

    def __init__(self, clock: ManualClock, ends: Mapping[TopicPartition, int], chunks: Sequence[FetchedChunk]) -> None:
        self.clock = clock
        self.ends = dict(ends)
        self.chunks = list(chunks)
        self.assigned: list[list[TopicPartition]] = []
        self.positions: dict[TopicPartition, int] = {}
        self.reasons: list[dict[TopicPartition, WaitReason]] = [{}]

    @property
    def assignment(self) -> list[TopicPartition]:
        return self.assigned[-1]

    def unassign(self, partitions: Sequence[TopicPartition]) -> None:
        self.assigned.append([each for each in self.assigned[-1] if each not in partitions])

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        self.assigned.append(list(partitions))

    def seek(self, tp: TopicPartition, offset: int) -> None:
        self.positions[tp] = offset

    def position(self, tp: TopicPartition) -> int:
        return self.positions[tp]

    def poll_chunk(self, timeout: float) -> FetchedChunk | None:
        if self.chunks:
            chunk = self.chunks.pop(0)
            self.positions[chunk.topic_partition] = chunk.next_offset
            return chunk
        self.clock.advance(int(timeout * 1000))
        return None

    def waiting_for(self) -> dict[TopicPartition, WaitReason]:
        return self.reasons.pop(0) if len(self.reasons) > 1 else self.reasons[0]


def _chunk(tp: TopicPartition, first: int, count: int, next_offset: int | None = None) -> FetchedChunk:
    builder = RecordBatchBuilder("none", batch_size_bytes=1 << 16)
    for i in range(first, first + count):
        builder.try_append(None, b"%d-%d" % (tp.partition, i), (), 0)
    data = moved(builder.build(), first)
    return FetchedChunk(tp, 0, first, first + count if next_offset is None else next_offset, data)


def moved(batch: bytes, base_offset: int) -> bytes:
    """Return the batch with another base offset."""
    return base_offset.to_bytes(8, "big") + batch[8:]


class Written(io.BytesIO):
    """What was written, and in which pieces."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def write(self, data: "ReadableBuffer", /) -> int:
        self.sizes.append(super().write(data))
        return self.sizes[-1]


class Run:
    """A reading, and what it wrote and said."""

    def __init__(self, ends: Mapping[TopicPartition, int], *chunks: FetchedChunk, limits: Limits | None = None) -> None:
        self.stdout, self.stderr = Written(), io.StringIO()
        self.consumer = Scripted(ManualClock(), ends, chunks)
        environment = Environment(
            io.BytesIO(),
            self.stdout,
            self.stderr,
            {},
            self.consumer.clock,
            closing_notice=ClosingNotice(),
            secrets=Secrets(),
        )
        common = Common(environment, Settings({}), 0, None, False, False)
        conditions = [Condition("value", lambda value: None if b"9-" in value else value)]
        output = RecordOutput([OutputField("value"), b"\n"], conditions=conditions)
        self.reading = Reading(common, CONFIG, cast(Consumer, self.consumer), output, limits or Limits())

    def start(self, *, with_ends: bool) -> None:
        self.reading.start({tp: Bounds(0, end if with_ends else None) for tp, end in self.consumer.ends.items()})

    def to_the_end(self) -> list[bytes]:
        self.start(with_ends=True)
        self.reading.follow()
        return self.stdout.getvalue().split()

    def for_polls(self, count: int) -> str:
        """Go on for so many polls and return what was said."""
        original = self.consumer.poll_chunk
        left = count

        def poll_chunk(timeout: float) -> FetchedChunk | None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Enough
            return original(timeout)

        self.consumer.poll_chunk = poll_chunk  # type: ignore[method-assign]  # a reading that ends
        with pytest.raises(Enough):
            self.reading.follow()
        return self.stderr.getvalue()


class Enough(Exception):
    """The test has seen enough."""


AT_END = WaitReason(WaitKind.AT_END, "reached the end of the partition, offset 5")
GONE = WaitReason(WaitKind.CONNECTION, "node 1 is not reachable", node_id=1, cause=ConnectionRefused("refused"))


def test_reads_every_partition_to_what_was_its_end() -> None:
    run = Run({T0: 2, T1: 1}, _chunk(T0, 0, 1), _chunk(T1, 0, 3), _chunk(T0, 1, 3))
    assert run.to_the_end() == [b"0-0", b"1-0", b"0-1"]
    assert run.consumer.assigned == [[T0, T1], [T0], []]


def test_nothing_to_read() -> None:
    run = Run({T0: 0, T1: 0})
    assert run.to_the_end() == []


def test_the_limit_cuts_a_chunk() -> None:
    run = Run({T0: 9}, _chunk(T0, 0, 9), limits=Limits(records=3))
    assert run.to_the_end() == [b"0-0", b"0-1", b"0-2"]
    assert run.reading.written == 3


@given(st.lists(st.sampled_from([0, 1, 100, 3000, 300_000]), min_size=1, max_size=40))
def test_records_of_any_sizes_come_whole_and_in_order(sizes: list[int]) -> None:
    values = [b"%d:" % number + bytes(size) for number, size in enumerate(sizes)]
    builder = RecordBatchBuilder("none", batch_size_bytes=1 << 26)
    for value in values:
        builder.try_append(None, value, (), 0)
    run = Run({T0: len(values)}, FetchedChunk(T0, 0, 0, len(values), builder.build()))
    run.start(with_ends=True)
    run.reading.follow()
    assert run.stdout.getvalue() == b"".join(value + b"\n" for value in values)


def test_large_records_become_output_in_pieces_that_fit_into_a_cache() -> None:
    builder = RecordBatchBuilder("none", batch_size_bytes=1 << 26)
    for _ in range(200):
        builder.try_append(None, bytes(WRITE_BYTES // 8), (), 0)
    whole = builder.build()
    run = Run({T0: 400}, FetchedChunk(T0, 0, 0, 200, whole), FetchedChunk(T0, 0, 200, 400, moved(whole, 200)))
    run.start(with_ends=True)
    run.reading.follow()
    assert run.reading.written == 400
    assert max(run.stdout.sizes[1:]) <= WRITE_BYTES + 1000


def test_a_reason_with_figures_of_each_attempt_is_reported_once() -> None:
    run = Run({T0: 5}, limits=Limits(records=9))
    run.consumer.reasons = [{T0: GONE._replace(text=f"connection lost after {at} ms")} for at in range(1, 30)]
    run.start(with_ends=False)
    assert run.for_polls(20).count("connection lost") == 1


def test_chunks_that_move_no_position_do_not_extend_the_api_timeout() -> None:
    run = Run({T0: 5})

    def poll_chunk(timeout: float) -> FetchedChunk:
        run.consumer.clock.advance(100)
        return _chunk(T0, 0, 2, next_offset=0)

    run.consumer.poll_chunk = poll_chunk  # type: ignore[method-assign]  # it never runs out
    with pytest.raises(ApiTimeout):
        run.to_the_end()
    assert run.consumer.clock.now_ms() < 6000
    assert run.stdout.getvalue() == b""


def test_an_end_that_only_compaction_or_markers_reach() -> None:
    run = Run({T0: 5}, _chunk(T0, 0, 2, next_offset=5))
    assert run.to_the_end() == [b"0-0", b"0-1"]


def test_a_position_that_moved_without_data() -> None:
    run = Run({T0: 5}, _chunk(T0, 0, 2))
    run.start(with_ends=True)
    run.consumer.reasons = [{T0: AT_END}]
    original = run.consumer.poll_chunk

    def poll_chunk(timeout: float) -> FetchedChunk | None:
        chunk = original(timeout)
        if chunk is None:
            run.consumer.positions[T0] = 5
        return chunk

    run.consumer.poll_chunk = poll_chunk  # type: ignore[method-assign]  # the position moves while nothing comes
    run.reading.follow()
    assert run.reading.written == 2


def test_no_progress_towards_the_end_is_bounded_by_the_api_timeout_and_told_before() -> None:
    run = Run({T0: 5}, _chunk(T0, 0, 2))
    cause = broker_error(ErrorCode.LEADER_NOT_AVAILABLE, "t-0")
    run.consumer.reasons = [{T0: WaitReason(WaitKind.METADATA, "no leader", cause=cause)}]
    with pytest.raises(ApiTimeout) as e:
        run.to_the_end()
    assert (e.value.timeout_ms, e.value.elapsed_ms) == (5000, 5000)
    assert "t-0: no leader" in str(e.value)
    assert e.value.cause is cause, "so that the exit code is that of what blocked it"
    assert run.stderr.getvalue() == "kctl consume: waiting: t-0: no leader\n"
    assert run.stdout.getvalue() == b"0-0\n0-1\n"


def test_a_reason_to_wait_is_told_once_and_so_is_its_end() -> None:
    run = Run({T0: 5})
    run.start(with_ends=False)
    run.consumer.positions[T0] = 0
    at_end, gone, nothing = {T0: AT_END}, {T0: GONE}, dict[TopicPartition, WaitReason]()
    run.consumer.reasons = [at_end] * 12 + [gone] * 20 + [nothing] * 2
    assert run.for_polls(40).splitlines() == [
        "kctl consume: waiting: at the end of the partition",
        "kctl consume: waiting: t-0: node 1 is not reachable",
        "kctl consume: continuing",
    ]


def test_some_partitions_with_an_end_and_some_without_do_not_end() -> None:
    run = Run({T0: 1, T1: 9}, _chunk(T0, 0, 3), _chunk(T1, 0, 2))
    run.reading.start({T0: Bounds(0, 1), T1: Bounds(0)})
    run.for_polls(10)
    assert run.stdout.getvalue() == b"0-0\n1-0\n1-1\n"


def test_a_limit_that_a_fault_keeps_away_ends_by_the_api_timeout_with_its_cause() -> None:
    run = Run({T0: 9}, _chunk(T0, 0, 2), limits=Limits(records=5))
    run.start(with_ends=False)
    rest = [{T0: AT_END}] * 30
    run.consumer.reasons = [*rest, {T0: GONE}, *rest, {T0: GONE}]
    with pytest.raises(ApiTimeout) as e:
        run.reading.follow()
    assert isinstance(e.value.cause, ConnectionRefused)
    assert e.value.elapsed_ms == 5000, "counted from when something went wrong for good, not from the last record"
    assert run.stdout.getvalue() == b"0-0\n0-1\n"


def test_fault_that_comes_back_at_every_attempt_ends_a_goal_by_the_api_timeout() -> None:
    run = Run({T0: 9}, _chunk(T0, 0, 2), limits=Limits(records=5))
    run.start(with_ends=False)
    run.consumer.reasons = [reason for _ in range(100) for reason in ({T0: GONE}, {T0: AT_END}) for _ in "ab"]
    with pytest.raises(ApiTimeout) as e:
        run.reading.follow()
    assert isinstance(e.value.cause, ConnectionRefused)
    assert 5000 <= e.value.elapsed_ms < 6000


def test_a_rest_ends_well_and_says_so() -> None:
    run = Run({T0: 9}, _chunk(T0, 0, 2), limits=Limits(idle_ms=3000))
    run.start(with_ends=False)
    run.consumer.reasons = [{T0: AT_END}]
    run.reading.follow()
    assert run.consumer.clock.now_ms() == 3000
    assert run.stderr.getvalue().splitlines()[-1] == (
        "kctl consume: no records for 3s (--idle-timeout): at the end of the partition"
    )


def test_a_rest_for_a_fault_is_no_good_end() -> None:
    run = Run({T0: 9}, limits=Limits(idle_ms=1300))
    run.start(with_ends=False)
    run.consumer.reasons = [{T0: GONE}]
    with pytest.raises(CommandError, match="no records for 1s300ms") as e:
        run.reading.follow()
    assert e.value.code is ExitCode.REFUSED
    assert run.consumer.clock.now_ms() == 1300


def test_filter_that_matches_nothing_is_reported() -> None:
    run = Run({T9: 99}, *(_chunk(T9, at, 1) for at in range(20)))
    run.consumer.reasons = [{T9: WaitReason(WaitKind.DELIVERABLE, "")}]
    run.start(with_ends=False)
    original = run.consumer.poll_chunk

    def poll_chunk(timeout: float) -> FetchedChunk | None:
        run.consumer.clock.advance(300)
        return original(timeout)

    run.consumer.poll_chunk = poll_chunk  # type: ignore[method-assign]  # data comes slowly
    assert run.for_polls(20) == "kctl consume: waiting: no records matched --grep or --jq\n"
    assert run.stdout.getvalue() == b""


def test_an_offset_that_was_reset_is_told() -> None:
    run = Run({T0: 99}, _chunk(T0, 0, 2), _chunk(T0, 50, 1))
    run.start(with_ends=False)
    assert run.for_polls(4) == (
        "kctl consume: offset 2 of t-0 no longer exists: continuing at offset 50 (auto.offset.reset=latest), 48 "
        "offsets were lost\n"
    )


def test_an_offset_that_was_reset_to_the_end_is_told_though_nothing_comes() -> None:
    run = Run({T0: 99}, _chunk(T0, 0, 2))
    run.start(with_ends=False)
    run.consumer.reasons = [{T0: AT_END}]
    run.consumer.positions[T0] = 0
    original = run.consumer.poll_chunk

    def poll_chunk(timeout: float) -> FetchedChunk | None:
        chunk = original(timeout)
        if chunk is None:
            run.consumer.positions[T0] = 70
        return chunk

    run.consumer.poll_chunk = poll_chunk  # type: ignore[method-assign]  # the position moves while nothing comes
    assert "offset 2 of t-0 no longer exists: continuing at offset 70" in run.for_polls(5)
