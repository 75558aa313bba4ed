"""Reading: the records of chosen partitions to stdout, until the limit, the end, or for ever.

Owns when to stop and when to flush; records are decoded and written by a plan, without an object each.
Shown by tests/unit/cli/test_consume_run.py.
"""

from kctl.cli.data_out import DataOut
from kctl.cli.formats.output import RecordOutput
from kctl.cli.offsets import Position
from kctl.cli.options import Common
from kctl.cli.partitions import Offsets, find_starts
from kctl.client.clock import Timer
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.chunk import FetchedChunk
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.waiting import WaitKind, WaitReason
from kctl.client.errors import ApiTimeout

IDLE_S = 0.5
"""How often an idle consumer looks whether its reader has left."""
TELL_AFTER_MS = 2000
"""An idle wait is told after so long, unless there is simply nothing more to read."""
WRITE_RECORDS = 500
FOREVER = 2**63 - 1


class Reading:
    """One reading: from the start offsets until the limit, the end, or for ever."""

    def __init__(
        self, common: Common, config: ConsumerConfig, consumer: Consumer, output: RecordOutput, limit: int
    ) -> None:
        self.written = 0
        self._common = common
        self._config = config
        self._consumer = consumer
        self._output = output
        self._limit = limit
        self._out = DataOut(common.environment.stdout)
        self._out.write(output.head)
        self._ends: Offsets | None = None
        """With -e: the partitions not yet read to their end, and that end."""
        self._told = ""

    def start(self, partitions: list[TopicPartition], position: Position, *, exit_at_end: bool) -> None:
        """Assign the partitions at their start offsets; with -e only those that have anything to read."""
        starts = find_starts(self._consumer, partitions, position, lambda text: self._common.say(f"kctl: note: {text}"))
        if exit_at_end:
            ends = self._consumer.end_offsets(partitions)
            self._ends = {tp: end for tp, end in ends.items() if starts[tp] < end}
            starts = {tp: starts[tp] for tp in self._ends}
        self._consumer.assign(starts)
        for tp, offset in starts.items():
            self._consumer.seek(tp, offset)

    @property
    def _is_done(self) -> bool:
        return self.written >= self._limit or self._ends == {}

    def follow(self) -> None:
        """Write what comes until there is nothing more to write; flush whenever nothing is there at once."""
        try:
            idle = Timer(self._common.environment.clock, self._config.api_timeout_ms)
            while not self._is_done:
                chunk = self._consumer.poll_chunk(0)
                if chunk is None:
                    self._flush()
                    chunk = self._consumer.poll_chunk(IDLE_S)
                if chunk is None:
                    self._on_idle(idle)
                    continue
                self._write(chunk)
                idle = Timer(self._common.environment.clock, self._config.api_timeout_ms)
        finally:
            self._flush()

    def _flush(self) -> None:
        self._out.flush()

    def _write(self, chunk: FetchedChunk) -> None:
        tp = chunk.topic_partition
        end = FOREVER if self._ends is None else self._ends.get(tp, 0)
        reader = chunk.reader(end)
        plan = self._output.plan_for(chunk)
        reader.count = already = self.written  # so that %i goes on counting
        while not reader.exhausted and self.written < self._limit:
            self._out.write(reader.output(plan, min(WRITE_RECORDS, self._limit - self.written)))
            self.written = max(already, reader.count)
        self._wrote(tp, reader.next_offset)
        if chunk.next_offset >= end:
            self._reached_end(tp)

    def _wrote(self, tp: TopicPartition, next_offset: int) -> None:
        """Everything of the partition before that offset has been handed to the output; not flushed yet."""

    def _reached_end(self, tp: TopicPartition) -> None:
        if self._ends is not None and self._ends.pop(tp, None) is not None:
            self._consumer.assign(self._ends)

    def _on_idle(self, idle: Timer) -> None:
        """Notice that the reader left, that compaction moved us to the end, or that a reason to wait should be told."""
        self._out.check_reader()
        for tp, end in list((self._ends or {}).items()):
            if self._consumer.position(tp) >= end:
                self._reached_end(tp)
        idle.update()
        if idle.elapsed_ms < TELL_AFTER_MS:
            return
        waits = self._waits()
        reasons = "; ".join(f"{tp}: {why}" if tp else str(why) for tp, why in waits)
        if self._ends and idle.is_expired:
            cause = next((why.cause for _, why in waits if why.cause is not None), None)
            waiting_for = f"waiting for records: {reasons}"
            raise ApiTimeout(waiting_for, timeout_ms=idle.timeout_ms, elapsed_ms=idle.elapsed_ms, cause=cause)
        if reasons != self._told:
            self._told = reasons
            self._common.say(f"kctl consume: waiting: {reasons}" if reasons else "kctl consume: going on")

    def _waits(self) -> list[tuple[TopicPartition | None, WaitReason]]:
        """Return why nothing comes from which partition, save where there is simply nothing more."""
        return [(tp, why) for tp, why in self._consumer.waiting_for().items() if why.kind is not WaitKind.AT_END]
