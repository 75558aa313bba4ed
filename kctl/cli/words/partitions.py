"""The words of `-p`: `0,2-4`. Shown by tests/unit/cli/test_partitions.py."""

import re
from collections.abc import Iterable

MOST_PARTITIONS = 100_000
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def parse_partitions(texts: Iterable[str]) -> list[int]:
    """Return the partition numbers of `0,2-4`, in order and each once.

    Raises: ValueError: naming what is no number or range.
    """
    numbers: dict[int, None] = {}
    for part in (part.strip() for text in texts for part in text.split(",")):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise ValueError(f"{part!r} is not a partition: write 0, 0,2 or 2-4")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last - first >= MOST_PARTITIONS:
            raise ValueError(f"{part!r} is not a range of partitions")
        numbers |= dict.fromkeys(range(first, last + 1))
    return sorted(numbers)
