"""FetchedTokens: OAUTHBEARER tokens that take time to get, from a token endpoint or a callback of the application.

A helper thread gets a token before a connection is dialled, under its connect timeout, and the next one once
REFRESH_PART of its lifetime has passed, so that the renewal of a session (KIP-368) finds a new token. The network
thread never waits for one, and no connection waits for the next one while the one at hand is valid. Thread-safe.
Shown by tests/unit/network/test_fetched_tokens.py and tests/broker/test_oauth_login.py.

Source: KIP-768, KIP-255. Differs: Java has a thread for each login, here the network loop starts the helper.
"""

import threading
from collections.abc import Callable

from kctl.client.clock import FOREVER_MS, Clock, Timer
from kctl.client.config import ClientConfig
from kctl.client.errors import (
    AuthenticationError,
    ConfigError,
    ConnectionLost,
    KafkaTimeoutError,
    TlsError,
    TransportError,
    WrongPeerError,
)
from kctl.client.oauth import AccessToken, ClientCredentials, fetch_token
from kctl.client.runtime import Resolver
from kctl.client.security.sasl.oauthbearer import Token, credentials_of, token_extensions

REFRESH_PART = 0.8
"""Of a token's lifetime, as Java's sasl.login.refresh.window.factor."""
RETRY_MS = 10_000
"""After a token could not be had; sooner where the one at hand expires sooner."""
LEAST_REFRESH_MS = 1_000
"""The next token is not asked for sooner, whatever the lifetime: an endpoint is not flooded with requests."""
_REFUSALS = (AuthenticationError, TlsError, WrongPeerError)
"""Errors of an endpoint that responded: most likely a mistake in the configuration."""


