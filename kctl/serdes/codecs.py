"""Cache of codecs by schema."""

from collections import OrderedDict
from typing import Any, Protocol
from uuid import UUID

from kctl.serdes.errors import SchemaError
from kctl.serdes.registry import AVRO, JSON, PROTOBUF
from kctl.serdes.schema_store import Resolved, SchemaStore

MOST_CODECS = 1000
"""Maximum number of cached codecs."""


class Codec(Protocol):
    def decode(self, data: bytes) -> Any:
        """Return the JSON value. Raises: DecodeError."""
        ...

    def encode(self, value: Any) -> bytes:
        """Return the bytes of a JSON value. Raises: EncodeError."""
        ...


class Codecs:
    """Codecs of the schemas in a registry.

    Args:
        reader: an Avro schema to read all Avro values with.
    """

    def __init__(self, store: SchemaStore, reader: str | None = None) -> None:
        self._store = store
        self._reader = reader
        self._made: OrderedDict[int | UUID, tuple[str, Codec]] = OrderedDict()

    def codec(self, schema: int | UUID) -> tuple[str, Codec]:
        """Return the type of a schema, such as AVRO, and its codec.

        Raises: KafkaError: from the registry; SchemaError: the schema is invalid or its type is unknown.
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
    """Return the codec of a schema. Raises: SchemaError, LibraryMissingError."""
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
    raise SchemaError(f"unsupported schema type {schema.type[:40]!r}: use AVRO, PROTOBUF, or JSON")
