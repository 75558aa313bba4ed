"""SchemaRegistry: requests, logins, failover, and responses that are not what they should be."""

import json
from base64 import b64decode
from collections.abc import Callable
from typing import Any

import pytest

from kctl.client.clock import ManualClock, Timer
from kctl.client.config import RegistryConfig
from kctl.client.errors import ConfigError, ConnectionLost, ConnectionRefused, KafkaError, WrongPeerError
from kctl.client.http import HttpResponse
from kctl.serdes.errors import (
    IncompatibleSchemaError,
    RegistryDeniedError,
    RegistryError,
    RegistryLoginError,
    SchemaError,
    SchemaNotFoundError,
)
from kctl.serdes.registry import MOST_SCHEMA_CHARS, Reference, Schema, SchemaRegistry
from tests.support.registry.in_memory import InMemoryHttp, registry_of
from tests.support.registry.server import FakeRegistry

INT = Schema("AVRO", '"int"')


def record(*fields: str) -> Schema:
    return Schema(
        "AVRO", json.dumps({"type": "record", "name": "R", "fields": [{"name": f, "type": "int"} for f in fields]})
    )


@pytest.fixture
def http() -> InMemoryHttp:
    return InMemoryHttp({"one": FakeRegistry(), "two": FakeRegistry()})


def test_schema_is_registered_and_found_again(http: InMemoryHttp) -> None:
    registry = registry_of(http, ManualClock())
    number = registry.register("a/b value", record("x"))
    referring = Schema("JSON", "{}", (Reference("n", "a/b value", 1),))
    assert registry.register("other", referring) == number + 1
    assert registry.schema(number) == record("x")
    assert registry.schema(number + 1) == referring
    assert registry.version("a/b value", 1)[:3] == ("a/b value", 1, number)
    assert registry.subjects() == ["a/b value", "other"]
    assert registry.subjects(prefix="o") == ["other"]
    assert registry.versions("a/b value") == [1]
    assert registry.delete("a/b value") == [1]
    with pytest.raises(SchemaNotFoundError, match=r"http://one: Subject 'a/b value' not found\. \(HTTP 404, 40401\)"):
        registry.versions("a/b value")


def test_incompatible_schema_is_refused(http: InMemoryHttp) -> None:
    registry = registry_of(http, ManualClock())
    registry.register("s", record("x"))
    assert registry.check("s", record("x", "y")) == (False, ("a field has no default",))
    with pytest.raises(IncompatibleSchemaError):
        registry.register("s", record("x", "y"))
    registry.set_compatibility("NONE", "s")
    assert registry.compatibility("s") == "NONE"
    assert registry.compatibility() == "BACKWARD"
    assert registry.register("s", record("x", "y")) == 2


def test_user_of_property_or_url_logs_in(http: InMemoryHttp) -> None:
    registry_of(http, ManualClock(), basic_auth_user_info="me:p:w").subjects()
    assert b64decode(http.headers["Authorization"].removeprefix("Basic ")) == b"me:p:w"
    registry_of(http, ManualClock(), schema_registry_url="http://me:p%40w@one/").subjects()
    assert b64decode(http.headers["Authorization"].removeprefix("Basic ")) == b"me:p@w"
    assert http.asked[-1] == "GET one /subjects"
    registry_of(http, ManualClock(), basic_auth_user_info="me:\udcff").subjects()  # a variable that is not UTF-8
    assert b64decode(http.headers["Authorization"].removeprefix("Basic ")) == b"me:\xff"
    registry_of(http, ManualClock(), bearer_auth_token="t", bearer_auth_logical_cluster="lsrc-1").subjects()
    assert (http.headers["Authorization"], http.headers["target-sr-cluster"]) == ("Bearer t", "lsrc-1")


