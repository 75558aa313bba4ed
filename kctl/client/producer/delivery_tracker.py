"""DeliveryTracker: counts accepted and finished records, and completes futures. The network loop owns it."""

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from kctl.client.awaiting import LoopWait
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import TopicPartition
from kctl.client.errors import Account, FlushTimeout, KafkaError, UndeliveredError
from kctl.client.loop.close import CloseResult, PartitionResult
from kctl.client.producer.buffer_memory import BufferMemory
from kctl.client.producer.future import ColumnsFuture, Failures, FlushGroup, Outcome, SendFuture, SettledRows
from kctl.client.producer.mailbox import FlushMark
from kctl.client.producer.metrics import ProducerCounters, TopicCounters
from kctl.client.producer.record import UNKNOWN_OFFSET
from kctl.client.producer.record_run import RecordRun, RowsNotification
from kctl.client.wording import counted

logger = logging.getLogger("kctl.client.producer")

T = TypeVar("T", SendFuture, SettledRows)


class _Flush(NamedTuple):
    """A pending flush.

    Attributes:
        last: last group whose records the flush waits for.
        groups: groups to report, each with the index of its first unreported failures.
    """

    mark: FlushMark
    last: FlushGroup
    groups: list[tuple[FlushGroup, int]]


class _Counts:
    __slots__ = ("before", "delivered", "error", "failed", "last_offset", "topic", "unknown")

    def __init__(self, topic: TopicCounters) -> None:
        self.delivered = self.failed = self.unknown = 0
        self.last_offset = UNKNOWN_OFFSET
        self.error: KafkaError | None = None
        self.topic = topic
        self.before = PartitionResult()
        """Counts at the end of the previous transaction."""

    def result(self, failed: int = 0, unknown: int = 0, *, is_aborted: bool) -> PartitionResult:
        """Return the counts with outstanding records added.

        Args: is_aborted: whether the records of the current transaction count as aborted.
        """
        failed, unknown, before = self.failed + failed, self.unknown + unknown, self.before
        if not is_aborted:
            return PartitionResult(self.delivered, failed, unknown, self.error, self.last_offset, before.aborted)
        aborted = self.delivered + failed + unknown - before.delivered - before.failed - before.unknown
        return before._replace(error=self.error, aborted=before.aborted + aborted)

    def end_transaction(self, *, is_aborted: bool) -> None:
        self.before = self.result(is_aborted=is_aborted)
        self.delivered, self.failed, self.unknown, self.error, self.last_offset, _ = self.before

    def add(self, count: int, outcome: Outcome) -> None:
        if outcome.error is None:
            self.delivered += count
            self.topic.delivered += count
            return
        self.error = self.error or outcome.error
        if outcome.is_unknown:
            self.unknown += count
            self.topic.unknown += count
        else:
            self.failed += count
            self.topic.failed += count


