"""FetchedTokens: when a token is fetched, what a failure does, and what a callback may return."""

from collections.abc import Callable

import pytest

from kctl.client.clock import ManualClock
from kctl.client.config import ClientConfig
from kctl.client.errors import (
    AuthenticationError,
    ConfigError,
    ConnectionLost,
    ConnectionRefused,
    TlsError,
    WrongPeerError,
)
from kctl.client.network.fetched_tokens import FetchedTokens, fetched_tokens
from kctl.client.network.renewed import LEAST_REFRESH_MS
from kctl.client.oauth import AccessToken
from kctl.client.runtime import Lookup

SECRET = "s3cret"


class Endpoint:
    """Gives tokens with numbers; `error` is raised in place of one."""

    def __init__(self, lifetime_ms: int | None) -> None:
        self.lifetime_ms = lifetime_ms
        self.asked = 0
        self.error: Exception | None = None

    def __call__(self) -> AccessToken:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return AccessToken(f"t{self.asked}", self.lifetime_ms)


class Threads:
    """Runs work in "helper threads" when it is told to."""

    def __init__(self) -> None:
        self.started: list[tuple[Callable[[], None], Callable[[], None]]] = []

    def run(self, work: Callable[[], None], on_done: Callable[[], None]) -> Lookup:
        self.started.append((work, on_done))
        return None  # type: ignore[return-value]  # nobody waits for it

    def lookup(self, host: str, port: int, on_done: Callable[[], None]) -> Lookup:
        raise AssertionError

    def finish(self) -> None:
        for work, on_done in self.started:
            work()
            on_done()
        self.started.clear()


def test_token_is_fetched_once_until_it_is_due() -> None:
    clock, endpoint = ManualClock(), Endpoint(100_000)
    tokens = FetchedTokens(endpoint, clock, {"a": "b"})
    tokens.refresh()
    clock.advance(79_999)
    tokens.refresh()
    assert (tokens.current().value, tokens.current().extensions, endpoint.asked) == ("t1", {"a": "b"}, 1)
    clock.advance(1)
    tokens.refresh()
    assert tokens.current().value == "t2"


def test_next_token_is_fetched_when_it_is_due_beside_the_one_at_hand() -> None:
    clock, endpoint, threads = ManualClock(), Endpoint(100_000), Threads()
    tokens = FetchedTokens(endpoint, clock, {})
    tokens.refresh_with(threads)
    done: list[int] = []
    tokens.refresh()
    due_ms = tokens.next_deadline_at_ms()
    tokens.advance(due_ms - 1, lambda: done.append(1))
    assert (due_ms - clock.now_ms(), threads.started) == (80_000, [])
    clock.advance(80_000)
    for _ in range(2):
        tokens.advance(due_ms, lambda: done.append(1))
    assert (tokens.current().value, len(threads.started), done) == ("t1", 1, [])
    threads.finish()
    assert (tokens.current().value, done, tokens.next_deadline_at_ms()) == ("t2", [1], due_ms + 80_000)


def test_failure_is_reported_until_a_token_is_there() -> None:
    clock, endpoint = ManualClock(), Endpoint(None)
    tokens = FetchedTokens(endpoint, clock, {})
    endpoint.error = ConnectionRefused("id:80: connection refused")
    tokens.refresh()
    with pytest.raises(ConnectionLost, match="cannot get an OAUTHBEARER token: id:80: connection refused"):
        tokens.current()
    endpoint.error = None
    tokens.refresh()
    clock.advance(10**12)
    assert tokens.current().value == "t2"


def test_failed_refresh_keeps_the_token_until_it_expires() -> None:
    clock, endpoint = ManualClock(), Endpoint(10_000)
    tokens = FetchedTokens(endpoint, clock, {})
    tokens.get()
    endpoint.error = ConnectionRefused("refused")
    clock.advance(9_000)
    tokens.refresh()
    assert tokens.current().value == "t1"
    clock.advance(1_000)
    with pytest.raises(ConnectionLost, match="refused"):
        tokens.current()


def test_refusal_of_the_endpoint_is_one_of_the_login() -> None:
    endpoint = Endpoint(None)
    tokens = FetchedTokens(endpoint, ManualClock(), {})
    for refusal in (AuthenticationError("unknown client"), WrongPeerError("no token endpoint"), TlsError("untrusted")):
        endpoint.error = refusal
        tokens.get()
        with pytest.raises(AuthenticationError, match=str(refusal)):
            tokens.current()


