"""Messages inside of messages: what members of a classic group hand each other, an int16 version and then the message.

A newer version than ours is read as our newest, since versions only add fields at the end. Knows neither assignors nor
groups. Shown by tests/unit/consumer/assignors/test_protocol.py.
"""

import struct
from typing import TypeVar

from kctl.client.errors import RemoteProtocolError
from kctl.client.protocol import codec
from kctl.client.protocol.schema import Message

_VERSION = struct.Struct(">h")
M = TypeVar("M", bound=Message)


def encode_member_data(message: Message, version: int) -> bytes:
    """Return the message behind its version.

    Raises: LocalProtocolError: a value does not fit.
    """
    return _VERSION.pack(version) + codec.encode(message, version)


def decode_member_data(cls: type[M], data: bytes) -> M:
    """Return the message behind a version.

    Raises: RemoteProtocolError: the bytes are no such message.
    """
    if len(data) < _VERSION.size:
        raise RemoteProtocolError(f"{cls.NAME}: {len(data)} bytes, too short for a version")
    (version,) = _VERSION.unpack_from(data)
    if version < 0:
        raise RemoteProtocolError(f"{cls.NAME}: version {version}")
    newest = cls.VALID_VERSIONS[1]
    if version > newest:
        return codec.decode_header(cls, data[_VERSION.size :], newest)[0]
    return codec.decode(cls, data, version, _VERSION.size)