class FetchedTokens:
    """The token of one client.

    Args:
        fetch: gets a token; blocks, and raises KafkaError.
        extensions: SASL extensions to send along.
    """

    def __init__(self, fetch: Callable[[], AccessToken], clock: Clock, extensions: dict[str, str]) -> None:
        self._fetch = fetch
        self._clock = clock
        self._extensions = extensions
        self._lock = threading.Lock()
        self._token: AccessToken | None = None
        self._refresh_at_ms = self._expires_at_ms = 0
        self._error: Exception | None = None
        self._resolver: Resolver | None = None
        self._is_refreshing = False

    def get(self) -> None:
        """Get a token unless the one at hand is valid; one that fails is reported by `current`."""
        if not self._is_valid():
            self._get_unless(self._is_valid)

    def refresh(self) -> None:
        """Get the next token where it is due; until it is there, the one at hand is used."""
        self._get_unless(lambda: self._token is not None and self._clock.now_ms() < self._refresh_at_ms)

    def _is_valid(self) -> bool:
        return self._token is not None and self._clock.now_ms() < self._expires_at_ms

    def _get_unless(self, is_there: Callable[[], bool]) -> None:
        with self._lock:
            if is_there():  # another thread has got it meanwhile
                return
            asked_at_ms = self._clock.now_ms()
            try:
                token = self._fetch()
            except Exception as e:  # noqa: BLE001 - of the application's callback, which may raise anything
                self._error = e
                now_ms = self._clock.now_ms()
                left_ms = self._expires_at_ms - now_ms if self._token is not None else 0
                pause_ms = min(RETRY_MS, max(LEAST_REFRESH_MS, left_ms // 2)) if left_ms > 0 else RETRY_MS
                self._refresh_at_ms = now_ms + pause_ms
                return
            self._error = None
            lifetime_ms = FOREVER_MS if token.lifetime_ms is None else token.lifetime_ms
            self._expires_at_ms = asked_at_ms + lifetime_ms
            due_at_ms = asked_at_ms + int(lifetime_ms * REFRESH_PART)
            self._refresh_at_ms = max(due_at_ms, self._clock.now_ms() + LEAST_REFRESH_MS)
            self._token = token

    def refresh_with(self, resolver: Resolver) -> None:
        """Remember what runs work in helper threads."""
        self._resolver = resolver

    def advance(self, now_ms: int, on_done: Callable[[], None]) -> None:
        """Start to get the next token where it is due."""
        if now_ms < self.next_deadline_ms() or self._resolver is None:
            return

        def done() -> None:
            self._is_refreshing = False
            on_done()

        self._is_refreshing = True
        self._resolver.run(self.refresh, done)

    def next_deadline_ms(self) -> int:
        """Return when the next token is due."""
        return FOREVER_MS if self._token is None or self._is_refreshing else self._refresh_at_ms

    def current(self) -> Token:
        """Return the token at hand.

        Raises:
            AuthenticationError: there is none, with the reason.
            ConnectionLost: the endpoint did not respond. That is no refusal: the next connection asks it again.
        """
        if self._token is None and self._error is None:  # nothing was dialled through `refresh_with`: a probe
            self.get()
        token, now_ms = self._token, self._clock.now_ms()
        if token is None or now_ms >= self._expires_at_ms:
            why = "it has expired" if self._error is None else str(self._error)
            if isinstance(self._error, TransportError | KafkaTimeoutError) and not isinstance(self._error, _REFUSALS):
                raise ConnectionLost(f"OAUTHBEARER: no token: {why}")
            hint = self._error.hint if isinstance(self._error, AuthenticationError) else ""
            raise AuthenticationError(f"OAUTHBEARER: no token: {why}", hint=hint)
        return Token(token.value, self._extensions)


def fetched_tokens(config: ClientConfig, clock: Clock) -> FetchedTokens | None:
    """Return the tokens of a config that names a callback or an HTTP token endpoint; None for all other configs.

    Raises: ConfigError: the endpoint's URL, its client id or its secret is missing or invalid.
    """
    if not config.uses_sasl or config.sasl_mechanism != "OAUTHBEARER":
        return None
    extensions = token_extensions(config)
    callback = config.sasl_oauthbearer_token_callback
    if callback is not None:
        return FetchedTokens(lambda: _of_callback(callback, clock), clock, extensions)
    if config.sasl_oauthbearer_method == "aws_msk_iam":
        region = _region_of(config)
        return FetchedTokens(lambda: _of_aws(config, region, clock), clock, extensions)
    credentials = credentials_of(config)
    if credentials is None:
        return None
    return FetchedTokens(lambda: _of_endpoint(credentials, config, clock), clock, extensions)


def _of_endpoint(credentials: ClientCredentials, config: ClientConfig, clock: Clock) -> AccessToken:
    from kctl.client.http import HttpClient, HttpLimits
    from kctl.client.network.resolver import ThreadResolver
    from kctl.client.security import TlsSettings

    connect_ms = config.sasl_login_connect_timeout_ms or config.socket_connection_setup_timeout_ms
    request_ms = config.sasl_login_read_timeout_ms or config.request_timeout_ms
    http = HttpClient(
        clock,
        ThreadResolver(),
        HttpLimits(connect_ms, request_ms),
        lambda: TlsSettings.from_config(config).context(),
    )
    try:
        return fetch_token(http, credentials, Timer(clock, config.socket_connection_setup_timeout_ms))
    finally:
        http.close()


def _region_of(config: ClientConfig) -> str:
    host = config.bootstrap_servers[0].host if config.bootstrap_servers else ""
    name, _, domain = host.removesuffix(".").partition(".amazonaws.com")
    region = config.aws_region or (name.rpartition(".")[2] if domain in ("", ".cn") and name != host else "")
    if not region:
        raise ConfigError("aws_msk_iam needs aws.region: the name of the first server has none", key="aws.region")
    return region


def _of_aws(config: ClientConfig, region: str, clock: Clock) -> AccessToken:
    from kctl.client.aws_msk import find_credentials, msk_token  # wanted for this login alone

    return msk_token(find_credentials(config.aws_profile), region, clock.wall_ms())


def _of_callback(callback: Callable[[], object], clock: Clock) -> AccessToken:
    given = callback()
    value, expires_at_s = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    if not isinstance(value, str) or not (expires_at_s is None or isinstance(expires_at_s, int | float)):
        raise AuthenticationError("sasl.oauthbearer.token.callback returns a token, or (token, expires_at_s)")
    if expires_at_s is None:
        return AccessToken(value, None)
    return AccessToken(value, max(0, int(expires_at_s * 1000) - clock.wall_ms()))