def test_connection_waits_for_no_token_while_one_is_valid() -> None:
    clock, endpoint = ManualClock(), Endpoint(100_000)
    tokens = FetchedTokens(endpoint, clock, {})
    tokens.get()
    clock.advance(99_999)
    tokens.get()
    assert (tokens.current().value, endpoint.asked) == ("t1", 1)
    clock.advance(1)
    tokens.get()
    assert (tokens.current().value, endpoint.asked) == ("t2", 2)


def test_connection_asks_again_once_the_token_has_expired() -> None:
    clock, endpoint = ManualClock(), Endpoint(10_000)
    tokens = FetchedTokens(endpoint, clock, {})
    tokens.get()
    endpoint.error = ConnectionRefused("refused")
    clock.advance(9_999)
    tokens.refresh()
    endpoint.error = None
    clock.advance(1)
    tokens.get()
    assert tokens.current().value == "t3"


@pytest.mark.parametrize(("lifetime_ms", "pause_ms"), [(10_000, 1_000), (60_000, 6_000), (3_600_000, 10_000)])
def test_failed_refresh_is_repeated_before_the_token_expires(lifetime_ms: int, pause_ms: int) -> None:
    clock, endpoint = ManualClock(), Endpoint(lifetime_ms)
    tokens = FetchedTokens(endpoint, clock, {})
    tokens.get()
    endpoint.error = ConnectionRefused("refused")
    clock.advance(tokens.next_deadline_at_ms() - clock.now_ms())
    tokens.refresh()
    assert tokens.next_deadline_at_ms() - clock.now_ms() == pause_ms


def config(**properties: object) -> ClientConfig:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    base = {"bootstrap.servers": "a:1", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
    return ClientConfig.parse({**base, **given})


def test_callback_returns_a_token_or_one_that_expires() -> None:
    clock = ManualClock()
    for returned in ("abc", ("abc", clock.wall_ms() / 1000 + 10), ("abc", None)):
        tokens = fetched_tokens(config(sasl_oauthbearer_token_callback=lambda given=returned: given), clock)
        assert tokens is not None
        tokens.get()
        assert tokens.current().value == "abc"
    for wrong in (None, 5, ("a", "b"), ("a", 1, 2)):
        tokens = fetched_tokens(config(sasl_oauthbearer_token_callback=lambda given=wrong: given), clock)
        assert tokens is not None
        tokens.get()
        with pytest.raises(AuthenticationError, match="must return a token"):
            tokens.current()


def test_callback_that_raises_is_the_reason() -> None:
    def fail() -> str:
        raise ValueError("vault is sealed")

    tokens = fetched_tokens(config(sasl_oauthbearer_token_callback=fail), ManualClock())
    assert tokens is not None
    tokens.get()
    with pytest.raises(AuthenticationError, match="vault is sealed"):
        tokens.current()


def test_callback_on_the_command_line_is_refused() -> None:
    with pytest.raises(ConfigError, match="use a Python function"):
        config(sasl_oauthbearer_token_callback="my.function")


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        ({"sasl.oauthbearer.token.endpoint.url": "https://id/token"}, "a token endpoint needs"),
        ({"sasl.oauthbearer.token.endpoint.url": "id/token", "sasl.oauthbearer.client.id": "a"}, "invalid URL"),
    ],
)
def test_incomplete_endpoint_is_refused_when_the_client_is_made(properties: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        fetched_tokens(config(**{name.replace(".", "_"): value for name, value in properties.items()}), ManualClock())


def test_file_and_other_mechanisms_need_no_fetching() -> None:
    assert fetched_tokens(config(sasl_oauthbearer_token_endpoint_url="file:///x"), ManualClock()) is None
    assert fetched_tokens(ClientConfig.parse({"bootstrap.servers": "a:1"}), ManualClock()) is None


@pytest.mark.parametrize("lifetime_ms", [0, 1, 1000])
def test_tokens_of_short_lifetimes_are_not_fetched_without_a_pause(lifetime_ms: int) -> None:
    clock, endpoint, threads = ManualClock(), Endpoint(lifetime_ms), Threads()
    tokens = FetchedTokens(endpoint, clock, {})
    tokens.refresh_with(threads)
    tokens.get()
    assert tokens.next_deadline_at_ms() == clock.now_ms() + LEAST_REFRESH_MS
    tokens.advance(clock.now_ms(), lambda: None)
    assert threads.started == []
    clock.advance(lifetime_ms)
    tokens.get()  # a connection is dialled: now
    assert endpoint.asked == 2
