"""murmur2: the hash by which a key chooses its partition, equal to the Java client's.

Pure; knows nothing of partitions save `partition_of_key`. Shown by tests/unit/producer/test_murmur2.py.

Source: MurmurHash2 (A. Appleby), seed as in Kafka's Utils.murmur2; Java's arithmetic wraps at 32 bits.
"""

from struct import iter_unpack

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the hash of `data` as an unsigned 32-bit integer."""
    length = len(data)
    h = _SEED ^ length
    whole = length & ~3
    for (k,) in iter_unpack("<I", data[:whole]):
        k = k * _M & _MASK
        h = (h * _M ^ (k ^ k >> 24) * _M) & _MASK
    if length != whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


def partition_of_key(key: bytes, partition_count: int) -> int:
    """Return the partition of a record with this key, as the Java client would choose it."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count