class DeliveryTracker:
    def __init__(self, memory: BufferMemory, counters: ProducerCounters) -> None:
        self._memory = memory
        self._counters = counters
        self.open_group = FlushGroup()
        """Group of the records that are being accepted."""
        self._groups: deque[FlushGroup] = deque([self.open_group])
        """Groups, oldest first; the last one is `open_group`."""
        self._flushes: deque[_Flush] = deque()
        self._results: dict[TopicPartition, _Counts] = {}
        self.on_failure: Callable[[Outcome], None] | None = None
        """Function that gets each failure before callbacks run, so that no transaction commits without the failed
        records.
        """
        self.running_callback: SendFuture | SettledRows | None = None
        """Record or rows whose callback is running."""
        self.outstanding = 0
        self.steps = 0
        """Counter that grows with every accepted or reported record, to show progress."""

    @property
    def is_flushing(self) -> bool:
        return bool(self._flushes)

    def accept(self, run: RecordRun) -> None:
        run.group = self.open_group
        self.count_in(run.count)

    def count_in(self, count: int) -> None:
        self.open_group.outstanding += count
        self.outstanding += count
        self.steps += count

    def finish(self, runs: Sequence[RecordRun], outcome: Outcome) -> None:
        """Complete runs of one partition in order. All records are counted before callbacks run."""
        if not runs:
            return
        size_bytes = total = 0
        watched: list[SendFuture | ColumnsFuture | RowsNotification] = []
        for run in runs:
            watched += run.complete(outcome)
            count = run.end - run.first
            size_bytes += run.size_bytes
            total += count
            _count_out(run.group, count, outcome)
        last = runs[-1]
        counts = self._count(last.topic_partition, total, outcome)
        if outcome.base_offset >= 0:
            counts.last_offset = max(counts.last_offset, outcome.base_offset + last.offset_in_batch + last.count - 1)
        self.outstanding -= total
        self.steps += total
        self._memory.release(size_bytes)
        if outcome.error is not None and self.on_failure is not None:
            self.on_failure(outcome)
        if outcome.error is not None:
            for each in watched:
                _hand_over(each)
        if self._flushes:
            self._finish_flushes()
        for each in watched:
            self._notify(each)

    def _count(self, key: TopicPartition, count: int, outcome: Outcome) -> _Counts:
        counts = self._results.get(key)
        if counts is None:
            counts = self._results[key] = _Counts(self._counters.of_topic(key.topic))
        counts.add(count, outcome)
        return counts

    def _notify(self, record: SendFuture | ColumnsFuture | RowsNotification) -> None:
        self.steps += 1
        if isinstance(record, RowsNotification):
            self._call_back(record.callback, record.settled)
            return
        if record.waiters is not None:
            for waiter in record.waiters:
                waiter.notify()
            record.waiters = None
        if type(record) is SendFuture and record.callback is not None:
            self._call_back(record.callback, record)
            record.callback = None

    def _call_back(self, callback: Callable[[T], object], argument: T) -> None:
        self.running_callback = argument
        try:
            callback(argument)
        except BaseException:  # includes sys.exit(), which would otherwise end the network thread
            logger.exception("the callback of %r raised an exception. The producer continues", argument)
        self.running_callback = None

    # --- flush --------------------------------------------------------------------------------------------------------

    def flush(self, mark: FlushMark) -> None:
        """Finish the flush when every record accepted so far is done."""
        firsts = [(group, len(group.failures) - 1) for group in self._groups]
        self._flushes.append(_Flush(mark, self._groups[-1], firsts))
        self.open_group = FlushGroup()
        self._groups.append(self.open_group)
        self._finish_flushes()

    def expire_flushes(self, now_ms: int, cause: KafkaError | None, account_of: Callable[[FlushMark], Account]) -> None:
        """Fail flushes whose deadline has passed, with the number of undelivered records."""
        for flush in [flush for flush in self._flushes if flush.mark.timer.deadline_at_ms <= now_ms]:
            mark = flush.mark
            self._flushes.remove(flush)
            outstanding, failed = self._take_report(flush)
            waiting_for = f"waiting for the acknowledgement of {counted(outstanding, 'record')}"
            if failed:
                waiting_for += f" ({failed} more failed)"
            error = mark.timed_out(waiting_for, cause, account_of(mark))
            assert isinstance(error, FlushTimeout)
            error.undelivered = outstanding + failed
            mark.finish(error)

    def next_flush_deadline_at_ms(self) -> int:
        return min((flush.mark.timer.deadline_at_ms for flush in self._flushes), default=FOREVER_MS)

    def _finish_flushes(self) -> None:
        while self._flushes and not any(group.outstanding for group, _ in self._flushes[0].groups):
            flush = self._flushes.popleft()
            _, failed = self._take_report(flush)
            error = flush.mark.first_error
            flush.mark.finish(UndeliveredError(failed, error) if error is not None else None)

    def fail_flushes(self, error: KafkaError) -> None:
        while self._flushes:
            self._flushes.popleft().mark.finish(error)

    def abandon(self, mark: FlushMark) -> None:
        """Drop the flush of an interrupted caller; the next flush reports its failures."""
        self._flushes = deque(flush for flush in self._flushes if flush.mark is not mark)
        if mark.failed:
            group = FlushGroup()
            group.failures = [Failures(mark.failed, mark.first_error)]
            self._groups.appendleft(group)
            mark.failed = 0

    def _take_report(self, flush: "_Flush") -> tuple[int, int]:
        """Return the numbers of outstanding and failed records of a flush, and mark the failures as reported.

        Each flush that waited for a record reports its failure, unless the program knows it from a future or callback.
        """
        outstanding = failed = 0
        error: KafkaError | None = None
        for group, first in flush.groups:
            outstanding += group.outstanding
            unhandled, why = group.unhandled_since(first)
            failed += unhandled
            error = error or why
            group.report()
        flush.mark.failed, flush.mark.first_error = failed, error
        while len(self._groups) > 1 and self._is_spent(self._groups[0]):
            self._groups.popleft()
        return outstanding, failed

    def forget_failures(self) -> None:
        """Mark failures as reported, so that later flushes leave them out."""
        for group in self._groups:
            group.report()
        self._flushes = deque(
            flush._replace(groups=[(group, len(group.failures) - 1) for group, _ in flush.groups])
            for flush in self._flushes
        )

    def unreported(self) -> tuple[int, KafkaError | None]:
        """Return the number of records without a result or with a failure unknown to the program, and the first error.

        Any thread.
        """
        records, error = 0, None
        for group in self._groups.copy():
            unhandled, why = group.unhandled_since(len(group.failures) - 1)
            records += group.outstanding + unhandled
            error = error or why
        return records, error

    def _is_spent(self, group: FlushGroup) -> bool:
        is_reported = not group.failures[-1].unhandled
        return not group.outstanding and is_reported and all(flush.last is not group for flush in self._flushes)

    # --- counts -------------------------------------------------------------------------------------------------------

    def end_transaction(self, *, is_aborted: bool) -> None:
        """Assign the records since the previous transaction to the ended one; later flushes omit their failures."""
        self.forget_failures()
        for counts in self._results.values():
            counts.end_transaction(is_aborted=is_aborted)

    def result(self, outstanding: Mapping[TopicPartition, tuple[int, int]], *, is_aborted: bool = False) -> CloseResult:
        """Return the counts of all records.

        Args: outstanding: numbers of outstanding records to count as failed and as unknown, by partition.
        """
        for key in outstanding.keys() - self._results.keys():
            self._results[key] = _Counts(self._counters.of_topic(key.topic))
        parts = {
            key: counts.result(*outstanding.get(key, (0, 0)), is_aborted=is_aborted)
            for key, counts in self._results.items()
        }
        return CloseResult(
            sum(part.delivered for part in parts.values()),
            sum(part.failed for part in parts.values()),
            sum(part.unknown for part in parts.values()),
            parts,
            aborted=sum(part.aborted for part in parts.values()),
        )


def _hand_over(record: SendFuture | ColumnsFuture | RowsNotification) -> None:
    if isinstance(record, RowsNotification):
        if record.failures is not None:
            record.failures.handle(record.settled.count)
    elif record.callback is not None and not isinstance(record.callback, LoopWait):
        record.exception()


def _count_out(group: FlushGroup | None, count: int, outcome: Outcome) -> None:
    assert group is not None
    group.outstanding -= count
    if outcome.error is not None:
        group.failures[-1].add(count, outcome.error)
