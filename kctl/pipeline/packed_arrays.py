"""Buffers of Arrow arrays for the record codec."""

import pyarrow as pa

from kctl.client.records import PackedParts

_END_BYTES = 4


def packed_parts(column: pa.Array) -> PackedParts:
    """Return the buffers of a binary or string array, without copying them."""
    bitmap, ends, contents = column.buffers()
    first, count = column.offset, len(column)
    if ends is None or ends.size == 0:  # an array without entries may have no ends
        return _EMPTY
    return (
        memoryview(b"" if contents is None else contents),
        memoryview(ends)[_END_BYTES * first : _END_BYTES * (first + count + 1)],
        None if bitmap is None or not column.null_count else memoryview(bitmap),
        first,
    )


_EMPTY = (memoryview(b""), memoryview(bytes(_END_BYTES)), None, 0)
