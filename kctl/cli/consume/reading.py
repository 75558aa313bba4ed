"""Reading: the records of chosen partitions to stdout, until the limit, the end, a rest, or for ever.

Owns when to stop, when to flush, and when to say why nothing comes; records are decoded and written by a plan, without
an object each. Shown by tests/unit/cli/consume/test_run.py.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kctl.cli.consume.bounds import Bounds, BoundsLookup
from kctl.cli.consume.topic_watch import TopicWatch
from kctl.cli.consume.waiting_words import MOST_NAMES, WaitingWords, waiting_words, without_figures
from kctl.cli.data_out import DataOut
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError, explain
from kctl.cli.formats.output import RecordOutput
from kctl.cli.options import Common
from kctl.cli.view.consume_status import Figures, status_line
from kctl.cli.view.status_line import Rate, StatusLine
from kctl.client.clock import FOREVER_MS, Timer
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer import Consumer, FetchedChunk, WaitKind, WaitReason
from kctl.client.errors import ApiTimeout
from kctl.grammar.durations import show_duration

IDLE_MS = 500
"""How often an idle consumer looks whether its reader has left."""
TELL_AFTER_MS = 2000
"""A rest is reported after this time, a fault after FAULT_AFTER_MS, again after REPEAT_MS, twice that, and so on."""
FAULT_AFTER_MS = 1000
CALM_MS = 2000
"""A fault that comes back within this has lasted all the time: what is tried again looks well between two attempts."""
REPEAT_MS, MOST_REPEAT_MS = 10_000, 60_000
WRITE_RECORDS = 2000
BULK_BYTES = 512 * 1024
"""From here on more is likely to come: memory that is freed is kept for it."""
FOREVER = 2**63 - 1


class Limits(NamedTuple):
    """What ends a reading, besides the ends of its partitions.

    Attributes:
        records: stop after this number.
        idle_ms: stop after this time without a record.
    """

    records: int = FOREVER
    idle_ms: int = FOREVER_MS


class Reading:
    """One reading of assigned partitions."""

    def __init__(
        self, common: Common, config: ConsumerConfig, consumer: Consumer, output: RecordOutput, limits: Limits
    ) -> None:
        self.written = 0
        self._common = common
        self._config = config
        self._consumer = consumer
        self._output = output
        self._limits = limits
        self._status = StatusLine(common.environment, wanted=not common.quiet and common.tracer is None)
        self._out = DataOut(self._status.around(common.environment.stdout))
        self._out.write(output.head)
        self._clock = common.environment.clock
        self._ends: dict[TopicPartition, int] = {}
        """Of the partitions that are not yet read to their end: that end."""
        self._is_bounded = False
        """Whether the reading ends with the last of them."""
        self._expected: dict[TopicPartition, int] = {}
        """Where each partition continues, unless its offsets are reset."""
        self._high_watermarks: dict[TopicPartition, int] = {}
        self._rate = Rate()
        self._rest = Timer(self._clock, FOREVER_MS)
        """Since something was fetched."""
        self._silence = Timer(self._clock, FOREVER_MS)
        """Since something was written, or a reason not to was reported."""
        self._filtered = 0
        """Records left out since something was written."""
        self._told = ""
        self._is_fault_told = False
        self._fault_since_ms: int | None = None
        """Since when something has been wrong, without a break of CALM_MS, and nothing has come."""
        self._fault_seen_ms = 0
        self._faults = WaitingWords()
        """What is wrong with some partitions, as it was looked at last."""
        self._look_at_ms = 0
        self._repeat_at_ms, self._repeat_ms = 0, REPEAT_MS
        self._lookups: list[BoundsLookup] = []
        """Of partitions that are to be read as soon as their bounds are known."""
        self._all_lookups: list[BoundsLookup] = []
        self._is_rested = False
        self._read_bytes = 0
        self._watch: TopicWatch | None = None
        self._seen: dict[TopicPartition, None] = {}

    def watch(self, watch: TopicWatch) -> None:
        """Read new partitions too, from their first record on."""
        self._watch = watch

    def start(self, bounds: Mapping[TopicPartition, Bounds]) -> None:
        """Assign the partitions that have anything to read, at their start offsets.

        When each of them has an end, reading ends with the last of them.
        """
        wanted = {tp: each for tp, each in bounds.items() if each.end is None or each.start < each.end}
        self._is_bounded = bool(bounds) and all(each.end is not None for each in bounds.values())
        self._ends = {tp: each.end for tp, each in wanted.items() if each.end is not None}
        self._seen |= dict.fromkeys(bounds)
        self._consumer.assign(wanted)
        for tp, each in wanted.items():
            self._consumer.seek(tp, each.start)
            self._expected[tp] = each.start

    def look_up(self, lookup: BoundsLookup, *, is_bounded: bool) -> None:
        """Read each partition as soon as its bounds are known; with `is_bounded` each of them has an end."""
        self._is_bounded = is_bounded
        self._seen |= dict.fromkeys(lookup.pending)
        self._add_lookup(lookup)

    def _add_lookup(self, lookup: BoundsLookup) -> None:
        self._lookups.append(lookup)
        self._all_lookups.append(lookup)

    def _begin_found(self) -> bool:
        """Begin with the partitions whose bounds have become known; return whether there were any."""
        found: dict[TopicPartition, Bounds] = {}
        for lookup in self._lookups:
            found |= lookup.pop_known()
        if found:
            self._lookups = [lookup for lookup in self._lookups if lookup.pending]
            self._begin(found)
        return bool(found)

    def _begin(self, bounds: Mapping[TopicPartition, Bounds]) -> None:
        wanted = {tp: each for tp, each in bounds.items() if each.end is None or each.start < each.end}
        self._ends |= {tp: each.end for tp, each in wanted.items() if each.end is not None}
        if wanted:
            self._consumer.assign([*self._consumer.assignment, *wanted])
        for tp, each in wanted.items():
            self._consumer.seek(tp, each.start)
            self._expected[tp] = each.start

    @property
    def _is_done(self) -> bool:
        return self.written >= self._limits.records or self._is_rested or self._is_at_every_end

    @property
    def _is_at_every_end(self) -> bool:
        return self._is_bounded and not self._ends and not self._lookups

    def follow(self) -> None:
        """Write what comes until there is nothing more to write; flush whenever nothing is there at once.

        Raises:
            OutputClosed: the reader of the output has left.
            ApiTimeout: an end or a limit of records is not reached, and nothing has come for that time.
        """
        try:
            self._rest = Timer(self._clock, FOREVER_MS)
            self._silence = Timer(self._clock, FOREVER_MS)
            while not self._is_done:
                if self._begin_found():
                    continue
                self._look_for_new()
                chunk = self._poll(0)
                if chunk is None:
                    self._flush()
                    if self._begin_found():
                        continue
                    chunk = self._poll(self._wait_s())
                if chunk is None or chunk.next_offset <= chunk.fetch_offset:  # what moves no position is no progress
                    self._on_idle()
                    continue
                self._rest, self._fault_since_ms = Timer(self._clock, FOREVER_MS), None
                self._write(chunk)
                self._after_chunk()
            self._flush()
            self._status.clear()
        finally:
            self._status.clear()
            self._flush()

    def _poll(self, timeout_s: float) -> FetchedChunk | None:
        return self._consumer.poll_chunk(timeout_s)

    def _wait_s(self) -> float:
        self._rest.update()
        limit_ms, elapsed_ms = self._config.default_api_timeout_ms, self._rest.elapsed_ms
        left_ms = min(IDLE_MS, self._limits.idle_ms - elapsed_ms)
        if self._is_bounded:
            left_ms = min(left_ms, limit_ms - elapsed_ms)
        if self._has_goal and self._fault_since_ms is not None:
            until_end_ms = self._fault_since_ms + limit_ms - self._clock.now_ms()
            left_ms = min(left_ms, until_end_ms) if until_end_ms > 0 else left_ms
        return max(1, left_ms) / 1000

    @property
    def _has_goal(self) -> bool:
        """Whether something other than Ctrl-C is to end the reading, so that a fault must not keep it from ending."""
        return self._is_bounded or self._limits.records < FOREVER or self._limits.idle_ms < FOREVER_MS

    def _look_for_new(self) -> None:
        new = [] if self._watch is None else self._watch.new_partitions(self._seen)
        if new:
            self._seen |= dict.fromkeys(new)
            self._consumer.assign([*self._consumer.assignment, *new])
            self._consumer.seek_to_beginning(new)

    def _flush(self) -> None:
        self._out.flush()

    # --- what comes -------------------------------------------------------------------------------------------------

    def _write(self, chunk: FetchedChunk) -> None:
        tp = chunk.topic_partition
        self._note_reset(tp, chunk.fetch_offset)
        end = self._ends.get(tp, FOREVER)
        reader = chunk.reader(end)
        reader.count = already = self.written  # so that %i continues counting
        while not reader.exhausted and self.written < self._limits.records:
            self._out.write(self._output.read(reader, chunk, min(WRITE_RECORDS, self._limits.records - self.written)))
            self.written = max(already, reader.count)
        self._filtered = 0 if self.written > already else self._filtered + reader.filtered_records
        if self.written > already:
            self._silence = Timer(self._clock, FOREVER_MS)
        self._expected[tp] = chunk.next_offset
        self._high_watermarks[tp] = chunk.high_watermark
        self._wrote(tp, reader.next_offset)
        if chunk.next_offset >= end:
            self._reached_end(tp)
        self._read_bytes, before = self._read_bytes + chunk.size_bytes, self._read_bytes
        if before < BULK_BYTES <= self._read_bytes and self.written < self._limits.records:
            from kctl.cli.freed_memory import keep_freed_memory  # a few records do without

            keep_freed_memory()

    def _after_chunk(self) -> None:
        self._silence.update()
        if self._filtered and self._silence.elapsed_ms >= TELL_AFTER_MS:
            self._flush()
            self._report(self._words())
        now_ms = self._clock.now_ms()
        if now_ms >= self._look_at_ms:
            self._look_at_ms = now_ms + FAULT_AFTER_MS
            self._look_at_faults()
        if self._status.is_due(now_ms):
            self._flush()
            self._show(self._faults)

    def _look_at_faults(self) -> None:
        """Report what keeps some partitions from being read while others are."""
        words = self._words()
        self._faults = words if words.is_fault else WaitingWords()
        if words.is_fault:
            self._flush()
            self._report(words)
        elif self._is_fault_told:
            self._report(WaitingWords())

    def _wrote(self, tp: TopicPartition, next_offset: int) -> None:
        """Everything of the partition before that offset has been handed to the output; not flushed yet."""

    def _reached_end(self, tp: TopicPartition) -> None:
        """Read no more of a partition."""
        if self._ends.pop(tp, None) is not None:
            self._consumer.assign([each for each in self._consumer.assignment if each != tp])

    def _note_reset(self, tp: TopicPartition, offset: int) -> None:
        """Tell when a partition does not continue where it was to: those offsets are gone."""
        expected = self._expected.get(tp, offset)
        if offset == expected:
            return
        self._expected[tp] = offset
        how = f"going on at {offset} (auto.offset.reset={self._config.auto_offset_reset})"
        self._say(f"kctl consume: {tp} has no offset {expected} any more; {how}")

    # --- when nothing comes -----------------------------------------------------------------------------------------

    def _on_idle(self) -> None:
        """Notice that the reader left, that a position moved to its end without data, or that the time is up."""
        self._out.check_reader()
        reasons = self._consumer.waiting_for()
        for tp in [tp for tp, reason in reasons.items() if reason.kind is WaitKind.AT_END]:
            position = self._consumer.position(tp)  # it is at the end, so it is known
            self._note_reset(tp, position)
            if position >= self._ends.get(tp, FOREVER):
                self._reached_end(tp)
        self._rest.update()
        self._silence.update()
        if self._is_done:
            return
        words = self._words()
        if self._silence.elapsed_ms >= (FAULT_AFTER_MS if words.is_fault else TELL_AFTER_MS):
            self._report(words)
        self._end_if_due(words)
        self._show(words)

    def _words(self) -> WaitingWords:
        return waiting_words(self._reasons(), filtered=self._filtered, now_ms=self._clock.now_ms())

    def _reasons(self) -> dict[TopicPartition, WaitReason]:
        """Return why nothing comes from each partition, those among them whose bounds are not known yet."""
        reasons = self._consumer.waiting_for()
        for lookup in self._lookups:
            reasons |= lookup.waiting()
        return reasons

    def _end_if_due(self, words: WaitingWords) -> None:
        """Raise where an end or a limit is not reached for a fault; rest after --idle-timeout."""
        now_ms, limit_ms = self._clock.now_ms(), self._config.default_api_timeout_ms
        if words.is_fault:
            self._fault_seen_ms = now_ms
            if self._fault_since_ms is None:
                since_ms = now_ms if words.since_ms is None else words.since_ms
                self._fault_since_ms = max(since_ms, self._rest.start_at_ms)
        elif now_ms - self._fault_seen_ms >= CALM_MS:
            self._fault_since_ms = None
        if self._is_bounded and self._rest.elapsed_ms >= limit_ms:
            raise self._timeout(words, self._rest.elapsed_ms)
        fault_ms = 0 if self._fault_since_ms is None else now_ms - self._fault_since_ms
        if self._has_goal and words.is_fault and fault_ms >= limit_ms:
            raise self._timeout(words, fault_ms)
        if self._rest.elapsed_ms >= self._limits.idle_ms:
            self._end_of_rest(words)

    def _end_of_rest(self, words: WaitingWords) -> None:
        """End, and well, unless it is known what kept the records away."""
        said = f"no record for {show_duration(self._limits.idle_ms)} (--idle-timeout)"
        if words.is_fault:
            code, hint = ExitCode.API_TIMEOUT, ""
            if words.cause is not None:
                code, _, hint, _ = explain(words.cause)
            raise CommandError(code, f"{said}: {words.text}", hint)
        self._is_rested = True
        self._say(f"kctl consume: {said}{f': {words.text}' if words.text else ''}")

    def _timeout(self, words: WaitingWords, elapsed_ms: int) -> ApiTimeout:
        text = f"waiting for records: {words.text or 'no reason is known'}"
        limit_ms = self._config.default_api_timeout_ms
        return ApiTimeout(text, timeout_ms=limit_ms, elapsed_ms=elapsed_ms, cause=words.cause)

    def note_followed(self, endless: Sequence[TopicPartition], *, of: int) -> None:
        """Note which partitions have no end while others of those `of` have one."""
        if 0 < len(endless) < of:
            followed = ", ".join(map(str, endless[:MOST_NAMES])) + (", ..." if len(endless) > MOST_NAMES else "")
            self.note(f"-o gives no end for {followed}: followed until Ctrl-C (-p or -e)")

    def report_end(self) -> None:
        """Note why -e printed nothing, or what it does not show."""
        open_at = {tp: offset for lookup in self._all_lookups for tp, offset in lookup.open_at.items()}
        for tp, offset in open_at.items():
            self.note(
                f"{tp}: stopped at the open transaction at offset {offset}; --isolation read_uncommitted reads on"
            )
        if self.written or open_at or not self._limits.records:  # none were wanted
            return
        if self._filtered:
            why = f"{self._filtered} read, none matched --grep"
        else:
            is_empty = all(tp in lookup.empty for lookup in self._all_lookups for tp in lookup.looked_up)
            why = "every partition is empty" if is_empty else "none after the start offset"
        self.note(f"0 records: {why}")

    # --- what is said -----------------------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Tell of something that was not done as it was asked for."""
        self._say(f"kctl consume: note: {text}")

    def _say(self, line: str) -> None:
        self._status.clear()
        self._common.say(line)

    def _report(self, words: WaitingWords) -> None:
        """Report each reason once, a fault again from time to time, and that it is over where it was a fault."""
        now_ms = self._clock.now_ms()
        key = without_figures(words.key)
        if key != self._told:
            self._repeat_ms = REPEAT_MS
            if self._status.is_shown and not words.is_fault:
                return
        elif not words.is_fault or self._status.is_shown or now_ms < self._repeat_at_ms:
            return
        self._told, self._is_fault_told = key, words.is_fault
        self._repeat_at_ms = now_ms + self._repeat_ms
        self._repeat_ms = min(2 * self._repeat_ms, MOST_REPEAT_MS)
        self._say(f"kctl consume: waiting: {words.text}" if words.text else "kctl consume: continuing")

    def _show(self, words: WaitingWords) -> None:
        now_ms = self._clock.now_ms()
        if not self._status.is_due(now_ms):
            return
        behind = [mark - self._expected.get(tp, mark) for tp, mark in self._high_watermarks.items()]
        figures = Figures(
            written=self.written,
            per_second=self._rate.per_second(now_ms, self.written),
            lag=sum(max(0, each) for each in behind) if behind and not words.is_fault else None,
            partitions=len(self._consumer.assignment),
            waiting=words.text,
            is_fault=words.is_fault,
        )
        self._status.show(status_line(figures), now_ms)
