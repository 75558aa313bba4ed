"""Ids that are the same in each run: they must not depend on unseeded random numbers."""

from hashlib import blake2b


def stable_uuid(seed: str) -> bytes:
    """Return 16 bytes with the form of a version 4 uuid that depend on `seed` alone."""
    digest = bytearray(blake2b(seed.encode(), digest_size=16).digest())
    digest[6] = digest[6] & 0x0F | 0x40
    digest[8] = digest[8] & 0x3F | 0x80
    return bytes(digest)
