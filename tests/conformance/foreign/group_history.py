"""What the members of a group said, held against what a group promises, whoever they are.

Owns the rules. Instants are milliseconds of the machine's monotonic clock.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from kctl.client.clock import FOREVER_MS
from tests.conformance.foreign.group_member import CHANGES, GroupMember


class Term(NamedTuple):
    """One partition in the hands of one member.

    Attributes:
        ended: "gives", "loses", "killed", or "" when it has not ended.
        offsets: what was read of it, in that order.
        committed: the last next offset that was confirmed; None when none was.
    """

    partition: int
    owner: str
    from_ms: int
    to_ms: int
    ended: str
    offsets: tuple[int, ...]
    committed: int | None


class _Open:
    """A term that still goes on while the lines are read."""

    def __init__(self, from_ms: int) -> None:
        self.from_ms = from_ms
        self.offsets: list[int] = []
        self.committed: int | None = None

    def end(self, partition: int, owner: str, to_ms: int, how: str) -> Term:
        return Term(partition, owner, self.from_ms, to_ms, how, tuple(self.offsets), self.committed)


def terms_of(name: str, lines: Sequence[str], killed_at_ms: int | None) -> Iterator[Term]:
    """Yield what one member had, one partition and one stretch of time each.

    Raises: AssertionError: it has read or committed what it did not have, or ended without giving it back.
    """
    has: dict[int, _Open] = {}
    for line in lines:
        what, _, rest = line.partition(" ")
        words = rest.split()
        if what in CHANGES:
            at_ms, *partitions = map(int, words)
            for partition in partitions:
                if what == "takes":
                    assert partition not in has, f"{name} was given {partition} twice: {line}"
                    has[partition] = _Open(at_ms)
                else:
                    yield has.pop(partition).end(partition, name, at_ms, what)
        elif what == "read":
            partition, offset = map(int, words[:2])
            assert partition in has, f"{name} has read what it does not have: {line}"
            has[partition].offsets.append(offset)
        elif what == "committed":
            for word in words:
                partition, offset = map(int, word.split("="))
                assert partition in has, f"{name} has committed what it does not have: {line}"
                has[partition].committed = offset
    for partition, term in has.items():
        how = "" if killed_at_ms is None else "killed"
        yield term.end(partition, name, FOREVER_MS if killed_at_ms is None else killed_at_ms, how)


def check_history(members: Mapping[str, GroupMember], ends: Mapping[int, int]) -> list[Term]:
    """Hold what all members said against the promises of a group, and return their terms in order.

    No partition has two owners at a time; an owner reads without a gap and starts where the one before has committed,
    which is behind its last record unless it was killed; everything up to the ends has been read.

    Args: ends: the end offset of each partition. Everything was read from the beginning of the partitions on.
    """
    by_partition: dict[int, list[Term]] = defaultdict(list)
    every = [term for name, one in members.items() for term in terms_of(name, one.lines, one.killed_at_ms)]
    for term in sorted(every, key=lambda each: (each.from_ms, each.to_ms)):
        by_partition[term.partition].append(term)
    for partition, end in ends.items():
        terms = by_partition[partition]
        committed = read_to = 0
        for before, after in pairwise(terms):
            assert after.from_ms >= before.to_ms, f"owned twice:\n{_brief(before)}\n{_brief(after)}"
        for term in terms:
            if term.offsets:
                first, last = term.offsets[0], term.offsets[-1]
                assert term.offsets == tuple(range(first, last + 1)), f"a gap or a step back: {term}"
                assert committed <= first <= read_to, f"{committed=} {read_to=}, and then {_brief(term)}"
                read_to = max(read_to, last + 1)
            if term.committed is not None:
                assert committed <= term.committed <= read_to, f"{committed=} {read_to=}, and then {_brief(term)}"
                committed = term.committed
            if term.ended in ("gives", ""):
                assert committed == read_to, f"given away with records that are not committed: {_brief(term)}"
        assert read_to == end, f"partition {partition} was read to {read_to} of {end}"
    return [term for terms in by_partition.values() for term in terms]


def _brief(term: Term) -> str:
    read = f"{term.offsets[0]}..{term.offsets[-1]}" if term.offsets else "nothing"
    return str(term._replace(offsets=())) + f" has read {read}"
