"""Messages of versions 0 and 1, plain or in a compressed wrapper, rewritten as version 2 records.

In a wrapper, offsets are absolute in version 0, and relative in version 1. Source: KIP-31, KIP-32;
https://kafka.apache.org/documentation/#messageset.
"""

import zlib
from struct import Struct
from typing import Final, NamedTuple

from kctl.client.records._hot.builder import MAX_RECORD_BYTES, append_record
from kctl.client.records._hot.record import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE, BatchInfo
from kctl.client.records.batch import FRAME, FRAME_BYTES, LOG_APPEND, Source
from kctl.client.records.compression import DecompressionError, codec_name, decompress
from kctl.client.records.lz4_frame import repair_header

_HEAD: Final = Struct(">IBB")
_TIMESTAMP: Final = Struct(">q")
_LENGTH: Final = Struct(">i")
_CODEC_MASK: Final = 0x07
_MAX_OFFSET: Final = (1 << 63) - (1 << 32)


class Message(NamedTuple):
    offset: int
    magic: int
    attributes: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


class Rewritten(NamedTuple):
    info: BatchInfo
    records: bytes


def read_message(
    source: Source, data: bytes, at: int, end: int, *, check_crcs: bool, max_decompressed_bytes: int
) -> Rewritten:
    """Read the message at `data[at:end]`. If it is a compressed message set, read the messages in it.

    Raises: CorruptBatchError, UnsupportedCodecError.
    """
    outer = _parse(source, data, at, end, check_crcs=check_crcs, base_offset=FRAME.unpack_from(data, at)[0], origin=at)
    codec = codec_name(outer.attributes & _CODEC_MASK)
    if codec is None:
        raise source.unknown_codec(outer.attributes & _CODEC_MASK, outer.offset, at)
    messages = [outer]
    if codec != "none":
        messages = _unwrap(source, outer, codec, at, check_crcs, max_decompressed_bytes)
    return _rewrite(source, outer, codec, messages, at)


def _parse(
    source: Source, data: bytes, at: int, end: int, *, check_crcs: bool, base_offset: int, origin: int
) -> Message:
    """Read a message. Args: base_offset, origin: offset and position of the outer message, for errors."""
    offset, _ = FRAME.unpack_from(data, at)
    pos = at + FRAME_BYTES
    crc, magic, attributes = _HEAD.unpack_from(data, pos)
    if magic > 1:
        raise source.damaged(f"a message of version 0 or 1 contains a message of version {magic}", base_offset, origin)
    if check_crcs and zlib.crc32(memoryview(data)[pos + 4 : end]) != crc:
        raise source.damaged(f"the message at offset {offset} does not match its CRC {crc:08x}", base_offset, origin)
    pos += _HEAD.size
    timestamp = -1
    if magic == 1:
        if end - pos < _TIMESTAMP.size:
            raise source.damaged("the message ends inside its timestamp", base_offset, origin)
        (timestamp,) = _TIMESTAMP.unpack_from(data, pos)
        pos += _TIMESTAMP.size
    fields: list[bytes | None] = []
    for name in ("key", "value"):
        (size,) = _LENGTH.unpack_from(data, pos) if end - pos >= _LENGTH.size else (-2,)
        pos += _LENGTH.size
        if size < -1 or size > end - pos:
            raise source.damaged(f"the {name} length is {size}, but {end - pos} bytes are left", base_offset, origin)
        fields.append(None if size < 0 else data[pos : pos + size])
        pos += max(size, 0)
    if pos != end:
        raise source.damaged(f"the message has {end - pos} extra bytes after its value", base_offset, origin)
    return Message(offset, magic, attributes, timestamp, fields[0], fields[1])


def _unwrap(
    source: Source, outer: Message, codec: str, at: int, check_crcs: bool, max_decompressed_bytes: int
) -> list[Message]:
    if outer.value is None:
        raise source.damaged("the compressed message contains no messages", outer.offset, at)
    value = repair_header(outer.value) if codec == "lz4" and outer.magic == 0 else outer.value
    try:
        plain = decompress(codec, memoryview(value), max_decompressed_bytes)
    except DecompressionError as error:
        raise source.damaged(str(error), outer.offset, at) from error
    messages: list[Message] = []
    pos = 0
    while pos < len(plain):
        size = FRAME.unpack_from(plain, pos)[1] if len(plain) - pos >= FRAME_BYTES else -1
        end = pos + FRAME_BYTES + size
        if size < 14 or end > len(plain):
            raise source.damaged(
                f"the compressed message contains a message with the invalid length {size}", outer.offset, at
            )
        message = _parse(source, plain, pos, end, check_crcs=check_crcs, base_offset=outer.offset, origin=at)
        if message.magic != outer.magic or message.attributes & _CODEC_MASK:
            raise source.damaged(
                "the compressed message contains compressed messages or messages of another version", outer.offset, at
            )
        messages.append(message)
        if len(messages) > 1 and message.offset <= messages[-2].offset:
            break  # `_rewrite` rejects it; stop early in a wrapper that repeats a message
        pos = end
    if not messages:
        raise source.damaged("the compressed message contains no messages", outer.offset, at)
    if outer.magic == 1 and outer.offset != 0:
        # The wrapper has the offset of its last message; inner offsets are relative. Offset 0 is of a wrapper that no
        # broker has numbered.
        shift = outer.offset - messages[-1].offset
        messages = [message._replace(offset=message.offset + shift) for message in messages]
    return messages


def _rewrite(source: Source, outer: Message, codec: str, messages: list[Message], at: int) -> Rewritten:
    """Encode the messages as version 2 records; a log append time of the wrapper applies to all of them."""
    first, last = messages[0], messages[-1]
    if not 0 <= first.offset <= last.offset < _MAX_OFFSET:
        raise source.damaged(f"the message offsets {first.offset} to {last.offset} are out of range", outer.offset, at)
    parts: list[bytes] = []
    previous = -1
    for message in messages:
        delta = message.offset - first.offset
        if not previous < delta < 1 << 31:
            raise source.damaged(
                f"message offsets must be in ascending order, but {message.offset} follows {first.offset + previous}",
                outer.offset,
                at,
            )
        append_record(parts, delta, message.timestamp_ms, message.key, message.value, (), MAX_RECORD_BYTES)
        previous = delta
    if outer.magic == 0:
        timestamp_type = NO_TIMESTAMP_TYPE
    else:
        timestamp_type = LOG_APPEND_TIME if outer.attributes & LOG_APPEND else CREATE_TIME
    latest = outer.timestamp_ms if timestamp_type == LOG_APPEND_TIME else max(m.timestamp_ms for m in messages)
    info = BatchInfo(
        source.topic,
        source.partition,
        outer.magic,
        first.offset,
        last.offset,
        len(messages),
        0,
        latest,
        timestamp_type,
        codec,
    )
    return Rewritten(info, b"".join(parts))
