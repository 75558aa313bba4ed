"""Reproducible UUIDs."""

from hashlib import blake2b


def stable_uuid(seed: str) -> bytes:
    """Return a version 4 UUID of 16 bytes that depends on `seed` only."""
    digest = bytearray(blake2b(seed.encode(), digest_size=16).digest())
    digest[6] = digest[6] & 0x0F | 0x40
    digest[8] = digest[8] & 0x3F | 0x80
    return bytes(digest)
