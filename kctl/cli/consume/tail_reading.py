"""TailReading: the newest records over all partitions, in the order of their timestamps.

Owns which records are the newest. Time never goes back within a partition here: a record counts as at least as new as
those before it. Where partitions tie, the later topic of the command line and the higher partition count as newer.
Shown by tests/cli/test_consume_ranges.py.
"""

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from kctl.cli.consume.bounds import Bounds
from kctl.cli.consume.reading import FOREVER, Reading
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.chunk import FetchedChunk
from kctl.client.records import BatchReader

_WIDEN = 4
"""A window that holds too few records, for compaction or markers took the others, becomes so many times as wide."""


class Candidate(NamedTuple):
    """A record that may be one of the newest; the order of these is the order of the output."""

    time_ms: int
    order: int
    offset: int
    chunk: FetchedChunk


class TailReading(Reading):
    """A `Reading` of the newest records that were there at its start, and of what comes after when that is wanted."""

    _count = 0
    _follows = False
    _is_collecting = True

    def start_tail(self, partitions: Sequence[TopicPartition], count: int, *, follows: bool) -> None:
        """Find out where the partitions end.

        Args:
            count: how many records over all partitions, at most consume_request.MOST_TAIL.
            follows: go on with what comes after them.
        """
        self._count = count
        self._follows = follows
        self._order = {tp: order for order, tp in enumerate(partitions)}
        self._beginnings = self._consumer.beginning_offsets(partitions)
        self._snapshot = self._consumer.end_offsets(partitions)
        self._newest: list[Candidate] = []
        self._latest_ms: dict[TopicPartition, int] = {}
        self._found = dict.fromkeys(partitions, 0)

    def follow(self) -> None:
        """Read backwards in windows until each holds enough, write the newest, and go on after them where wanted."""
        width = self._count
        windows = self._windows(self._order, width)
        while windows:
            self.start(windows)
            super().follow()
            short = [
                tp
                for tp, bounds in windows.items()
                if self._found[tp] < self._count and bounds.start > self._beginnings[tp]
            ]
            width *= _WIDEN
            windows = self._windows(short, width)
        self._is_collecting = False
        self._write_newest()
        self.start({tp: Bounds(end, None if self._follows else end) for tp, end in self._snapshot.items()})
        super().follow()

    def _windows(
        self, partitions: Sequence[TopicPartition] | dict[TopicPartition, int], width: int
    ) -> dict[TopicPartition, Bounds]:
        wanted = dict.fromkeys(partitions)
        self._newest = [each for each in self._newest if each.chunk.topic_partition not in wanted]
        heapq.heapify(self._newest)
        for tp in wanted:
            self._found[tp] = 0
            self._latest_ms.pop(tp, None)
        ends = self._snapshot
        bounds = {tp: Bounds(max(self._beginnings[tp], ends[tp] - width), ends[tp]) for tp in wanted}
        return {tp: each for tp, each in bounds.items() if self._count and each.start < ends[tp]}

    def _write(self, chunk: FetchedChunk) -> None:
        if not self._is_collecting:
            super()._write(chunk)
            return
        tp = chunk.topic_partition
        self._expected[tp] = chunk.next_offset
        end = self._ends.get(tp, 0)
        for records in chunk.reader(end):
            for record in records:
                self._found[tp] += 1
                self._latest_ms[tp] = max(self._latest_ms.get(tp, record.timestamp_ms), record.timestamp_ms)
                self._take(Candidate(self._latest_ms[tp], self._order[tp], record.offset, chunk))
        if chunk.next_offset >= end:
            self._reached_end(tp)

    def _take(self, candidate: Candidate) -> None:
        if len(self._newest) < self._count:
            heapq.heappush(self._newest, candidate)
        else:
            heapq.heappushpop(self._newest, candidate)

    def _write_newest(self) -> None:
        readers: dict[tuple[TopicPartition, int], BatchReader] = {}
        for _, _, offset, chunk in sorted(self._newest):
            if self.written >= self._limits.records:
                break
            key = chunk.topic_partition, chunk.fetch_offset
            reader = readers.get(key)
            if reader is None or self._output.conditions:  # what is left out must not shift the turns of the others
                stop = offset + 1 if self._output.conditions else FOREVER
                reader = readers[key] = chunk._replace(fetch_offset=offset).reader(stop)
            reader.count = self.written
            self._out.write(reader.output(self._output.plan_for(chunk), 1))
            self.written = max(self.written, reader.count)
        self._newest.clear()
        self._flush()
