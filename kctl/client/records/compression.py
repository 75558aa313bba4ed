"""The codecs of batches, with the decompressed size bounded.

Owns codec ids and names, framing (xerial for snappy, independent blocks for lz4) and the import of cramjam, made when
the first compressed batch appears. Must not know batches: its errors say what was wrong, the caller says where. Source:
KIP-110 (zstd); https://github.com/xerial/snappy-java (its stream); https://github.com/lz4/lz4 (its frame).
"""

from collections.abc import Iterator
from typing import Final

from kctl.client.records.lz4_frame import unframed

CODEC_IDS: Final[dict[str, int]] = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
_CODEC_NAMES: Final = tuple(CODEC_IDS)

DEFAULT_MAX_DECOMPRESSED_BYTES: Final = 256 * 1024 * 1024
"""Default limit of the decompressed size of one batch."""

_GZIP_MAGIC: Final = b"\x1f\x8b\x08"
_GZIP_HEADER_BYTES: Final = 10
_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + (1).to_bytes(4, "big") + (1).to_bytes(4, "big")
_XERIAL_BLOCK_BYTES: Final = 32 * 1024
_FIRST_PIECE_BYTES: Final = 512
"""Of a gzip member; zlib copies what follows the member, so that many small ones in one piece would take forever."""
_SNAPPY_MAX_RATIO: Final = 22
"""The densest snappy element writes 64 bytes and takes 3."""
_CAPACITY_TOO_SMALL: Final = "failed to write whole buffer"
"""Text of cramjam's error for an output without room; a test checks it."""


class DecompressionError(Exception):
    """The compressed bytes are damaged, or become more than the limit."""


def codec_name(codec_id: int) -> str | None:
    """The codec's name, None where it is unknown."""
    return _CODEC_NAMES[codec_id] if codec_id < len(_CODEC_NAMES) else None


def compress(codec: str, data: bytes, level: int | None = None) -> bytes:
    """The bytes as Kafka's own clients would read them; `level` in the codec's own scale, None for its default."""
    if codec == "none":
        return data
    import cramjam

    if codec == "gzip":
        return bytes(cramjam.gzip.compress(data, 6 if level is None else level))
    if codec == "zstd":
        return bytes(cramjam.zstd.compress(data, 3 if level is None else level))
    if codec == "lz4":
        # Independent blocks: Java's reader refuses linked ones, which are the default elsewhere. The CRC of the batch
        # covers the contents already; Java computes no other checksum of them either.
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
    """The plain bytes; at most `max_bytes` of them are ever made.

    Raises: DecompressionError where the data is damaged, ends early, or would become more than `max_bytes`.
    """
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
        f"{codec}: more than the {max_bytes} bytes that a batch may become (max_decompressed_bytes)"
    )


def _gunzip(data: memoryview, max_bytes: int) -> bytes:
    """The plain bytes of one gzip member after the other; what follows and is none is passed over, as by Java."""
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
                raise DecompressionError("gzip: the compressed bytes end early")
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
    """The plain bytes of xerial's blocks, or of one raw block as some clients write it."""
    import cramjam

    blocks = _xerial_blocks(data) if data.startswith(_XERIAL_MAGIC) else iter((data,))
    left = max_bytes
    parts: list[bytes] = []
    for block in blocks:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > left:
            raise _too_large("snappy", max_bytes)
        if size > len(block) * _SNAPPY_MAX_RATIO:
            raise DecompressionError(f"snappy: a block of {len(block)} bytes cannot hold {size}")
        left -= size
        parts.append(bytes(cramjam.snappy.decompress_raw(block)))
    return b"".join(parts)


def _xerial_blocks(data: bytes) -> Iterator[bytes]:
    pos = len(_XERIAL_HEADER)
    if pos > len(data):
        raise DecompressionError("snappy: the compressed bytes end early")
    while pos + 4 <= len(data):  # as snappy-java, which passes over fewer bytes
        if data.startswith(_XERIAL_MAGIC[:4], pos):  # another stream begins
            if not data.startswith(_XERIAL_MAGIC, pos) or pos + len(_XERIAL_HEADER) > len(data):
                return
            pos += len(_XERIAL_HEADER)
            continue
        size = int.from_bytes(data[pos : pos + 4], "big", signed=True)
        pos += 4
        if not 0 < size <= len(data) - pos:
            raise DecompressionError(f"snappy: a block of {size} bytes with {len(data) - pos} left")
        yield data[pos : pos + size]
        pos += size


def _grow(codec: str, data: memoryview, max_bytes: int) -> bytes:
    """The plain bytes of a codec whose frames need not say how much they become: tried with more and more room."""
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
