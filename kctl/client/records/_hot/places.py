"""ValuePlaces: large values of plain records in a batch, written to a descriptor without a copy.

places.c has the same functions in C. On Windows, parts are written one by one.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Final, final

from kctl.client.records._hot.plain_record import plain_values

_AT_ONCE: Final = 1024 if hasattr(os, "writev") else 1
"""Number of parts for one system call. POSIX guarantees 16, but all systems accept this number."""


@final
class ValuePlaces:
    """Byte ranges to write; the length is the number of bytes that are not written yet."""

    def __init__(self, parts: Iterable[memoryview]) -> None:
        self._parts = deque(part for part in parts if len(part))
        self._left_bytes = sum(map(len, self._parts))

    def write_some(self, descriptor: int) -> None:
        """Write as many bytes as one system call accepts. Raises: OSError: as os.writev()."""
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
    """Return the places of the values of plain records. Args, Returns: as for `bulk.take_values`."""
    values, pos, last = plain_values(buf, pos, limit, first_delta, end_delta, most, left)
    view, behind, instead = memoryview(buf), memoryview(separator), memoryview(null)
    parts = (part for at, size in values for part in (instead if size < 0 else view[at : at + size], behind))
    return ValuePlaces(parts), len(values), pos, last