class TokenHttp(InMemoryHttp):
    """Registry with an endpoint of tokens t1, t2, ..., which are valid for 100 seconds.

    Attributes: rejected: tokens that the registry does not accept. used: token of each request.
    """

    def __init__(self) -> None:
        super().__init__({"one": FakeRegistry()})
        self.count = 0
        self.rejected: set[str] = set()
        self.used: list[str] = []

    def request(self, method: str, url: str, timer: Timer, **given: Any) -> HttpResponse:
        if url.startswith("http://tokens"):
            if isinstance(failure := self.failures.get("tokens"), KafkaError):
                raise failure
            self.count += 1
            return HttpResponse(200, "", {}, b'{"access_token":"t%d","expires_in":100}' % self.count)
        self.used.append(given["headers"]["Authorization"].removeprefix("Bearer "))
        if self.used[-1] in self.rejected:
            return HttpResponse(401, "no", {}, b"")
        return super().request(method, url, timer, **given)


def token_registry_of(http: TokenHttp, clock: ManualClock) -> SchemaRegistry:
    login = {"credentials_source": "OAUTHBEARER", "issuer_endpoint_url": "http://tokens/token"}
    login |= {"client_id": "me", "client_secret": "secret"}
    return registry_of(http, clock, **{f"bearer_auth_{name}": value for name, value in login.items()})


def test_token_is_renewed_before_its_end_and_used_until_then_if_that_fails() -> None:
    http, clock = TokenHttp(), ManualClock()
    registry = token_registry_of(http, clock)
    for wait_ms in (0, 79_999, 1):
        clock.advance(wait_ms)
        registry.subjects()
    assert http.used == ["t1", "t1", "t2"]
    http.failures["tokens"] = ConnectionRefused("connection refused")
    clock.advance(90_000)
    registry.subjects()
    assert http.used[-1] == "t2"
    clock.advance(10_000)
    with pytest.raises(ConnectionRefused):
        registry.subjects()
    del http.failures["tokens"]
    registry.subjects()
    assert http.used[-1] == "t3"


def test_token_that_the_registry_rejects_is_replaced_once() -> None:
    http = TokenHttp()
    registry = token_registry_of(http, ManualClock())
    registry.subjects()
    http.rejected = {"t1"}
    assert registry.register("s", INT) == 1
    assert http.used == ["t1", "t1", "t2"]
    http.rejected = {"t2", "t3"}
    with pytest.raises(RegistryLoginError):
        registry.subjects()
    assert http.used[3:] == ["t2", "t3"]


def test_new_token_that_the_registry_rejects_is_not_replaced() -> None:
    http = TokenHttp()
    http.rejected = {"t1"}
    with pytest.raises(RegistryLoginError):
        token_registry_of(http, ManualClock()).subjects()
    assert http.count == 1


def test_next_url_is_asked_where_one_fails_and_first_from_then_on(http: InMemoryHttp) -> None:
    registry = registry_of(http, ManualClock(), schema_registry_url="http://one,http://two")
    http.failures["one"] = ConnectionRefused("connection refused")
    registry.register("s", INT)
    assert registry.versions("s") == [1]
    assert http.asked == [
        "POST one /subjects/s/versions",
        "POST two /subjects/s/versions",
        "GET two /subjects/s/versions",
    ]
    http.failures["two"] = HttpResponse(503, "Unavailable", {}, b"")
    with pytest.raises(ConnectionRefused):
        registry.versions("s")
    assert http.setting == "schema.registry.url"


@pytest.mark.parametrize("change", ["register", "delete", "set_compatibility"])
def test_change_without_a_response_is_unknown_and_does_not_go_to_the_next_url(http: InMemoryHttp, change: str) -> None:
    registry = registry_of(http, ManualClock(), schema_registry_url="http://one,http://two")
    http.failures["one"] = ConnectionLost("the server closed the connection")
    calls: dict[str, Callable[[], object]] = {
        "register": lambda: registry.register("s", INT),
        "delete": lambda: registry.delete("s"),
        "set_compatibility": lambda: registry.set_compatibility("FULL"),
    }
    with pytest.raises(ConnectionLost) as lost:
        calls[change]()
    assert (lost.value.outcome_unknown, len(http.asked)) == (True, 1)
    http.asked.clear()
    assert registry.compatibility() == "BACKWARD", "a request that changes nothing goes to the next URL"
    assert len(http.asked) == 2


