"""ReadingReport: notes, wait reasons and the status line of a reading, on stderr."""

from kctl.cli.consume.targets import Targets
from kctl.cli.consume.waiting_words import WaitingWords, without_figures
from kctl.cli.data_out import RawStream
from kctl.cli.options import Common
from kctl.cli.view.status import StatusLine, reading_line
from kctl.cli.view.status_texts import Rate, ReadFigures

REPEAT_MS, MOST_REPEAT_MS = 10_000, 60_000
"""Intervals between reports of the same fault: the first, doubled up to the second."""


class ReadingReport:
    def __init__(self, common: Common) -> None:
        self._common = common
        self._clock = common.environment.clock
        self._status = StatusLine(common.environment, wanted=not common.quiet and common.tracer is None)
        self._rate = Rate(self._clock.now_ms())
        self._reported = ""
        self.is_fault_reported = False
        """Whether the last report was about a fault."""
        self._repeat_at_ms, self._repeat_ms = 0, REPEAT_MS

    @property
    def stdout(self) -> RawStream:
        return self._status.around(self._common.environment.stdout)

    def note(self, text: str) -> None:
        self.say(f"kctl consume: note: {text}")

    def say(self, line: str) -> None:
        self._status.clear()
        self._common.say(line)

    def report(self, words: WaitingWords) -> None:
        """Print a new wait reason, or that reading continues. Repeat lasting faults at growing intervals."""
        now_ms = self._clock.now_ms()
        key = without_figures(words.key)
        if key != self._reported:
            self._repeat_ms = REPEAT_MS
            if self._status.is_shown and not words.is_fault:
                return
        elif not words.is_fault or self._status.is_shown or now_ms < self._repeat_at_ms:
            return
        self._reported, self.is_fault_reported = key, words.is_fault
        self._repeat_at_ms = now_ms + self._repeat_ms
        self._repeat_ms = min(2 * self._repeat_ms, MOST_REPEAT_MS)
        self.say(f"kctl consume: waiting: {words.text}" if words.text else "kctl consume: continuing")

    @property
    def is_status_due(self) -> bool:
        return self._status.is_due(self._clock.now_ms())

    def show_status(self, written: int, targets: Targets, partitions: int, words: WaitingWords) -> None:
        """Repaint the status line if it is due."""
        now_ms = self._clock.now_ms()
        if not self._status.is_due(now_ms):
            return
        figures = ReadFigures(
            written=written,
            per_second=self._rate.per_second(now_ms, written),
            lag=None if words.is_fault else targets.lag,
            partitions=partitions,
            waiting=words.text,
            is_fault=words.is_fault,
        )
        self._status.show(reading_line(figures), now_ms)

    def close_status(self) -> None:
        self._status.close()
