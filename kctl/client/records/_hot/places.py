"""ValuePlaces: the values of plain records where they lie in a batch, from which the system takes them at a write.

For large values: of small ones each part costs more than the copy. The same is written in C in places.c, because it
needs an object for each value here; Windows has no call for that, and is given one part after the other.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Final, final

from kctl.client.records._hot.plain_record import plain_values

_AT_ONCE: Final = 1024 if hasattr(os, "writev") else 1
"""Parts; POSIX promises that 16 are taken by one call, all systems take these."""


@final
class ValuePlaces:
    """Parts of bytes objects in a row, of which some may have been written. Its length is that of all others."""

    def __init__(self, parts: Iterable[memoryview]) -> None:
        self._parts = deque(part for part in parts if len(part))
        self._left_bytes = sum(map(len, self._parts))

    def write_some(self, descriptor: int) -> None:
        """Write what the system takes at once of the bytes that are left. Raises: as os.writev()."""
        at_once = list(islice(self._parts, _AT_ONCE))
        if not at_once:
            return
        written = os.write(descriptor, at_once[0]) if _AT_ONCE == 1 else os.writev(descriptor, at_once)
        self._left_bytes -= written
        for part in at_once:
            if written < len(part):
                self._parts[0] = part[written:]
                break
            written -= len(part)
            self._parts.popleft()

    def __len__(self) -> int:
        return self._left_bytes

    def __bytes__(self) -> bytes:
        return b"".join(self._parts)


def place_values(
    buf: bytes,
    pos: int,
    limit: int,
    first_delta: int,
    end_delta: int,
    most: int,
    left: int,
    separator: bytes,
    null: bytes,
) -> tuple[ValuePlaces, int, int, int]:
    """Return where the values of plain records from `pos` on are, the separator behind each.

    Args, Returns: as of `bulk.take_values`.
    """
    values, pos, last = plain_values(buf, pos, limit, first_delta, end_delta, most, left)
    view, behind, instead = memoryview(buf), memoryview(separator), memoryview(null)
    parts = (part for at, size in values for part in (instead if size < 0 else view[at : at + size], behind))
    return ValuePlaces(parts), len(values), pos, last
