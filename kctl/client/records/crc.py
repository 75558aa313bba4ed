"""CRC32C of batches. Owns the one import of google-crc32c, made when the first batch is checked or written.

Shown by tests/unit/records/test_batch.py.
"""


def crc32c(head: bytes, rest: bytes = b"") -> int:
    """The CRC32C of `head` followed by `rest`, without joining them."""
    import google_crc32c

    return int(google_crc32c.extend(google_crc32c.value(head), rest))
