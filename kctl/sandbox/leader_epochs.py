"""Which leader epoch starts at which offset of a log. Source: KIP-101, KIP-279, KIP-320."""

from bisect import bisect_right
from typing import NamedTuple


class EpochStart(NamedTuple):
    """A leader epoch and the first offset written in it."""

    epoch: int
    start_offset: int


class EpochEnd(NamedTuple):
    """The end of an epoch, or of the one before it that the log has; -1 and -1 when there is none."""

    epoch: int
    end_offset: int


NO_EPOCH = EpochEnd(-1, -1)


class LeaderEpochs:
    """The epochs of one log, in order of both epoch and offset."""

    def __init__(self) -> None:
        self._starts: list[EpochStart] = []

    @property
    def latest(self) -> int:
        """The latest epoch; -1 when there is none."""
        return self._starts[-1].epoch if self._starts else -1

    def begin(self, epoch: int, start_offset: int) -> None:
        """A leader of `epoch` writes from `start_offset` on; epochs in which nothing was written are forgotten."""
        if epoch <= self.latest:
            return
        while self._starts and self._starts[-1].start_offset >= start_offset:
            self._starts.pop()
        self._starts.append(EpochStart(epoch, start_offset))

    def cut(self, end_offset: int) -> None:
        """Forget epochs that start at `end_offset` or behind."""
        while self._starts and self._starts[-1].start_offset >= end_offset:
            self._starts.pop()

    def advance(self, start_offset: int) -> None:
        """The log starts at `start_offset` now."""
        before = [one for one in self._starts if one.start_offset <= start_offset]
        if before:
            behind = self._starts[len(before) :]
            self._starts = [EpochStart(before[-1].epoch, start_offset), *behind]

    def end_of(self, epoch: int, log_end_offset: int) -> EpochEnd:
        """Return where `epoch` ends, or the greatest epoch below it that the log has."""
        if epoch == -1:
            return NO_EPOCH
        if epoch == self.latest:
            return EpochEnd(epoch, log_end_offset)
        behind = bisect_right(self._starts, epoch, key=lambda one: one.epoch)
        if behind == len(self._starts):
            return NO_EPOCH
        found = self._starts[behind - 1].epoch if behind else epoch
        return EpochEnd(found, self._starts[behind].start_offset)

    def at(self, offset: int) -> int:
        """Return the epoch in which the record at `offset` was written; -1 when there is none."""
        behind = bisect_right(self._starts, offset, key=lambda one: one.start_offset)
        return self._starts[behind - 1].epoch if behind else -1
