"""TailReading: the newest records of all partitions, in timestamp order.

Partitions whose leader does not respond within STRAGGLER_MS after other leaders are omitted and reported; --follow
reads them later.

A record counts as at least as new as earlier records of its partition. With equal times, later topics on the command
line and higher partitions are newer.
"""

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kctl.cli.consume.bounds import Bounds, BoundsLookup
from kctl.cli.consume.reading import FAULT_AFTER_MS, Reading
from kctl.cli.consume.reading_timers import IDLE_MS
from kctl.cli.consume.targets import FOREVER
from kctl.cli.consume.waiting_words import FRESH_MS, WaitingWords, waiting_words
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError, explain
from kctl.client.clock import Timer
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import FetchedChunk, WaitReason
from kctl.client.errors import CorruptBatchError
from kctl.client.records import BatchReader, OutputField, OutputPlan
from kctl.grammar.offsets import END, START, Range

STRAGGLER_MS = 3000
"""Timeout of partitions that do not respond."""
TAIL = Range(START, END)
_WIDEN = 4
"""Growth of a window with too few records, because of compaction or markers."""
MOST_HELD_BYTES = 256 * 1024 * 1024
"""Maximum decompressed bytes of partly written batches to keep."""
_OFFSETS_AND_TIMES = OutputPlan([OutputField("offset"), b" ", OutputField("timestamp"), b"\n"])


class Candidate(NamedTuple):
    """A candidate for the newest records. Candidates sort in output order."""

    time_ms: int
    order: int
    offset: int
    chunk: FetchedChunk


