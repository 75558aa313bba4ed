"""Compression codecs of batches, with a limit on the decompressed size, xerial framing for snappy, and independent lz4
blocks.

cramjam is imported with the first compressed batch. Source: KIP-110 (zstd); https://github.com/xerial/snappy-java;
https://github.com/lz4/lz4.
"""

from collections.abc import Iterator
from typing import Final

from kctl.client.records.lz4_frame import unframed

CODEC_IDS: Final[dict[str, int]] = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
_CODEC_NAMES: Final = tuple(CODEC_IDS)

DEFAULT_MAX_DECOMPRESSED_BYTES: Final = 256 * 1024 * 1024
"""Default limit of the decompressed size of a batch."""

_GZIP_MAGIC: Final = b"\x1f\x8b\x08"
_GZIP_HEADER_BYTES: Final = 10
_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + (1).to_bytes(4, "big") + (1).to_bytes(4, "big")
_XERIAL_BLOCK_BYTES: Final = 32 * 1024
_FIRST_PIECE_BYTES: Final = 512
"""Bytes that zlib gets first; it copies all bytes after a gzip member, which is slow for many small members."""
_SNAPPY_MAX_RATIO: Final = 22
"""Maximum compression ratio of snappy: its densest element produces 64 bytes from 3."""
_CAPACITY_TOO_SMALL: Final = "failed to write whole buffer"
"""Text of cramjam's error for an output buffer that is too small; a test checks it."""


class DecompressionError(Exception):
    """Compressed bytes that are damaged or exceed the limit."""


def codec_name(codec_id: int) -> str | None:
    return _CODEC_NAMES[codec_id] if codec_id < len(_CODEC_NAMES) else None


def compress(codec: str, data: bytes, level: int | None = None) -> bytes:
    """Compress as Kafka's clients expect; `level` None is the codec's default."""
    if codec == "none":
        return data
    import cramjam

    if codec == "gzip":
        return bytes(cramjam.gzip.compress(data, 6 if level is None else level))
    if codec == "zstd":
        return bytes(cramjam.zstd.compress(data, 3 if level is None else level))
    if codec == "lz4":
        # Independent blocks: Java's reader rejects linked ones, the default elsewhere. The CRC of the batch covers the
        # contents; Java writes no content checksum either.
        level = 1 if level is None else level
        compressor = cramjam.lz4.Compressor(level=level, content_checksum=False, block_linked=False)
        compressor.compress(data)
        return bytes(compressor.finish())
    return _xerial(data)


def _xerial(data: bytes) -> bytes:
    import cramjam

    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES]))
        parts.append(len(block).to_bytes(4, "big"))
        parts.append(block)
    return b"".join(parts)


def decompress(codec: str, data: memoryview, max_bytes: int) -> bytes:
    """Return the plain bytes. Raises: DecompressionError: `data` is damaged or incomplete, or exceeds `max_bytes`."""
    if codec == "none":
        return bytes(data)
    if codec == "gzip":
        return _gunzip(data, max_bytes)
    import cramjam

    try:
        if codec == "snappy":
            return _unsnappy(bytes(data), max_bytes)
        found = unframed(data, max_bytes) if codec == "lz4" else None
        return _grow(codec, data, max_bytes) if found is None else found
    except cramjam.DecompressionError as error:
        raise DecompressionError(f"{codec}: {error}") from None


def _too_large(codec: str, max_bytes: int) -> DecompressionError:
    return DecompressionError(
        f"{codec}: the decompressed records exceed the limit of {max_bytes} bytes (max_decompressed_bytes)"
    )


def _gunzip(data: memoryview, max_bytes: int) -> bytes:
    """Return the plain bytes of all gzip members; bytes after them are ignored, as in Java."""
    import zlib

    parts: list[bytes] = []
    left = max_bytes
    pos = 0
    while pos < len(data) and (pos == 0 or _is_gzip(data[pos:])):
        member = zlib.decompressobj(wbits=31)
        size = _FIRST_PIECE_BYTES
        while not member.eof:
            piece = data[pos : pos + size]
            if not piece:
                raise DecompressionError("gzip: the compressed data is truncated")
            try:
                part = member.decompress(piece, left + 1)
            except zlib.error as error:
                raise DecompressionError(f"gzip: {error}") from None
            if len(part) > left:
                raise _too_large("gzip", max_bytes)
            left -= len(part)
            parts.append(part)
            pos += len(piece) - len(member.unused_data)
            size *= 8
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _is_gzip(data: memoryview) -> bool:
    return len(data) >= _GZIP_HEADER_BYTES and bytes(data[:3]) == _GZIP_MAGIC


def _unsnappy(data: bytes, max_bytes: int) -> bytes:
    """Return the plain bytes of xerial blocks, or of one raw block, which some clients write."""
    import cramjam

    blocks = _xerial_blocks(data) if data.startswith(_XERIAL_MAGIC) else iter((data,))
    left = max_bytes
    parts: list[bytes] = []
    for block in blocks:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > left:
            raise _too_large("snappy", max_bytes)
        if size > len(block) * _SNAPPY_MAX_RATIO:
            raise DecompressionError(f"snappy: a block of {len(block)} bytes cannot decompress to {size} bytes")
        left -= size
        parts.append(bytes(cramjam.snappy.decompress_raw(block)))
    return b"".join(parts)


def _xerial_blocks(data: bytes) -> Iterator[bytes]:
    pos = len(_XERIAL_HEADER)
    if pos > len(data):
        raise DecompressionError("snappy: the compressed data is truncated")
    while pos + 4 <= len(data):  # snappy-java ignores fewer bytes
        if data.startswith(_XERIAL_MAGIC[:4], pos):  # start of another stream
            if not data.startswith(_XERIAL_MAGIC, pos) or pos + len(_XERIAL_HEADER) > len(data):
                return
            pos += len(_XERIAL_HEADER)
            continue
        size = int.from_bytes(data[pos : pos + 4], "big", signed=True)
        pos += 4
        if not 0 < size <= len(data) - pos:
            raise DecompressionError(f"snappy: the block size is {size} bytes, but {len(data) - pos} bytes are left")
        yield data[pos : pos + size]
        pos += size


def _grow(codec: str, data: memoryview, max_bytes: int) -> bytes:
    import cramjam

    decompress_into = cramjam.lz4.decompress_into if codec == "lz4" else cramjam.zstd.decompress_into
    capacity = min(max_bytes, max(64 * 1024, 4 * len(data)))
    while True:
        out = bytearray(capacity)
        try:
            size = decompress_into(data, out)
        except cramjam.DecompressionError as error:
            if str(error) != _CAPACITY_TOO_SMALL:
                raise
        else:
            return bytes(memoryview(out)[:size])
        if capacity == max_bytes:
            raise _too_large(codec, max_bytes)
        capacity = min(max_bytes, 4 * capacity)
