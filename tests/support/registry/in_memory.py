"""A FakeRegistry without sockets: what HttpClient would return."""

import json
from collections.abc import Callable, Mapping

from kctl.client.clock import ManualClock, Timer
from kctl.client.config import RegistryConfig
from kctl.client.errors import ApiTimeout, ConnectionLost, KafkaError
from kctl.client.http import NO_PLAIN_LOGIN, HttpResponse, PlainLogin
from kctl.serdes.registry import SchemaRegistry
from kctl.serdes.schema_store import SchemaStore
from tests.support.registry.server import FakeRegistry


class InMemoryHttp:
    """Sends requests to registries by host name.

    Attributes:
        failures: by host, what a request there raises, or the response it gets.
        on_request: called with each request, as to let time pass.
    """

    def __init__(self, registries: Mapping[str, FakeRegistry]) -> None:
        self.registries = registries
        self.failures: dict[str, KafkaError | HttpResponse] = {}
        self.asked: list[str] = []
        self.headers: Mapping[str, str] = {}
        self.setting = ""
        self.on_request: Callable[[], None] = lambda: None

    def request(
        self,
        method: str,
        url: str,
        timer: Timer,
        *,
        setting: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        plain_login: PlainLogin = NO_PLAIN_LOGIN,
        is_change: bool = False,
    ) -> HttpResponse:
        """As HttpClient.request; every login is allowed. A change that gets a ConnectionLost was sent."""
        host, _, path = url.removeprefix("http://").partition("/")
        self.asked.append(f"{method} {host} /{path}")
        self.on_request()
        timer.update()
        if timer.is_expired:
            raise ApiTimeout("waiting for the registry", timeout_ms=timer.timeout_ms, elapsed_ms=timer.elapsed_ms)
        self.headers, self.setting = headers or {}, setting
        failure = self.failures.get(host)
        if isinstance(failure, KafkaError):
            failure.outcome_unknown = is_change and isinstance(failure, ConnectionLost)
            raise failure
        if failure is not None:
            return failure
        status, content = self.registries[host].answer(method, f"/{path}", None if body is None else json.loads(body))
        return HttpResponse(status, "", {}, json.dumps(content).encode())


def registry_of(http: InMemoryHttp, clock: ManualClock, **properties: str) -> SchemaRegistry:
    """Return a registry client on it; the names of properties have _ for the dots."""
    given = {name.replace("_", "."): value for name, value in properties.items()}
    config = RegistryConfig.parse({"schema.registry.url": "http://one", **given})
    return SchemaRegistry(config, http, lambda: Timer(clock, 60_000))  # type: ignore[arg-type]  # request() alone is used


class RegistryScene:
    """A registry without sockets, a clock that stands still, and what is made over them."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.fake = FakeRegistry()
        self.http = InMemoryHttp({"one": self.fake})

    def registry(self) -> SchemaRegistry:
        return registry_of(self.http, self.clock)

    def store(self) -> SchemaStore:
        return SchemaStore(self.registry(), self.clock)
