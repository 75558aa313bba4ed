"""Encoder: JSON values as bytes under a schema, with its id before them.

Which schema: the one of a subject, which a strategy names by topic or record, one by id, or the one that the value was
decoded by. Nothing is registered here, except where the caller gives a schema to register.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from kctl.serdes.codecs import Codec, Codecs, codec_of
from kctl.serdes.errors import EncodeError, SchemaError
from kctl.serdes.json_text import read_json
from kctl.serdes.registry import LATEST, PROTOBUF, Schema, SchemaRegistry
from kctl.serdes.schema_store import SchemaStore
from kctl.serdes.wire import MAGIC_GUID, Header, write_frame

MOST_VERSION = 2**31 - 1


class Target(NamedTuple):
    """What to encode by.

    Attributes:
        schema_id: of a schema; or
        subject: a subject, in which `{topic}` stands for the record's topic; or neither: the record's own schema.
        version: of the subject.
    """

    schema_id: int | None = None
    subject: str | None = None
    version: int | str = LATEST

    @property
    def is_of_record(self) -> bool:
        """Whether each record names its schema itself."""
        return self.schema_id is None and self.subject is None


def parse_target(text: str, side: str) -> Target:
    """Return what `auto`, `id:N`, `topic`, `record:NAME`, `topic-record:NAME` or `SUBJECT[@VERSION]` is.

    Args: side: `key` or `value`, which ends the names of the topic name strategy.
    Raises: ValueError: an id or version that is no number, or an empty name.
    Source: the subject name strategies of Confluent's serializers.
    """
    if text == "auto":
        return Target()
    if text == "topic":
        return Target(subject=f"{{topic}}-{side}")
    kind, colon, name = text.partition(":")
    if colon and kind == "id":
        return Target(schema_id=_number(name, "schema id"))
    if colon and kind in ("record", "topic-record"):
        if not name:
            raise ValueError(f"{kind}: needs the full name of the record")
        return Target(subject=name if kind == "record" else f"{{topic}}-{name}")
    return _of_subject(text.removeprefix("subject:"))


def _of_subject(text: str) -> Target:
    subject, at, version = text.rpartition("@")
    if not at:
        subject, version = version, LATEST
    if not subject:
        raise ValueError("a subject must have a name")
    return Target(subject=subject, version=version if version == LATEST else _number(version, "version"))


def _number(text: str, what: str) -> int:
    if not text.isdecimal() or len(text) > 10 or not 0 < int(text) <= MOST_VERSION:
        raise ValueError(f"{text!r} is not a {what}")
    return int(text)


class Encoder:
    """The keys, or the values, of records.

    Args:
        target: what to encode by.
        header: the name of the header that may have the schema.
        new: a schema to register under the subject before it is first used.
        codec: of the message of Protobuf schemas that the registry has as text only.
    """

    def __init__(
        self,
        target: Target,
        header: str,
        registry: SchemaRegistry,
        store: SchemaStore,
        new: Schema | None = None,
        codec: Codec | None = None,
    ) -> None:
        self._target = target
        self._header = header
        self._registry = registry
        self._store = store
        self._codecs = Codecs(store)
        self._new = new
        self._codec = codec
        self._checked: set[int | UUID] = set()
        self._of_subject: dict[str, tuple[int, Codec]] = {}

    def encode(self, data: bytes, topic: str, schema: int | UUID | None, headers: Sequence[Header]) -> bytes:
        """Return a JSON text as bytes with its schema's id; what names no schema of its own where it is to, as it is.

        Raises: EncodeError: it is not JSON, or does not fit; KafkaError: the registry's.
        """
        if self._target.is_of_record:
            return data if schema is None else self._encode_of_record(data, schema, headers)
        return self.encode_value(read_json(data), topic)

    def encode_value(self, value: Any, topic: str) -> bytes:
        """Return a JSON value as bytes with the id of the schema of the target, which is not each record's own.

        Raises: EncodeError: it does not fit; KafkaError: the registry's.
        """
        target = self._target
        if target.schema_id is not None:
            return write_frame(target.schema_id, self._codec_of(target.schema_id).encode(value))
        number, codec = self._found((target.subject or "").replace("{topic}", topic))
        return write_frame(number, codec.encode(value))

    def _encode_of_record(self, data: bytes, schema: int | UUID, headers: Sequence[Header]) -> bytes:
        payload = self._codec_of(schema).encode(read_json(data))
        if any(name == self._header for name, _ in headers):  # the schema is named there
            return payload
        if isinstance(schema, UUID):
            return bytes([MAGIC_GUID]) + schema.bytes + payload
        return write_frame(schema, payload)

    def _found(self, subject: str) -> tuple[int, Codec]:
        """Return the id and the codec of a subject's schema, looked up once."""
        found = self._of_subject.get(subject)
        if found is None:
            if self._new is not None:
                number = self._registry.register(subject, self._new)
                found = number, codec_of(self._store.with_references(self._new))
            else:
                number = self._registry.version(subject, self._target.version).id
                found = number, self._codec_of(number)
            self._of_subject[subject] = found
        return found

    def _codec_of(self, schema: int | UUID) -> Codec:
        if self._codec is None:
            return self._codecs.codec(schema)[1]
        if schema not in self._checked:
            kind = self._store.resolve(schema).schema.type
            if kind != PROTOBUF:
                raise SchemaError(f"schema {schema} is {kind[:40]}, not {PROTOBUF}")
            self._checked.add(schema)
        return self._codec


class LocalEncoder:
    """Keys or values in a format without a registry: the bytes of the codec alone."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec

    def encode(self, data: bytes, topic: str, schema: int | UUID | None, headers: Sequence[Header]) -> bytes:  # noqa: ARG002 - as Encoder
        """Return a JSON text as bytes. Raises: EncodeError."""
        return self._codec.encode(read_json(data))


Encode = Callable[[bytes, str, "int | UUID | None", Sequence[Header]], bytes]
"""`Encoder.encode`."""


def check_schema_of(given: object) -> int | UUID | None:
    """Return the schema that a record of jsonl names, `{"id":7}` or `{"guid":"..."}`, or None for null.

    Raises: EncodeError: it is something else.
    """
    if given is None:
        return None
    if isinstance(given, dict):
        number, guid = given.get("id"), given.get("guid")
        if isinstance(number, int) and not isinstance(number, bool) and 0 < number <= MOST_VERSION:
            return number
        if isinstance(guid, str):
            try:
                return UUID(guid)
            except ValueError:
                pass
    raise EncodeError('a schema is {"id": N} or {"guid": "..."}, or null')
