"""HttpClient before it connects: which logins go over plain HTTP."""

import ssl
from collections.abc import Callable

import pytest

from kctl.client.clock import ManualClock, Timer
from kctl.client.config import ClientConfig, RegistryConfig
from kctl.client.errors import ConfigError, DnsError
from kctl.client.http import HttpClient, HttpLimits
from kctl.client.oauth import fetch_token
from kctl.client.runtime import Address
from kctl.client.security.sasl.oauthbearer import credentials_of
from kctl.serdes.registry import SchemaRegistry

CLOCK = ManualClock()
REMOTE = ("http://server", "http://10.0.0.1:81", "http://localhost.evil", "http://127.0.0.1.evil", "http://[fe80::1]")
LOCAL = ("http://localhost:1", "http://127.0.0.1", "http://127.9.9.9", "http://[::1]", "https://server")
REGISTRY_LOGINS = (
    {"basic.auth.user.info": "me:secret"},
    {"bearer.auth.token": "secret"},
    {
        "bearer.auth.credentials.source": "OAUTHBEARER",
        "bearer.auth.issuer.endpoint.url": "{}/token",
        "bearer.auth.client.id": "me",
        "bearer.auth.client.secret": "secret",
    },
)
ALLOW = {"token": "sasl.oauthbearer.token.endpoint.allow.http", "registry": "schema.registry.allow.http.login"}


class NoAddress:
    """A host that does not resolve: the request was on its way."""

    def __init__(self) -> None:
        self.done = True
        self.addresses: list[Address] = []
        self.error = "does not exist"


class NoNames:
    """Resolves no host."""

    def lookup(self, _host: str, _port: int, on_done: Callable[[], None]) -> NoAddress:
        on_done()
        return NoAddress()

    def run(self, work: Callable[[], None], on_done: Callable[[], None]) -> NoAddress:
        raise AssertionError("HttpClient reads no files")


def timer() -> Timer:
    return Timer(CLOCK, 1000)


def send_token_login(http: HttpClient, url: str, allow: dict[str, str]) -> None:
    given = {"bootstrap.servers": "a:1", "sasl.oauthbearer.token.endpoint.url": f"{url}/token"}
    login = {"sasl.oauthbearer.client.id": "me", "sasl.oauthbearer.client.secret": "secret"}
    credentials = credentials_of(ClientConfig.parse({**given, **login, **allow}))
    assert credentials is not None
    fetch_token(http, credentials, timer(), setting="sasl.oauthbearer.token.endpoint.url")


def send_registry_login(http: HttpClient, url: str, allow: dict[str, str], login: dict[str, str]) -> None:
    written = {name: value.format(url) for name, value in login.items()}
    config = RegistryConfig.parse({"schema.registry.url": url, **written, **allow})
    SchemaRegistry(config, http, timer).subjects()


SENDERS = [("token", send_token_login)] + [
    ("registry", lambda http, url, allow, login=login: send_registry_login(http, url, allow, login))
    for login in REGISTRY_LOGINS
]


@pytest.mark.parametrize(("kind", "send"), SENDERS)
def test_login_goes_over_plain_http_only_if_a_property_allows_it(
    kind: str, send: Callable[[HttpClient, str, dict[str, str]], None]
) -> None:
    http = HttpClient(CLOCK, NoNames(), HttpLimits(100, 100), ssl.create_default_context)
    for url in REMOTE:
        with pytest.raises(ConfigError, match=rf"over plain HTTP: use https, or set {ALLOW[kind]}=true$") as raised:
            send(http, url, {})
        assert "secret" not in str(raised.value)
        with pytest.raises(DnsError):
            send(http, url, {ALLOW[kind]: "true"})
    for url in LOCAL:
        with pytest.raises(DnsError):
            send(http, url, {})


def test_request_without_a_login_goes_over_plain_http() -> None:
    http = HttpClient(CLOCK, NoNames(), HttpLimits(100, 100), ssl.create_default_context)
    with pytest.raises(DnsError):
        send_registry_login(http, REMOTE[0], {}, {})
