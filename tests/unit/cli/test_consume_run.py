"""One reading of `kctl consume` against a consumer that answers by script, in virtual time."""

import io
from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from kctl.cli.environment import Environment
from kctl.cli.formats.output import RecordOutput
from kctl.cli.offsets import Edge
from kctl.cli.options import Common
from kctl.cli.reading import FOREVER, Reading
from kctl.cli.settings import Settings
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import ManualClock
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.chunk import FetchedChunk
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.waiting import WaitKind, WaitReason
from kctl.client.errors import ApiTimeout
from kctl.client.records import OutputField, RecordBatchBuilder

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
CONFIG = ConsumerConfig.parse({"bootstrap.servers": "a:1", "default.api.timeout.ms": 5000})


class Scripted:
    """Hands out chunks; when there are none left, time passes and nothing comes."""

    def __init__(self, clock: ManualClock, ends: Mapping[TopicPartition, int], chunks: Sequence[FetchedChunk]) -> None:
        self.clock = clock
        self.ends = dict(ends)
        self.chunks = list(chunks)
        self.assigned: list[list[TopicPartition]] = []
        self.positions: dict[TopicPartition, int] = {}
        self.reasons: list[dict[TopicPartition, WaitReason]] = []

    def beginning_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {tp: self.ends[tp] for tp in partitions}

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
    data = bytearray(builder.build())
    data[0:8] = first.to_bytes(8, "big")
    return FetchedChunk(tp, 0, first, first + count if next_offset is None else next_offset, bytes(data))


class Run:
    """A reading, and what it wrote and said."""

    def __init__(self, ends: Mapping[TopicPartition, int], *chunks: FetchedChunk, limit: int = FOREVER) -> None:
        self.stdout, self.stderr = io.BytesIO(), io.StringIO()
        self.consumer = Scripted(ManualClock(), ends, chunks)
        environment = Environment(io.BytesIO(), self.stdout, self.stderr, {}, self.consumer.clock)
        common = Common(environment, Settings({}), 0, None, False, False)
        output = RecordOutput([OutputField("value"), b"\n"])
        self.reading = Reading(common, CONFIG, cast(Consumer, self.consumer), output, limit)

    def to_the_end(self) -> list[bytes]:
        self.reading.start(list(self.consumer.ends), Edge.START, exit_at_end=True)
        self.reading.follow()
        return self.stdout.getvalue().split()


def test_reads_every_partition_to_what_was_its_end() -> None:
    run = Run({T0: 2, T1: 1}, _chunk(T0, 0, 1), _chunk(T1, 0, 3), _chunk(T0, 1, 3))
    assert run.to_the_end() == [b"0-0", b"1-0", b"0-1"]
    assert run.consumer.assigned == [[T0, T1], [T0], []]


def test_nothing_to_read() -> None:
    run = Run({T0: 0, T1: 0})
    assert run.to_the_end() == []


def test_the_limit_cuts_a_chunk() -> None:
    run = Run({T0: 9}, _chunk(T0, 0, 9), limit=3)
    assert run.to_the_end() == [b"0-0", b"0-1", b"0-2"]
    assert run.reading.written == 3


def test_an_end_that_only_compaction_or_markers_reach() -> None:
    run = Run({T0: 5}, _chunk(T0, 0, 2, next_offset=5))
    assert run.to_the_end() == [b"0-0", b"0-1"]


def test_a_position_that_moved_without_data() -> None:
    run = Run({T0: 5}, _chunk(T0, 0, 2))
    run.reading.start([T0], Edge.START, exit_at_end=True)
    run.consumer.reasons = [{T0: WaitReason(WaitKind.POSITION, "looking")}]
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
    run.reading.start([T0], Edge.START, exit_at_end=False)
    at_end = {T0: WaitReason(WaitKind.AT_END, "at the end, offset 5")}
    gone = {T0: WaitReason(WaitKind.CONNECTION, "node 1 is not reachable", node_id=1)}
    run.consumer.reasons = [at_end, at_end, gone, gone, at_end, at_end]
    polls = 0

    class Enough(Exception):
        pass

    original = run.consumer.poll_chunk

    def poll_chunk(timeout: float) -> FetchedChunk | None:
        nonlocal polls
        polls += 1
        if polls > 40:
            raise Enough
        return original(timeout)

    run.consumer.poll_chunk = poll_chunk  # type: ignore[method-assign]  # a test that ends
    with pytest.raises(Enough):
        run.reading.follow()
    assert run.stderr.getvalue() == ("kctl consume: waiting: t-0: node 1 is not reachable\nkctl consume: going on\n")
