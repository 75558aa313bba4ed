"""Registry: formats for Avro, Protobuf, and JSON Schema with a schema registry."""

import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from kctl.client.clock import Clock
from kctl.client.config import AdminConfig, RegistryConfig
from kctl.client.network.system import system_runtime
from kctl.serdes.codecs import Codecs
from kctl.serdes.decoder import Decoder, Form
from kctl.serdes.encoder import Encoder, Target, parse_target
from kctl.serdes.registry import AVRO, JSON, PROTOBUF, Schema, SchemaRegistry
from kctl.serdes.schema_store import SchemaStore
from kctl.serdes.system_registry import open_system_registry
from kctl.serdes.wire import KEY_HEADER, VALUE_HEADER, Header

if TYPE_CHECKING:
    from kctl.serdes.system_registry import MakeHttp

_NO_CLUSTER = {"bootstrap.servers": "registry:1"}


class OpenedRegistry(NamedTuple):
    client: SchemaRegistry
    store: SchemaStore

    def codecs(
        self, form: Form, kind: str, schema: str | None, subject: str, *, is_key: bool, reader: str | None = None
    ) -> tuple[Encoder, Decoder]:
        """Return the encoder and decoder of a format. Args: as for `Registry.avro`."""
        target: Target = parse_target(subject, "key" if is_key else "value")
        if target.is_of_record or (schema is not None and target.subject is None):
            raise ValueError(f"invalid subject {subject!r}: use topic, record:NAME, or a subject")
        header = KEY_HEADER if is_key else VALUE_HEADER
        new = None if schema is None else Schema(kind, schema)
        encoder = Encoder(target, header, self.client, self.store, new)
        return encoder, Decoder(form, header, Codecs(self.store, reader))


def open_registry(config: Mapping[str, object], clock: Clock, make_http: "MakeHttp | None" = None) -> OpenedRegistry:
    """Return the registry of properties; see `Registry` and `open_system_registry`."""
    names = RegistryConfig.names()
    limits = AdminConfig.parse({**_NO_CLUSTER, **{key: each for key, each in config.items() if key not in names}})
    own = RegistryConfig.parse({key: each for key, each in config.items() if key in names})
    client = open_system_registry(own, limits, clock, make_http=make_http)
    return OpenedRegistry(client, SchemaStore(client, clock))


class RegistrySerde:
    """Format of JSON values with a schema ID. Thread-safe."""

    def __init__(self, encoder: Encoder, decoder: Decoder, lock: threading.Lock) -> None:
        self._encoder = encoder
        self._decoder = decoder
        self._lock = lock

    def serialize(self, value: Any, topic: str) -> bytes:
        """Return the bytes of a value.

        Raises: EncodeError; KafkaError: the registry failed a request.
        """
        with self._lock:
            return self._encoder.encode_value(value, topic)

    def deserialize(self, data: bytes, topic: str, headers: Sequence[Header]) -> Any:  # noqa: ARG002
        """Return the value of bytes.

        Raises: DecodeError; KafkaError: the registry failed a request.
        """
        with self._lock:
            decoded = self._decoder.decode(data, headers)
        assert decoded is not None  # the form is not AUTO
        return decoded.value


class Registry:
    """Schema registry, and formats with its schemas.

    Args:
        config: properties `schema.registry.*`, and properties of a Kafka client for timeouts.
    Attributes:
        client: requests to the registry, such as `subjects()` and `register()`.
    Raises: ConfigError: the URL is missing, or a property is unknown or malformed.
    """

    def __init__(self, config: Mapping[str, object]) -> None:
        self._opened = open_registry(config, system_runtime().clock)
        self.client: SchemaRegistry = self._opened.client
        self._lock = threading.Lock()

    def avro(
        self, schema: str | None = None, *, subject: str = "topic", is_key: bool = False, reader: str | None = None
    ) -> RegistrySerde:
        """Return the format for Avro.

        Args:
            schema: schema to register under the subject before the first write. None uses the schema of the subject.
            subject: schema of written values: `topic` (TOPIC-value, or TOPIC-key), `record:NAME`, `topic-record:NAME`,
                `SUBJECT`, `SUBJECT@VERSION`, or `id:N`. Read values have a schema ID.
            is_key: whether the format is for keys.
            reader: schema to read all values with.
        Raises: ValueError: the subject is malformed.
        """
        return self._serde(Form.AVRO, AVRO, schema, subject, is_key=is_key, reader=reader)

    def protobuf(self, schema: str | None = None, *, subject: str = "topic", is_key: bool = False) -> RegistrySerde:
        """Return the format for Protobuf. Arguments are as for `avro`."""
        return self._serde(Form.PROTOBUF, PROTOBUF, schema, subject, is_key=is_key)

    def json_schema(self, schema: str | None = None, *, subject: str = "topic", is_key: bool = False) -> RegistrySerde:
        """Return the format for JSON Schema, which checks written values. Arguments are as for `avro`."""
        return self._serde(Form.JSON_SCHEMA, JSON, schema, subject, is_key=is_key)

    def _serde(
        self, form: Form, kind: str, schema: str | None, subject: str, *, is_key: bool, reader: str | None = None
    ) -> RegistrySerde:
        return RegistrySerde(
            *self._opened.codecs(form, kind, schema, subject, is_key=is_key, reader=reader), self._lock
        )

    def close(self) -> None:
        """Close the connections to the registry."""
        self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
