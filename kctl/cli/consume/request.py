"""ReadRequest: what a `kctl consume` was asked for, all words parsed. Shown by tests/unit/cli/test_command_lines.py."""

from collections.abc import Sequence
from typing import NamedTuple

from kctl.cli.words.offsets import OffsetSpec
from kctl.cli.words.topics import TopicWords

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
