"""Encoder: JSON values as bytes with a schema ID.

A schema is registered only if the caller supplies one.
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
    """Schema to encode with. Without ID and subject, each record has its schema.

    Attributes:
        subject: may contain `{topic}` for the record's topic.
    """

    schema_id: int | None = None
    subject: str | None = None
    version: int | str = LATEST

    @property
    def is_of_record(self) -> bool:
        return self.schema_id is None and self.subject is None


def parse_target(text: str, side: str) -> Target:
    """Return the target of `auto`, `id:N`, `topic`, `record:NAME`, `topic-record:NAME`, or `SUBJECT[@VERSION]`.

    Subjects are as in the subject name strategies of Confluent's serializers.

    Args:
        side: `key` or `value`, the suffix of the topic name strategy.
    Raises: ValueError: an ID or version is not a number, or a name is empty.
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
            raise ValueError(f"{kind}: add the full name of the record")
        return Target(subject=name if kind == "record" else f"{{topic}}-{name}")
    return _of_subject(text.removeprefix("subject:"))


def _of_subject(text: str) -> Target:
    subject, at, version = text.rpartition("@")
    if not at:
        subject, version = version, LATEST
    if not subject:
        raise ValueError("the subject must have a name")
    return Target(subject=subject, version=version if version == LATEST else _number(version, "version"))


def _number(text: str, what: str) -> int:
    if not text.isdecimal() or len(text) > 10 or not 0 < int(text) <= MOST_VERSION:
        raise ValueError(f"{text!r} is not a valid {what}")
    return int(text)


class Encoder:
    """Encoder of the keys or the values of records.

    Args:
        header: name of the header that may have the schema ID.
        new: schema to register under the subject before its first use.
        codec: codec for Protobuf schemas that the registry has only as text.
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
        """Return the bytes of a JSON text. If records specify schemas and this one has none, return the text unchanged.

        Raises:
            EncodeError: the text is not JSON, or does not fit the schema.
            KafkaError: the registry failed a request.
        """
        if self._target.is_of_record:
            return data if schema is None else self._encode_of_record(data, schema, headers)
        return self.encode_value(read_json(data), topic)

    def encode_value(self, value: Any, topic: str) -> bytes:
        """Return the bytes of a JSON value. The target must have a schema ID or a subject.

        Raises:
            EncodeError: the value does not fit.
            KafkaError: the registry failed a request.
        """
        number, codec = self.schema_of(topic)
        return write_frame(number, codec.encode(value))

    def schema_of(self, topic: str) -> tuple[int, Codec]:
        """Return the schema ID and codec of values for a topic, which are cached. Raises: KafkaError."""
        target = self._target
        if target.schema_id is not None:
            return target.schema_id, self._codec_of(target.schema_id)
        return self._found((target.subject or "").replace("{topic}", topic))

    def _encode_of_record(self, data: bytes, schema: int | UUID, headers: Sequence[Header]) -> bytes:
        payload = self._codec_of(schema).encode(read_json(data))
        if any(name == self._header for name, _ in headers):  # the header has the schema ID
            return payload
        if isinstance(schema, UUID):
            return bytes([MAGIC_GUID]) + schema.bytes + payload
        return write_frame(schema, payload)

    def _found(self, subject: str) -> tuple[int, Codec]:
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
    def __init__(self, codec: Codec) -> None:
        self._codec = codec

    def encode(self, data: bytes, topic: str, schema: int | UUID | None, headers: Sequence[Header]) -> bytes:  # noqa: ARG002 - as Encoder
        return self._codec.encode(read_json(data))


Encode = Callable[[bytes, str, "int | UUID | None", Sequence[Header]], bytes]
"""Signature of `Encoder.encode`."""


def check_schema_of(given: object) -> int | UUID | None:
    """Return the schema in a jsonl record, `{"id":7}` or `{"guid":"..."}`, or None for null.

    Raises: EncodeError: it is malformed.
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
    raise EncodeError('use {"id": N}, {"guid": "..."}, or null as the schema')
