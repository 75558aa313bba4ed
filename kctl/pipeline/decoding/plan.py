"""DecodePlan: the readers' schemas of keys and values, resolved once on the driver and sent to the tasks.

Tasks request writers' schemas from the registry, once for each ID.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kctl.client.clock import SystemClock
from kctl.client.config import AdminConfig, RegistryConfig
from kctl.client.errors import ConfigError
from kctl.pipeline.references import resolve
from kctl.serdes.encoder import Target, parse_target
from kctl.serdes.errors import SchemaError
from kctl.serdes.registry import AVRO, JSON, PROTOBUF, SchemaRegistry
from kctl.serdes.schema_store import Resolved, SchemaStore
from kctl.serdes.system_registry import open_system_registry

AUTO = "auto"
FORMS = {AUTO: None, "avro": AVRO, "protobuf": PROTOBUF, "json-schema": JSON}
"""Schema type that each supported form requires."""
KEY, VALUE = "key", "value"
Properties = tuple[tuple[str, object], ...]


class SideRequest(NamedTuple):
    """Requested decoding of keys or values.

    Attributes:
        form: one of FORMS.
        target: the reader's schema. A subject may contain `{topic}`.
        message: Protobuf message. None for the first one of the file.
    """

    form: str
    target: Target
    message: str | None = None


class DecodeRequest(NamedTuple):
    """Requested decoding. If `key` or `value` is None, the column stays unchanged.

    Attributes:
        registry: properties of the schema registry, with secrets as references.
    """

    key: SideRequest | None
    value: SideRequest | None
    registry: Properties

    @property
    def text(self) -> str:
        sides = ((KEY, self.key), (VALUE, self.value))
        return ",".join(f"{name}={side.form}" for name, side in sides if side is not None)

    @property
    def is_for_one_topic(self) -> bool:
        return any("{topic}" in (side.target.subject or "") for side in (self.key, self.value) if side is not None)


class SidePlan(NamedTuple):
    reader: Resolved
    message: str | None


class DecodePlan(NamedTuple):
    """Decoding of the records of a topic. Secrets are references, so the plan may be pickled and logged.

    Attributes:
        limits: Kafka properties with the timeouts for the registry.
    """

    key: SidePlan | None
    value: SidePlan | None
    registry: Properties
    limits: Properties


def side_request(side: str, form: str, schema: str | None, message: str | None) -> SideRequest:
    """Return the requested decoding of keys or values.

    Args:
        schema: a subject, SUBJECT@VERSION, id:N, or topic, as in `kctl produce --encode`. None is topic.

    Raises: ConfigError: the form or the schema is invalid.
    """
    if form not in FORMS:
        raise ConfigError(f"invalid decode {side}={form[:80]!r}: use one of {', '.join(FORMS)}", key="decode")
    try:
        target = parse_target(schema or "topic", side)
    except ValueError as e:
        raise ConfigError(f"invalid {side} schema {str(schema)[:80]!r}: {e}", key="decodeSchema") from None
    if target.is_of_record:
        raise ConfigError(
            f"the {side} reader schema cannot be the schema of each record: use a subject or a schema ID",
            key="decodeSchema",
        )
    return SideRequest(form, target, message)


def plan_decoding(request: DecodeRequest, topic: str, properties: Mapping[str, object]) -> DecodePlan:
    """Return the plan for the records of a topic.

    Raises:
        SchemaError: a schema is invalid or does not have the type of the form.
    """
    limits = tuple((name, properties[name]) for name in _LIMITS if name in properties)
    store = make_store(request.registry, limits, one_timeout=True)
    try:
        key, value = _side_plan(store, KEY, request.key, topic), _side_plan(store, VALUE, request.value, topic)
        return DecodePlan(key, value, request.registry, limits)
    finally:
        store.registry.close()


def _side_plan(store: "RegistryStore", name: str, wanted: SideRequest | None, topic: str) -> SidePlan | None:
    if wanted is None:
        return None
    schema_id, subject, version = wanted.target
    subject = (subject or "").replace("{topic}", topic)
    if schema_id is None:
        schema_id = store.registry.version(subject, version).id
    reader = store.schemas.resolve(schema_id)
    kind = FORMS[wanted.form]
    if kind is not None and reader.schema.type != kind:
        raise SchemaError(f"the {name} schema of {subject or topic} has type {reader.schema.type}, expected {kind}")
    return SidePlan(reader, wanted.message)


_LIMITS = ("default.api.timeout.ms", "request.timeout.ms", "socket.connection.setup.timeout.ms")


class RegistryStore(NamedTuple):
    registry: SchemaRegistry
    schemas: SchemaStore


def make_store(registry: Properties, limits: Properties, *, one_timeout: bool = False) -> RegistryStore:
    """Return a registry with its schema store.

    Args:
        one_timeout: share one API timeout among all calls. If False, each call has its own.
    """
    clock = SystemClock()
    config = RegistryConfig.parse(resolve(dict(registry)))
    opened = open_system_registry(
        config, AdminConfig.parse({"bootstrap.servers": "unused:9092", **dict(limits)}), clock, one_timeout=one_timeout
    )
    return RegistryStore(opened, SchemaStore(opened, clock))


_stores: dict[tuple[Properties, Properties], SchemaStore] = {}


def task_store(plan: DecodePlan) -> SchemaStore:
    key = plan.registry, plan.limits
    if key not in _stores:
        _stores[key] = make_store(*key).schemas
    return _stores[key]


def check_registry(registry: Mapping[str, object]) -> None:
    """Raise ConfigError if the registry URL is missing or a property is unknown."""
    known = RegistryConfig.names()
    for name in registry:
        if name not in known:
            raise ConfigError(f"unknown schema registry property {name[:80]!r}", key=name)
    if not registry.get(RegistryConfig.schema_registry_url.name):
        raise ConfigError(
            "decoding needs a schema registry: set schema.registry.url to its URL", key="schema.registry.url"
        )
