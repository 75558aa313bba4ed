"""Codecs: the codec of each schema, made once."""

from collections import OrderedDict
from typing import Any, Protocol
from uuid import UUID

from kctl.serdes.errors import SchemaError
from kctl.serdes.registry import AVRO, JSON, PROTOBUF
from kctl.serdes.schema_store import Resolved, SchemaStore

MOST_CODECS = 1000
"""Schemas in use at a time; a topic with more costs time, not memory."""


class Codec(Protocol):
    """A format with its schema."""

    def decode(self, data: bytes) -> Any:
        """Return the value as JSON. Raises: DecodeError."""
        ...

    def encode(self, value: Any) -> bytes:
        """Return the bytes of a JSON value. Raises: EncodeError."""
        ...


class Codecs:
    """The codecs of a registry's schemas.

    Args: reader: an Avro schema to read all Avro values by.
    """

    def __init__(self, store: SchemaStore, reader: str | None = None) -> None:
        self._store = store
        self._reader = reader
        self._made: OrderedDict[int | UUID, tuple[str, Codec]] = OrderedDict()

    def codec(self, schema: int | UUID) -> tuple[str, Codec]:
        """Return the type of a schema, such as AVRO, and its codec.

        Raises: KafkaError: the registry's; SchemaError: it is invalid, or of a type that is not known.
        """
        made = self._made.get(schema)
        if made is None:
            resolved = self._store.resolve(schema)
            made = resolved.schema.type, codec_of(resolved, self._reader)
            self._made[schema] = made
            if len(self._made) > MOST_CODECS:
                self._made.popitem(last=False)
        return made


def codec_of(resolved: Resolved, reader: str | None = None) -> Codec:
    """Return the codec of a schema with all that it refers to. Raises: SchemaError, LibraryMissingError."""
    schema, dependencies = resolved
    if schema.type == AVRO:
        from kctl.serdes.avro import AvroCodec

        return AvroCodec(schema.text, [each.text for _, each in dependencies], reader)
    if schema.type == PROTOBUF:
        from kctl.serdes.protobuf import ProtobufCodec, file_of

        files = [(name, file_of(each.text)) for name, each in dependencies]
        return ProtobufCodec([*files, ("", file_of(schema.text))], is_framed=True)
    if schema.type == JSON:
        from kctl.serdes.json_schema import JsonSchemaCodec

        return JsonSchemaCodec(schema.text, {name: each.text for name, each in dependencies})
    raise SchemaError(f"schemas of type {schema.type[:40]!r} are not supported: AVRO, PROTOBUF and JSON are")
