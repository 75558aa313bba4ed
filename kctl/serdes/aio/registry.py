"""AsyncRegistry: formats with a schema registry whose requests are awaits of the event loop."""

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from kctl.client.aio.bridge import WouldWait, awaited, run
from kctl.client.aio.http import AwaitedHttpClient
from kctl.client.aio.surroundings import async_runtime
from kctl.client.errors import IllegalStateError
from kctl.client.runtime import Runtime
from kctl.serdes.decoder import Decoder, Form
from kctl.serdes.encoder import Encoder
from kctl.serdes.registry import AVRO, JSON, PROTOBUF, SchemaRegistry
from kctl.serdes.registry_formats import open_registry
from kctl.serdes.wire import Header

R = TypeVar("R")


class _SchemaRequests:
    """Requests of one registry, one at a time. Tasks that need the same schema share one request."""

    def __init__(self) -> None:
        self._turn: asyncio.Lock | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loads: dict[Hashable, asyncio.Task[object]] = {}

    async def run(self, call: Callable[[], R]) -> R:
        self._check_loop()
        assert self._turn is not None
        async with self._turn:
            return await run(call)

    async def load(self, schema: Hashable, call: Callable[[], object]) -> None:
        """Fetch a schema, or wait for another task that does. The fetch continues if this task is cancelled."""
        self._check_loop()
        loading = self._loads.get(schema)
        if loading is None:
            loading = self._loads[schema] = asyncio.ensure_future(self.run(call))
            loading.add_done_callback(partial(self._end, schema))
        try:
            await asyncio.shield(loading)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if loading.cancelled() and task is not None and not task.cancelling():
                raise IllegalStateError("the registry was closed while a task waited for a schema") from None
            raise

    async def end_loads(self) -> None:
        self._check_loop()
        loads = list(self._loads.values())
        for loading in loads:
            loading.cancel()
        await asyncio.gather(*loads, return_exceptions=True)

    def _end(self, schema: Hashable, loading: "asyncio.Task[object]") -> None:
        if self._loads.get(schema) is loading:
            del self._loads[schema]

    def _check_loop(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._turn, self._loop, self._loads = asyncio.Lock(), loop, {}


class AsyncRegistrySerde:
    """Format of JSON values with a schema ID. Waits only for schemas that were not used before."""

    def __init__(self, encoder: Encoder, decoder: Decoder, requests: _SchemaRequests) -> None:
        self._encoder = encoder
        self._decoder = decoder
        self._requests = requests

    async def serialize(self, value: Any, topic: str) -> bytes:
        """Return the bytes of a value.

        Raises: EncodeError; KafkaError: the registry failed a request.
        """
        encode = partial(self._encoder.encode_value, value, topic)
        try:
            return encode()
        except WouldWait:
            await self._requests.load((self._encoder, topic), partial(self._encoder.schema_of, topic))
        return await self._after_load(encode)

    async def deserialize(self, data: bytes, topic: str, headers: Sequence[Header]) -> Any:  # noqa: ARG002
        """Return the value of bytes.

        Raises: DecodeError; KafkaError: the registry failed a request.
        """
        decode = partial(self._decoder.decode, data, headers)
        try:
            decoded = decode()
        except WouldWait:
            schema = self._decoder.schema_of(data, headers)
            assert schema is not None  # the bytes alone need no registry
            await self._requests.load((self._decoder, schema), partial(self._decoder.load, schema))
            decoded = await self._after_load(decode)
        assert decoded is not None  # the form is not AUTO
        return decoded.value

    async def _after_load(self, call: Callable[[], R]) -> R:
        try:
            return call()
        except WouldWait:  # the cache has dropped the schema in the meantime
            return await self._requests.run(call)


class AsyncSchemaRegistry:
    """Requests to a schema registry, with the methods of `SchemaRegistry`.

    Tasks of one event loop may share it. Requests run one after another.
    """

    def __init__(self, client: SchemaRegistry, requests: _SchemaRequests) -> None:
        self._client = client
        self._requests = requests

    async def _run(self, call: Callable[[], R]) -> R:
        return await self._requests.run(call)

    schema = awaited(SchemaRegistry.schema)
    subjects = awaited(SchemaRegistry.subjects)
    versions = awaited(SchemaRegistry.versions)
    version = awaited(SchemaRegistry.version)
    register = awaited(SchemaRegistry.register)
    check = awaited(SchemaRegistry.check)
    delete = awaited(SchemaRegistry.delete)
    compatibility = awaited(SchemaRegistry.compatibility)
    set_compatibility = awaited(SchemaRegistry.set_compatibility)


class AsyncRegistry:
    """Schema registry for coroutines, and formats with its schemas.

    Tasks of one event loop may share it.

    Args:
        config: as for `Registry`.
    Attributes:
        client: requests to the registry, such as `await client.subjects()`.
    Raises: ConfigError: the URL is missing, or a property is unknown or malformed.
    """

    def __init__(self, config: Mapping[str, object], runtime: Runtime | None = None) -> None:
        made, driver = async_runtime(runtime)
        self._opened = open_registry(config, made.clock, partial(AwaitedHttpClient, driver=driver))
        self._requests = _SchemaRequests()
        self.client = AsyncSchemaRegistry(self._opened.client, self._requests)

    def avro(
        self, schema: str | None = None, *, subject: str = "topic", is_key: bool = False, reader: str | None = None
    ) -> AsyncRegistrySerde:
        """Return the format for Avro. Args: as for `Registry.avro`."""
        return self._serde(Form.AVRO, AVRO, schema, subject, is_key=is_key, reader=reader)

    def protobuf(
        self, schema: str | None = None, *, subject: str = "topic", is_key: bool = False
    ) -> AsyncRegistrySerde:
        """Return the format for Protobuf. Arguments are as for `avro`."""
        return self._serde(Form.PROTOBUF, PROTOBUF, schema, subject, is_key=is_key)

    def json_schema(
        self, schema: str | None = None, *, subject: str = "topic", is_key: bool = False
    ) -> AsyncRegistrySerde:
        """Return the format for JSON Schema, which checks written values. Arguments are as for `avro`."""
        return self._serde(Form.JSON_SCHEMA, JSON, schema, subject, is_key=is_key)

    def _serde(
        self, form: Form, kind: str, schema: str | None, subject: str, *, is_key: bool, reader: str | None = None
    ) -> AsyncRegistrySerde:
        made = self._opened.codecs(form, kind, schema, subject, is_key=is_key, reader=reader)
        return AsyncRegistrySerde(*made, self._requests)

    async def close(self) -> None:
        """Close the connections to the registry. Tasks that wait for a schema get IllegalStateError."""
        try:
            await self._requests.end_loads()
        finally:
            self._opened.client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
