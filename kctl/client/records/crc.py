"""CRC32C of batches. Owns the one import of google-crc32c, made when the first batch is checked or written.

Shown by tests/unit/records/test_batch.py.
"""

from typing import Final

_PIECE_BYTES: Final = 64 * 1024
"""google-crc32c takes whole bytes objects only. A copy of this size stays in the core's caches."""


def crc32c(head: bytes, rest: bytes = b"") -> int:
    """The CRC32C of `head` followed by `rest`, without joining them."""
    import google_crc32c

    return int(google_crc32c.extend(google_crc32c.value(head), rest))


def crc32c_between(data: bytes, start: int, end: int) -> int:
    """The CRC32C of `data[start:end]`, without a copy of the whole."""
    from google_crc32c import extend

    crc = 0
    for at in range(start, end, _PIECE_BYTES):
        crc = extend(crc, data[at : min(end, at + _PIECE_BYTES)])
    return int(crc)
