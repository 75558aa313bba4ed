"""SchemaStore: schemas of a registry, cached in memory.

Schema IDs do not change their meaning for one login, so entries do not expire. Another login may get other schemas, so
nothing is stored on disk. A failed request is repeated after RETRY_MS at the earliest. If the registry does not
respond, nothing is sent for RETRY_MS, so the registry delays a command only once.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, TypeVar
from uuid import UUID

from kctl.client.clock import Clock
from kctl.client.errors import ApiTimeout, KafkaError, RequestTimeout, TransportError, WrongPeerError
from kctl.serdes.errors import SchemaError
from kctl.serdes.registry import PROTOBUF, Reference, Registered, Schema

V = TypeVar("V")
RETRY_MS = 30_000
MOST_SCHEMAS = 200
"""Maximum number of references of a schema, over all levels."""
MOST_IN_MEMORY = 1000
"""Maximum number of cached schemas, and of cached failures. The oldest entries are replaced."""
_ANY = ""


class Resolved(NamedTuple):
    """Schema with its references by name, in an order in which they can be parsed."""

    schema: Schema
    dependencies: tuple[tuple[str, Schema], ...] = ()


class Registry(Protocol):
    def one_timeout(self) -> AbstractContextManager[None]: ...

    def schema(self, schema: int | UUID, *, serialized: bool = False) -> Schema: ...

    def version(self, subject: str, version: int | str = "latest", *, serialized: bool = False) -> Registered: ...


class SchemaStore:
    """Cache of the schemas of one registry and login."""

    def __init__(self, registry: Registry, clock: Clock) -> None:
        self._registry = registry
        self._clock = clock
        self._schemas: dict[str, Schema] = {}
        self._failed: dict[str, tuple[int, KafkaError]] = {}

    def resolve(self, schema: int | UUID) -> Resolved:
        """Return a schema with its references, within one timeout. Protobuf is in serialized form.

        Raises: KafkaError: the registry failed a request, possibly a recent one.
        """
        with self._registry.one_timeout():
            found = self._kept(f"id-{schema}", lambda: self._registry.schema(schema))
            if found.type == PROTOBUF:
                found = self._kept(f"id-{schema}-serialized", lambda: self._registry.schema(schema, serialized=True))
            return self.with_references(found)

    def with_references(self, schema: Schema) -> Resolved:
        """Return a schema with its references.

        Raises: SchemaError: too many references, or a cycle; KafkaError: the registry failed a request.
        """
        found: dict[str, Schema] = {}
        with self._registry.one_timeout():
            self._collect(schema, found, ())
        return Resolved(schema, tuple(found.items()))

    def _collect(self, schema: Schema, found: dict[str, Schema], above: tuple[Reference, ...]) -> None:
        for reference in schema.references:
            if reference in above:
                raise SchemaError(f"schema {reference.subject} version {reference.version} refers to itself")
            if reference.name in found:
                continue
            if len(found) + len(above) >= MOST_SCHEMAS:
                raise SchemaError(f"the schema refers to more than {MOST_SCHEMAS} others")
            referred = self._referred(reference, serialized=schema.type == PROTOBUF)
            self._collect(referred, found, (*above, reference))
            found[reference.name] = referred

    def _referred(self, reference: Reference, *, serialized: bool) -> Schema:
        subject, version = reference.subject, reference.version
        name = f"version-{subject}-{version}{'-serialized' if serialized else ''}"
        return self._kept(name, lambda: self._registry.version(subject, version, serialized=serialized).schema)

    def _kept(self, name: str, fetch: Callable[[], Schema]) -> Schema:
        found = self._schemas.get(name)
        if found is None:
            found = self._fetched(name, fetch)
            _keep(self._schemas, name, found)
        return found

    def _fetched(self, name: str, fetch: Callable[[], Schema]) -> Schema:
        now_ms = self._clock.now_ms()
        for failed in (self._failed.get(name), self._failed.get(_ANY)):
            if failed is not None and now_ms < failed[0]:
                raise failed[1]
        try:
            return fetch()
        except KafkaError as e:
            is_down = isinstance(e, TransportError | RequestTimeout | ApiTimeout) and not isinstance(e, WrongPeerError)
            _keep(self._failed, _ANY if is_down else name, (self._clock.now_ms() + RETRY_MS, e))
            raise


def _keep(kept: dict[str, V], name: str, value: V) -> None:
    kept.pop(name, None)
    kept[name] = value
    if len(kept) > MOST_IN_MEMORY:
        del kept[next(iter(kept))]
