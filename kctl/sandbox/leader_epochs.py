"""Start offsets of the leader epochs of a log. Source: KIP-101, KIP-279, KIP-320."""

from bisect import bisect_right
from typing import NamedTuple


class EpochStart(NamedTuple):
    epoch: int
    start_offset: int


class EpochEnd(NamedTuple):
    """Epoch and its end offset. Both are -1 if unknown."""

    epoch: int
    end_offset: int


NO_EPOCH = EpochEnd(-1, -1)


class LeaderEpochs:
    def __init__(self) -> None:
        self._starts: list[EpochStart] = []

    @property
    def latest(self) -> int:
        return self._starts[-1].epoch if self._starts else -1

    def begin(self, epoch: int, start_offset: int) -> None:
        """Start an epoch, and remove epochs without records."""
        if epoch <= self.latest:
            return
        while self._starts and self._starts[-1].start_offset >= start_offset:
            self._starts.pop()
        self._starts.append(EpochStart(epoch, start_offset))

    def cut(self, end_offset: int) -> None:
        while self._starts and self._starts[-1].start_offset >= end_offset:
            self._starts.pop()

    def advance(self, start_offset: int) -> None:
        before = [one for one in self._starts if one.start_offset <= start_offset]
        if before:
            behind = self._starts[len(before) :]
            self._starts = [EpochStart(before[-1].epoch, start_offset), *behind]

    def end_of(self, epoch: int, log_end_offset: int) -> EpochEnd:
        """Return the end of `epoch`. If the log lacks it, return the next lower epoch of the log with its end."""
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
        behind = bisect_right(self._starts, offset, key=lambda one: one.start_offset)
        return self._starts[behind - 1].epoch if behind else -1