def test_delete_that_a_server_fails_does_not_go_to_the_next_url(http: InMemoryHttp) -> None:
    registry = registry_of(http, ManualClock(), schema_registry_url="http://one,http://two")
    http.failures["one"] = HttpResponse(500, "Internal", {}, b"")
    with pytest.raises(RegistryError, match="HTTP 500"):
        registry.delete("s")


def test_messages_of_a_check_do_not_repeat_the_login() -> None:
    http = InMemoryHttp({"one": FakeRegistry()})
    registry = registry_of(http, ManualClock(), bearer_auth_token="canary-1")
    http.failures["one"] = HttpResponse(200, "OK", {}, b'{"is_compatible":false,"messages":["you are canary-1"]}')
    assert registry.check("s", INT) == (False, ("you are ***",))


@pytest.mark.parametrize(
    ("status", "body", "kind", "text"),
    [
        (401, b'{"error_code":401,"message":"Unauthorized"}', RegistryLoginError, r"Unauthorized \(HTTP 401\)"),
        (403, b"<html>", RegistryDeniedError, r"no \(HTTP 403\)"),
        (500, b'{"error_code":50001,"message":"a\x1b[31m\\nb"}', RegistryError, r"\(HTTP 500"),
        (404, b"", SchemaNotFoundError, r"HTTP 404"),
        (200, b"<html>", WrongPeerError, "not JSON"),
        (200, b"[" * 100_000, WrongPeerError, "not JSON"),
        (200, b"{}", WrongPeerError, "no valid schema"),
        (200, b'{"schema":5}', WrongPeerError, "no valid schema"),
        (200, b'{"schema":"x","references":[{"name":"n"}]}', WrongPeerError, "no valid subject"),
        (
            200,
            b'{"schema":"x","references":[{"name":"n","subject":"s","version":-1}]}',
            WrongPeerError,
            "valid version",
        ),
        (200, b'{"schema":"x","schemaType":[]}', WrongPeerError, "no valid schema"),
        (200, rb'{"schema":"\ud800"}', WrongPeerError, "not JSON"),
    ],
)
def test_response_that_is_no_schema_is_an_error_with_the_url(
    http: InMemoryHttp, status: int, body: bytes, kind: type[KafkaError], text: str
) -> None:
    http.failures["one"] = HttpResponse(status, "no", {}, body)
    with pytest.raises(kind, match=text) as raised:
        registry_of(http, ManualClock()).schema(1)
    assert "\x1b" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_huge_schema_is_refused(http: InMemoryHttp) -> None:
    http.failures["one"] = HttpResponse(200, "", {}, json.dumps({"schema": "x" * (MOST_SCHEMA_CHARS + 1)}).encode())
    with pytest.raises(SchemaError, match="more than the limit of"):
        registry_of(http, ManualClock()).schema(1)


@pytest.mark.parametrize(
    "url", ["registry:8081", "ftp://x", "http://", "http://x:99999", "http://a b", "http://x?y", ""]
)
def test_invalid_url_is_refused_by_its_property(http: InMemoryHttp, url: str) -> None:
    with pytest.raises(ConfigError, match=r"schema\.registry\.url") as raised:
        registry_of(http, ManualClock(), schema_registry_url=url)
    assert raised.value.key == RegistryConfig.schema_registry_url.name


def test_password_in_the_url_is_not_in_the_text_of_a_config() -> None:
    config = RegistryConfig.parse({"schema.registry.url": "http://me:hunter2@one,http://you:hunter3@two"})
    assert "hunter" not in repr(config)
    assert "http://me:***@one" in repr(config)