class TailReading(Reading):
    """A `Reading` of the newest records, which can continue with new records."""

    _count = 0
    _follows = False
    _is_collecting = True
    _skipped_at: frozenset[tuple[str | None, int | None, int]] = frozenset()

    def start_tail(self, partitions: Sequence[TopicPartition], count: int, *, follows: bool) -> None:
        """Start to look up the end offsets of the partitions.

        Args: count: number of records to print from all partitions together.
        """
        self._count = count
        self._follows = follows
        self._order = {tp: order for order, tp in enumerate(partitions)}
        self._bounds = BoundsLookup(self._consumer, dict.fromkeys(partitions, TAIL), self.note)
        self._found_bounds: dict[TopicPartition, Bounds] = {}
        self._newest: list[Candidate] = []
        self._latest_ms: dict[TopicPartition, int] = {}
        self._found = dict.fromkeys(partitions, 0)
        self._missing: dict[TopicPartition, WaitReason] = {}
        """Wait reasons of omitted partitions."""

    def follow(self) -> None:
        """Print the newest records, and follow if requested.

        Raises: CommandError: partitions could not be read, without --follow.
        """
        self._wait_for_bounds()
        self._collect()
        self._write_newest()
        words = waiting_words(self._missing, now_ms=self._clock.now_ms() + FRESH_MS)
        if self._missing:
            self.note(f"records of some partitions are missing: {words.text}")
        if self._follows:
            self._follow_on()
        elif self._missing:
            code = ExitCode.API_TIMEOUT if words.cause is None else explain(words.cause).code
            raise CommandError(code, f"cannot read all partitions: {words.text}")

    def _collect(self) -> None:
        """Read ranges of offsets backward until each partition has enough records."""
        width = self._count
        windows = self._windows(self._found_bounds, width)
        while windows:
            self.start(windows)
            super().follow()
            short = [tp for tp, bounds in windows.items() if self._is_short(tp, bounds)]
            width *= _WIDEN
            windows = self._windows(short, width)
        self._is_collecting = False

    def _is_short(self, tp: TopicPartition, window: Bounds) -> bool:
        has_more = window.start > self._found_bounds[tp].start
        return tp not in self._missing and self._found[tp] < self._count and has_more

    def report_end(self) -> None:
        if self._count:
            super().report_end()

    def _follow_on(self) -> None:
        ends = {tp: Bounds(each.end or 0) for tp, each in self._found_bounds.items()}
        unread = {tp: Range(END) for tp in self._order if tp not in ends}
        self._bounds.cancel()
        self.start(ends)
        if unread:
            self.look_up(BoundsLookup(self._consumer, unread, self.note), is_bounded=False)
        super().follow()

    def _wait_for_bounds(self) -> None:
        """Wait for the bounds of all partitions. Continue without late partitions after STRAGGLER_MS."""
        limit_ms = self._config.default_api_timeout_ms
        since = Timer(self._clock, limit_ms)
        while self._bounds.pending:
            self._poll(IDLE_MS / 1000)
            found = self._bounds.pop_known()
            self._found_bounds |= found
            if found:
                since = Timer(self._clock, limit_ms)
            since.update()
            words = waiting_words(self._bounds.waiting(), now_ms=self._clock.now_ms())
            if since.elapsed_ms >= FAULT_AFTER_MS:
                self._report.report(words)
            if self._found_bounds and since.elapsed_ms >= STRAGGLER_MS:
                break
            if since.is_expired and not self._follows:
                raise self._timers.timeout(words, since.elapsed_ms)
        self._missing = self._bounds.waiting()
        if not self._follows:
            self._bounds.cancel()

    def _end_if_due(self, words: WaitingWords) -> None:
        """Omit partitions with a lasting fault while collecting records, otherwise act as the base class."""
        if self._is_collecting and words.is_fault and self._timers.rest_ms >= STRAGGLER_MS:
            reasons = self._consumer.waiting_for()
            for tp in list(self._targets.ends):
                self._missing[tp] = reasons[tp]
                self._reached_end(tp)
            return
        super()._end_if_due(words)

    def _windows(self, partitions: Iterable[TopicPartition], width: int) -> dict[TopicPartition, Bounds]:
        wanted = dict.fromkeys(partitions)
        self._newest = [each for each in self._newest if each.chunk.topic_partition not in wanted]
        heapq.heapify(self._newest)
        for tp in wanted:
            self._found[tp] = 0
            self._latest_ms.pop(tp, None)
        windows: dict[TopicPartition, Bounds] = {}
        for tp in wanted:
            beginning, end = self._found_bounds[tp].start, self._found_bounds[tp].end or 0
            if self._count and beginning < end:
                windows[tp] = Bounds(max(beginning, end - width), end)
        return windows

    def _write(self, chunk: FetchedChunk) -> None:
        if not self._is_collecting:
            super()._write(chunk)
            return
        tp = chunk.topic_partition
        self._targets.expected[tp] = chunk.next_offset
        end = self._targets.ends.get(tp, 0)
        reader = chunk.reader(end)
        while not reader.exhausted:
            for line in self._offsets_and_times(reader).splitlines():
                offset, timestamp_ms = map(int, line.split())
                self._found[tp] += 1
                self._latest_ms[tp] = max(self._latest_ms.get(tp, timestamp_ms), timestamp_ms)
                self._take(Candidate(self._latest_ms[tp], self._order[tp], offset, chunk))
        if chunk.next_offset >= end:
            self._reached_end(tp)

    def _note_skipped(self, error: CorruptBatchError, offset: int) -> None:
        """Report a bad record only once, although wider ranges contain it again."""
        at = (error.topic, error.partition, offset)
        if at not in self._skipped_at:
            self._skipped_at |= {at}
            super()._note_skipped(error, offset)

    def _offsets_and_times(self, reader: BatchReader) -> bytes:
        try:
            return reader.output(_OFFSETS_AND_TIMES)
        except CorruptBatchError as error:
            if not self._limits.skips_bad_records:
                raise
            self._note_skipped(error, reader.skip(error))
            return b""

    def _take(self, candidate: Candidate) -> None:
        if len(self._newest) < self._count:
            heapq.heappush(self._newest, candidate)
        else:
            heapq.heappushpop(self._newest, candidate)

    def _write_newest(self) -> None:
        readers = _HeldReaders()
        try:
            for _, _, offset, chunk in sorted(self._newest):
                if self._writer.is_full:
                    break
                reader = readers.pop(chunk)
                if reader is None or self._writer.filters:  # left-out records must not shift the turns of others
                    stop = offset + 1 if self._writer.filters else FOREVER
                    reader = chunk._replace(fetch_offset=offset).reader(stop)
                self._writer.write_from(reader, chunk, 1)
                readers.hold(chunk, reader)
        finally:
            self._flush()
        self._newest.clear()


class _HeldReaders:
    """Readers of batches that are not completely written."""

    def __init__(self) -> None:
        self._readers: dict[tuple[TopicPartition, int], BatchReader] = {}
        self._held_bytes = 0

    def pop(self, chunk: FetchedChunk) -> BatchReader | None:
        reader = self._readers.pop((chunk.topic_partition, chunk.fetch_offset), None)
        self._held_bytes -= 0 if reader is None else reader.held_bytes
        return reader

    def hold(self, chunk: FetchedChunk, reader: BatchReader) -> None:
        """Keep a reader. Over the memory limit, drop all other readers, which can be opened again."""
        if self._held_bytes + reader.held_bytes > MOST_HELD_BYTES:
            self._readers.clear()
            self._held_bytes = 0
        self._readers[chunk.topic_partition, chunk.fetch_offset] = reader
        self._held_bytes += reader.held_bytes
