"""ReadRequest: what a `kctl consume` was asked for, all words parsed. Shown by tests/unit/cli/test_command_lines.py."""

from collections.abc import Sequence
from typing import NamedTuple

from kctl.grammar.offsets import OffsetSpec
from kctl.grammar.topics import TopicWords

MOST_TAIL = 1_000_000
"""Records that --tail keeps at most."""


class ReadRequest(NamedTuple):
    """What to read, from where, and when to end.

    Attributes:
        partitions: only these; empty: all.
        group: whom to share with; None: alone.
        isolation: isolation.level, where it was given.
        tail: the newest so many; None: by `specs`.
        follow: go on after them.
        records, idle_ms, prefetch_bytes: limits, where they were given.
    """

    topics: TopicWords
    specs: Sequence[OffsetSpec]
    partitions: Sequence[int]
    group: str | None
    isolation: str | None
    exit_at_end: bool
    tail: int | None
    follow: bool
    records: int | None
    idle_ms: int | None
    prefetch_bytes: int | None

    @property
    def ends_by_itself(self) -> bool:
        """Whether something other than Ctrl-C ends the reading."""
        if self.tail is not None:
            return not self.follow
        has_end = any(spec.end is not None for spec in self.specs)
        return self.exit_at_end or self.records is not None or self.idle_ms is not None or has_end
