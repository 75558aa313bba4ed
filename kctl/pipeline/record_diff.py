"""RecordDiff: differences between the records of a source and a target partition, in one pass with bounded memory.

Both sides are read in parallel at about equal `Entry.position`, so gaps do not separate them. A record waits for an
equal record of the other side until more than `window` records wait. Equal records are matched in order, so the target
may repeat records as often as the source.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import NamedTuple

from kctl.pipeline.fingerprints import Entry

WINDOW = 30_000
"""Maximum number of waiting records on each side. The worst case needs 145 MB."""
MOST_SAMPLES = 10
"""Maximum number of samples of each kind."""
KINDS = ("missing", "changed", "duplicate", "reordered", "extra", "behind")


class Sample(NamedTuple):
    """One record that differs. An offset is None if that side does not have the record."""

    kind: str
    source_offset: int | None
    target_offset: int | None


class Differences(NamedTuple):
    """Number of differing records of each kind.

    Attributes:
        missing: only in the source.
        changed: records with equal identity but different content.
        duplicate: more often in the target than in the source.
        reordered: matched records in a different order.
        extra: only in the target.
        behind: missing at the end of the target.
    """

    missing: int = 0
    changed: int = 0
    duplicate: int = 0
    reordered: int = 0
    extra: int = 0
    behind: int = 0
    samples: tuple[Sample, ...] = ()

    @property
    def all(self) -> int:
        return self.missing + self.changed + self.duplicate + self.reordered + self.extra + self.behind


class _Waiting:
    """A record without a match so far.

    Attributes:
        place: number of earlier records on its side.
        was_met: whether an equal target record was matched before.
    """

    __slots__ = ("entry", "place", "was_met")

    def __init__(self, entry: Entry, place: int) -> None:
        self.entry = entry
        self.place = place
        self.was_met = False


class _Side:
    """Unmatched records of one side: recent ones by fingerprint, and records that stopped waiting by identity."""

    def __init__(self) -> None:
        self.places = 0
        self.furthest = 0
        self.by_fingerprint: dict[int, deque[_Waiting]] = {}
        self._oldest: deque[_Waiting] = deque()
        self._waiting = 0
        self.alone: OrderedDict[int, deque[_Waiting]] = OrderedDict()
        self.alone_count = 0

    def place(self, position: int) -> int:
        self.furthest = max(self.furthest, position)
        self.places += 1
        return self.places - 1

    def wait(self, one: _Waiting) -> None:
        self.by_fingerprint.setdefault(one.entry.fingerprint, deque()).append(one)
        self._oldest.append(one)
        self._waiting += 1

    def pop_equal(self, fingerprint: int) -> _Waiting | None:
        found = self.by_fingerprint.get(fingerprint)
        if found is None:
            return None
        one = found.popleft()
        if not found:
            del self.by_fingerprint[fingerprint]
        self._waiting -= 1
        return one

    def evict(self, most: int) -> Iterator[_Waiting]:
        """Remove and yield the oldest waiting records above the limit, and drop matched records if the queue is too
        long.
        """
        while self._waiting > most or len(self._oldest) > 2 * most + 1:
            one = self._oldest.popleft()
            same = self.by_fingerprint.get(one.entry.fingerprint)
            if same is None or same[0] is not one:
                continue  # already matched
            self.pop_equal(one.entry.fingerprint)
            yield one

    def leave_alone(self, one: _Waiting) -> None:
        self.alone.setdefault(one.entry.identity, deque()).append(one)
        self.alone_count += 1

    def pop_alone(self, identity: int) -> _Waiting | None:
        found = self.alone.get(identity)
        if found is None:
            return None
        one = found.popleft()
        if not found:
            del self.alone[identity]
        self.alone_count -= 1
        return one

    def forget_alone(self, most: int) -> Iterator[_Waiting]:
        while self.alone_count > most:
            one = self.pop_alone(next(iter(self.alone)))
            assert one is not None
            yield one


class RecordDiff:
    def __init__(self, window: int = WINDOW) -> None:
        self._window = window
        self._source, self._target = _Side(), _Side()
        self._matched: OrderedDict[int, None] = OrderedDict()
        self._last_source = self._last_target = -1
        self._target_ended = False
        self._counts = dict.fromkeys(KINDS, 0)
        self._samples: dict[str, list[Sample]] = {kind: [] for kind in KINDS}

    def run(self, source: Iterator[Entry], target: Iterator[Entry]) -> Differences:
        """Read both sides to their ends and return the differences."""
        ours, theirs = next(source, None), next(target, None)
        while ours is not None or theirs is not None:
            self._target_ended = theirs is None
            if ours is not None and (theirs is None or self._is_source_next(ours, theirs)):
                self._on_source(_Waiting(ours, self._source.place(ours.position)))
                ours = next(source, None)
            elif theirs is not None:
                self._on_target(_Waiting(theirs, self._target.place(theirs.position)))
                theirs = next(target, None)
            self._give_up(self._window)
        self._target_ended = True
        self._give_up(0)
        return Differences(**self._counts, samples=self._sorted_samples())

    def _sorted_samples(self) -> tuple[Sample, ...]:
        return tuple(
            sorted(
                (sample for found in self._samples.values() for sample in found),
                key=lambda each: (KINDS.index(each.kind), each.source_offset or 0, each.target_offset or 0),
            )
        )

    def _is_source_next(self, ours: Entry, theirs: Entry) -> bool:
        """Return whether to read the source next. Uses the highest position so far, because timestamps can decrease."""
        source = max(ours.position, self._source.furthest)
        target = max(theirs.position, self._target.furthest)
        return source < target or (source == target and self._source.places <= self._target.places)

    def _on_source(self, one: _Waiting) -> None:
        other = self._target.pop_equal(one.entry.fingerprint)
        if other is None:
            self._source.wait(one)
        else:
            self._match(one, other)

    def _on_target(self, one: _Waiting) -> None:
        other = self._source.pop_equal(one.entry.fingerprint)
        if other is None:
            one.was_met = one.entry.fingerprint in self._matched
            self._target.wait(one)
        else:
            self._match(other, one)

    def _match(self, source: _Waiting, target: _Waiting) -> None:
        fingerprint = source.entry.fingerprint
        for twin in self._target.by_fingerprint.get(fingerprint, ()):
            twin.was_met = True
        self._matched[fingerprint] = None
        self._matched.move_to_end(fingerprint)
        if len(self._matched) > self._window:
            self._matched.popitem(last=False)
        if source.place > self._last_source and target.place > self._last_target:
            self._last_source, self._last_target = source.place, target.place
        else:
            self._count("reordered", source, target)

    def _give_up(self, most: int) -> None:
        """Stop waiting for the oldest records above the limit. Unmatched records of equal identity count as changed."""
        self._evict(most)
        for one in self._source.forget_alone(most):
            is_behind = self._target_ended and one.place > self._last_source
            self._count("behind" if is_behind else "missing", one, None)
        for one in self._target.forget_alone(most):
            self._count("extra", None, one)

    def _evict(self, most: int) -> None:
        for one in self._source.evict(most):
            other = self._target.pop_alone(one.entry.identity)
            if other is None:
                self._source.leave_alone(one)
            else:
                self._count("changed", one, other)
        for one in self._target.evict(most):
            if one.was_met:
                self._count("duplicate", None, one)
                continue
            other = self._source.pop_alone(one.entry.identity)
            if other is None:
                self._target.leave_alone(one)
            else:
                self._count("changed", other, one)

    def _count(self, kind: str, source: _Waiting | None, target: _Waiting | None) -> None:
        self._counts[kind] += 1
        if len(self._samples[kind]) < MOST_SAMPLES:
            offsets = (None if each is None else each.entry.offset for each in (source, target))
            self._samples[kind].append(Sample(kind, *offsets))
