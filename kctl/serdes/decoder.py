"""Decoder: keys or values as JSON, by a schema ID in the record or by a fixed schema."""

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

from kctl.serdes.codecs import Codec, Codecs
from kctl.serdes.errors import DecodeError
from kctl.serdes.registry import AVRO, JSON, PROTOBUF
from kctl.serdes.wire import Header, read_frame

MOST_VALUE_BYTES = 16 * 1024 * 1024
"""Maximum size of a decoded key or value. Python objects are several times as large."""


class Form(Enum):
    AUTO = "auto"
    AVRO = "avro"
    PROTOBUF = "protobuf"
    JSON_SCHEMA = "json-schema"
    JSON = "json"
    MSGPACK = "msgpack"


_TYPES = {Form.AVRO: AVRO, Form.PROTOBUF: PROTOBUF, Form.JSON_SCHEMA: JSON}


class Decoded(NamedTuple):
    """JSON value.

    Attributes:
        schema: schema ID in the record, or None.
        type: type of the schema, or None.
    """

    value: Any
    schema: int | UUID | None = None
    type: str | None = None


class Decoder:
    """Decoder of the keys or the values of records.

    Args:
        header: name of the header that may have the schema ID.
        codecs: codecs of the registry, or None.
        local: codec of bytes without a schema ID.
        framed: codec of bytes with a schema ID, in place of the registry.
    """

    def __init__(
        self,
        form: Form,
        header: str,
        codecs: Codecs | None,
        local: Codec | None = None,
        framed: Codec | None = None,
    ) -> None:
        self._form = form
        self._header = header
        self._codecs = codecs
        self._local = local
        self._framed = framed

    def decode(self, data: bytes, headers: Sequence[Header] = ()) -> Decoded | None:
        """Return the value, or None if the form is AUTO and the bytes have no schema ID.

        Raises:
            DecodeError: the bytes do not fit the schema.
            KafkaError: the schema is not available.
        """
        if len(data) > MOST_VALUE_BYTES:
            raise DecodeError(f"the data has {len(data)} bytes, more than the limit of {MOST_VALUE_BYTES}")
        if self._codecs is None and self._framed is None:
            return None if self._local is None else Decoded(self._local.decode(data))
        framed = read_frame(data, headers, self._header)
        if framed is None:
            return self._decode_unframed(data)
        if self._framed is not None:
            return Decoded(self._framed.decode(framed.payload), framed.schema, _TYPES.get(self._form))
        assert self._codecs is not None
        kind, codec = self._codecs.codec(framed.schema)
        wanted = _TYPES.get(self._form)
        if wanted is not None and kind != wanted:
            raise DecodeError(f"schema {framed.schema} is {kind}, not {wanted}")
        return Decoded(codec.decode(framed.payload), framed.schema, kind)

    def schema_of(self, data: bytes, headers: Sequence[Header]) -> int | UUID | None:
        """Return the schema ID of bytes, or None if they have none.

        Raises: DecodeError: the schema ID is malformed.
        """
        framed = read_frame(data, headers, self._header)
        return None if framed is None else framed.schema

    def load(self, schema: int | UUID) -> None:
        """Fetch a schema. Raises: KafkaError."""
        assert self._codecs is not None
        self._codecs.codec(schema)

    def _decode_unframed(self, data: bytes) -> Decoded | None:
        if self._local is not None:
            return Decoded(self._local.decode(data))
        if self._form is Form.AUTO:
            return None
        raise DecodeError("the data has no schema ID: it does not begin with byte 0 and an ID")
