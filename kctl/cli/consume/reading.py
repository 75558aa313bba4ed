"""Reading: writes records to stdout until a limit, the end, an idle timeout, or Ctrl-C."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kctl.cli.consume.bounds import Bounds, BoundsLookup
from kctl.cli.consume.chunk_writer import ChunkWriter
from kctl.cli.consume.reading_report import ReadingReport
from kctl.cli.consume.reading_timers import ReadingTimers
from kctl.cli.consume.targets import FOREVER, Targets
from kctl.cli.consume.topic_watch import TopicWatch
from kctl.cli.consume.waiting_words import MOST_NAMES, WaitingWords, waiting_words
from kctl.cli.data_out import DataOut
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError, explain
from kctl.cli.formats.output import RecordOutput
from kctl.cli.options import Common
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer import Consumer, FetchedChunk, WaitKind, WaitReason
from kctl.client.errors import ApiTimeout, CorruptBatchError, InvalidOffsetError, KafkaError, LogTruncationError
from kctl.client.wording import counted, listed
from kctl.grammar.durations import show_duration

REST_AFTER_MS = 2000
"""Silence after which a wait without a fault is reported."""
MOST_NOTED = 10
"""Maximum number of bad records to report one by one."""
FAULT_AFTER_MS = 1000
"""Silence after which a fault is reported."""


class Limits(NamedTuple):
    """Conditions that end a reading, in addition to the end offsets of its partitions.

    Attributes:
        records: maximum number of records.
        idle_ms: maximum time without a record.
        exits_at_end: end each partition at its end offset at startup, or before.
        exits_on_loss: fail if offsets are deleted before they are read.
        skips_bad_records: continue after unreadable records and batches.
    """

    records: int = FOREVER
    idle_ms: int = FOREVER_MS
    exits_at_end: bool = False
    exits_on_loss: bool = False
    skips_bad_records: bool = False


class Reading:
    """One execution of `kctl consume` over assigned partitions."""

    def __init__(
        self, common: Common, config: ConsumerConfig, consumer: Consumer, output: RecordOutput, limits: Limits
    ) -> None:
        self._clock = common.environment.clock
        self._config = config
        self._consumer = consumer
        self._limits = limits
        self._targets = Targets()
        self._report = ReadingReport(common)
        self._skipped = 0
        self._first_skipped = ""
        skip = self._note_skipped if limits.skips_bad_records else None
        self._writer = ChunkWriter(output, DataOut(self._report.stdout), limits.records, skip)
        self._timers = ReadingTimers(self._clock, config.default_api_timeout_ms, limits.idle_ms)
        self._faults = WaitingWords()
        """Faults of some partitions at the last check."""
        self._look_at_ms = 0
        self._is_rested = False
        self._read_from: set[TopicPartition] = set()
        self._watch: TopicWatch | None = None

    @property
    def written(self) -> int:
        return self._writer.written

    # --- the start ---------------------------------------------------------------------------------------------------

    @property
    def start_timeout_s(self) -> float:
        """Timeout of the calls before the first record, which --idle-timeout also limits."""
        return min(self._limits.idle_ms, self._config.default_api_timeout_ms) / 1000

    def start_error(self, error: ApiTimeout) -> KafkaError | CommandError:
        """Return the error of a call before the first record, which names --idle-timeout if that was its timeout."""
        if error.timeout_ms != self._limits.idle_ms:
            return error
        return self._idle_error(error.waiting_for, error.cause)

    # --- what is read -----------------------------------------------------------------------------------------------

    def watch(self, watch: TopicWatch) -> None:
        self._watch = watch

    def start(self, bounds: Mapping[TopicPartition, Bounds]) -> None:
        """Assign the partitions that have records to read, and seek to their start offsets."""
        starts = self._targets.set(bounds)
        self._consumer.assign(list(starts))
        self._seek(starts)

    def look_up(self, lookup: BoundsLookup, *, is_bounded: bool) -> None:
        """Read each partition when its bounds are known.

        Args: is_bounded: whether every partition has an end.
        """
        self._targets.is_bounded = is_bounded
        self._targets.seen |= dict.fromkeys(lookup.pending)
        self._targets.add_lookup(lookup)

    def _begin_found(self) -> bool:
        found = self._targets.pop_known()
        if found:
            self._begin(found)
        return bool(found)

    def _begin(self, bounds: Mapping[TopicPartition, Bounds]) -> None:
        starts = self._targets.add(bounds)
        if starts:
            self._consumer.assign([*self._consumer.assignment, *starts])
        self._seek(starts)

    def _seek(self, starts: Mapping[TopicPartition, int]) -> None:
        for tp, offset in starts.items():
            self._consumer.seek(tp, offset)

    def _look_for_new(self) -> None:
        new = [] if self._watch is None else self._watch.new_partitions(self._targets.seen)
        if new:
            self._targets.seen |= dict.fromkeys(new)
            self._consumer.assign([*self._consumer.assignment, *new])
            self._consumer.seek_to_beginning(new)

    # --- the loop ---------------------------------------------------------------------------------------------------

    @property
    def _is_done(self) -> bool:
        return self._writer.is_full or self._is_rested or self._is_at_every_end

    @property
    def _is_at_every_end(self) -> bool:
        return self._targets.are_reached

    @property
    def _has_goal(self) -> bool:
        """Return whether a condition other than Ctrl-C ends the reading. Only then do lasting faults time out."""
        is_limited = self._limits.records < FOREVER or self._limits.idle_ms < FOREVER_MS
        return self._targets.is_bounded or is_limited

    def follow(self) -> None:
        """Write records until the reading ends. Flush when no record is available.

        Raises:
            OutputClosed: the reader of stdout closed it.
            ApiTimeout: the timeout passed without progress toward an end or limit.
        """
        try:
            self._timers.start()
            while not self._is_done:
                if not self._begin_found():
                    self._follow_once()
        finally:
            self._report.close_status()
            self._flush()

    def _follow_once(self) -> None:
        self._look_for_new()
        chunk = self._poll(0)
        if chunk is None:
            self._flush()
            if self._begin_found():
                return
            chunk = self._poll(self._timers.wait_s(is_bounded=self._targets.is_bounded, has_goal=self._has_goal))
        if chunk is None or chunk.next_offset <= chunk.fetch_offset:  # what moves no position is no progress
            self._on_idle()
            return
        self._timers.on_fetched()
        self._write(chunk)
        self._after_chunk()

    def _poll(self, timeout_s: float) -> FetchedChunk | None:
        try:
            return self._consumer.poll_chunk(timeout_s)
        except InvalidOffsetError as error:
            if self._limits.exits_on_loss:
                raise self._loss(error) from error
            self._continue_after(error)
            return None
        except CorruptBatchError as error:
            if not self._limits.skips_bad_records or error.resume_offset is None:
                raise
            self._note_skipped(error, error.resume_offset)
            self._consumer.seek(TopicPartition(error.topic or "", error.partition or 0), error.resume_offset)
            return None

    def _note_skipped(self, error: CorruptBatchError, offset: int) -> None:
        self._first_skipped = self._first_skipped or str(error)
        self._skipped += 1
        if self._skipped <= MOST_NOTED:
            self.note(f"skipped records: {error}. Continuing at offset {offset}")

    def note_number_skipped(self) -> None:
        """Report the number of skipped records and batches, with the first error."""
        if self._skipped:
            number = counted(self._skipped, "bad record or batch", "bad records and batches")
            self.note(f"{number} skipped (--on-bad-record). First error: {self._first_skipped}")

    def _flush(self) -> None:
        self._writer.flush()

    # --- offsets that are gone --------------------------------------------------------------------------------------

    def _continue_after(self, error: InvalidOffsetError) -> None:
        """Continue at the divergent offset of a truncated log, if known, otherwise at the start of the log."""
        for tp in (TopicPartition(*each) for each in error.partitions):
            if isinstance(error, LogTruncationError) and error.divergent_offset is not None:
                self._consumer.seek(tp, error.divergent_offset)
            else:
                self._consumer.seek_to_beginning([tp])

    def _loss(self, error: InvalidOffsetError) -> CommandError:
        tp = TopicPartition(*error.partitions[0])
        offset = error.offset if isinstance(error, LogTruncationError) else self._targets.expected.get(tp)
        if offset is None:
            return CommandError(ExitCode.DATA, f"group {self._config.group_id} has no committed offset for {tp}")
        problem = f"offset {offset} of {tp} no longer exists"
        if isinstance(error, LogTruncationError):
            problem = f"offset {offset} of {tp} no longer exists: the log was truncated"
        hint = "to continue at the next offset, remove --exit-on-loss and auto.offset.reset=none"
        return CommandError(ExitCode.DATA, problem, hint)

    def _note_reset(self, tp: TopicPartition, offset: int) -> None:
        """Report that reading continues at `offset`, if the expected offset is gone."""
        lost = self._targets.lost_offset(tp, offset)
        if lost is None:
            return
        if offset < lost and self._limits.exits_at_end:
            self._targets.cut.add(tp)
        policy = self._config.auto_offset_reset
        by = "" if policy == "none" else f" (auto.offset.reset={policy})"
        self._report.say(
            f"kctl consume: offset {lost} of {tp} no longer exists: continuing at offset {offset}{by}. "
            f"{_gone(lost, offset)}"
        )
        self._moved(tp, offset)

    def _moved(self, tp: TopicPartition, offset: int) -> None:
        """Handle a moved partition: for subclasses."""

    # --- what comes -------------------------------------------------------------------------------------------------

    def _write(self, chunk: FetchedChunk) -> None:
        tp, end, already = chunk.topic_partition, self._targets.end_of(chunk.topic_partition), self.written
        self._note_reset(tp, chunk.fetch_offset)
        next_offset = self._writer.write(chunk, end)
        if self.written > already:
            self._timers.on_written()
        self._targets.advance(chunk)
        self._read_from.add(tp)
        self._wrote(tp, next_offset)
        if chunk.next_offset >= end:
            self._reached_end(tp)

    def _wrote(self, tp: TopicPartition, next_offset: int) -> None:
        """Handle unflushed output before an offset: for subclasses."""

    def _reached_end(self, tp: TopicPartition) -> None:
        if self._targets.ends.pop(tp, None) is not None:
            self._consumer.unassign([tp])

    def _after_chunk(self) -> None:
        self._timers.update()
        if self._writer.filtered and self._timers.silence_ms >= REST_AFTER_MS:
            self._flush()
            self._report.report(self._words())
        now_ms = self._clock.now_ms()
        if now_ms >= self._look_at_ms:
            self._look_at_ms = now_ms + FAULT_AFTER_MS
            self._look_at_faults()
        if self._report.is_status_due:
            self._flush()
            self._show_status(self._faults)

    def _look_at_faults(self) -> None:
        """Report faults of some partitions while others are read, or the end of the faults."""
        words = self._words()
        self._faults = words if words.is_fault else WaitingWords()
        if words.is_fault:
            self._flush()
            self._report.report(words)
        elif self._report.is_fault_reported:
            self._report.report(WaitingWords())

    # --- when nothing comes -----------------------------------------------------------------------------------------

    def _on_idle(self) -> None:
        """Check the output, empty partitions and timeouts after a poll without records."""
        self._writer.check_reader()
        self._follow_empty_positions()
        self._timers.update()
        if self._is_done:
            return
        words = self._words()
        if self._timers.silence_ms >= (FAULT_AFTER_MS if words.is_fault else REST_AFTER_MS):
            self._report.report(words)
        self._end_if_due(words)
        self._show_status(words)

    def _follow_empty_positions(self) -> None:
        reasons = self._consumer.waiting_for()
        for tp in [tp for tp, reason in reasons.items() if reason.kind is WaitKind.AT_END]:
            position = self._consumer.position(tp)  # it is at the end, so it is known
            self._note_reset(tp, position)
            if position >= self._targets.end_of(tp) or tp in self._targets.cut:
                self._reached_end(tp)

    def _words(self) -> WaitingWords:
        return waiting_words(self._reasons(), filtered=self._writer.filtered, now_ms=self._clock.now_ms())

    def _reasons(self) -> dict[TopicPartition, WaitReason]:
        return self._consumer.waiting_for() | self._targets.waiting()

    def _show_status(self, words: WaitingWords) -> None:
        self._report.show_status(self.written, self._targets, len(self._consumer.assignment), words)

    def _end_if_due(self, words: WaitingWords) -> None:
        """Raise if a fault lasts for the API timeout. End the reading after --idle-timeout."""
        self._timers.check(words, is_bounded=self._targets.is_bounded, has_goal=self._has_goal)
        if self._timers.is_idle_over:
            self._end_of_rest(words)

    def _end_of_rest(self, words: WaitingWords) -> None:
        """End the idle reading; fail if a fault withheld the records."""
        if words.is_fault:
            raise self._idle_error(words.text, words.cause) from words.cause
        self._is_rested = True
        self._report.say(f"kctl consume: {self._no_records}{f': {words.text}' if words.text else ''}")

    @property
    def _no_records(self) -> str:
        return f"no records for {show_duration(self._limits.idle_ms)} (--idle-timeout)"

    def _idle_error(self, text: str, cause: KafkaError | None) -> CommandError:
        code, hint = ExitCode.API_TIMEOUT, ""
        if cause is not None:
            code, _, hint, *_ = explain(cause)
        why = "" if cause is None or str(cause) in text else f"; last error: {cause}"
        return CommandError(code, f"{self._no_records}: {text}{why}", hint)

    # --- what is noted ----------------------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        self._report.note(text)

    def note_followed(self, endless: Sequence[TopicPartition], *, of: int) -> None:
        """Report the partitions without an end, if some of the `of` partitions have one."""
        if 0 < len(endless) < of:
            followed = listed(endless, MOST_NAMES)
            self.note(
                f"-o does not set an end for {followed}, so kctl reads new records until Ctrl-C. To exclude "
                "partitions, use -p. To stop at the end, use -e"
            )

    def report_interrupt(self) -> None:
        """Report the number of records and partitions read, and faults of unread partitions."""
        reasons = self._reasons()
        if not reasons and not self.written:
            return  # nothing has begun yet
        unread = {tp: reason for tp, reason in reasons.items() if tp not in self._read_from}
        words = waiting_words(unread, now_ms=self._clock.now_ms())
        partitions = counted(len(self._read_from), "partition")
        records = counted(self.written, "record")
        if words.is_fault:
            self._report.say(f"kctl consume: {records} read from {partitions}. Partitions not read: {words.text}")
        else:
            self._report.say(f"kctl consume: {records} read from {partitions}")

    def report_end(self) -> None:
        """Report why -e printed nothing, and open transactions that it stopped at."""
        open_at = self._targets.open_at
        for tp, offset in open_at.items():
            self.note(
                f"{tp}: stopped at offset {offset}, where an open transaction begins. To continue, use "
                "--isolation-level read_uncommitted"
            )
        if self.written or self._skipped or open_at or not self._limits.records:  # none were wanted
            return
        if self._writer.filtered:
            why = f"{counted(self._writer.filtered, 'record')} read, but none matched --grep or --jq"
        else:
            why = "all partitions are empty" if self._targets.are_all_empty else "no records after the start offset"
        self.note(f"no records printed: {why}")


def _gone(lost: int, offset: int) -> str:
    if offset < lost:
        return "The log was truncated or the topic was recreated"
    return "1 offset was lost" if offset == lost + 1 else f"{offset - lost} offsets were lost"
