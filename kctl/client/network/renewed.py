"""Renewed: a token or ticket for authentication, replaced before it expires. Thread-safe.

A helper thread gets the first one before a connection, within the setup timeout. It gets the next one after
REFRESH_PART of the lifetime, for the renewal of a session (KIP-368). The network thread never waits for it. A
connection waits only if the current token or ticket is not valid.
"""

import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from kctl.client.clock import FOREVER_MS, Clock
from kctl.client.errors import (
    AuthenticationError,
    KafkaTimeoutError,
    LoginServerUnavailable,
    TlsError,
    TransportError,
    WrongPeerError,
)
from kctl.client.runtime import Resolver

REFRESH_PART = 0.8
"""Part of the lifetime after which to get the next token or ticket, as Java's sasl.login.refresh.window.factor."""
RETRY_MS = 10_000
"""Wait after a failed attempt; shorter if the current token or ticket expires sooner."""
LEAST_REFRESH_MS = 1_000
"""Minimum wait before the next request, regardless of the lifetime, to protect the server."""
_REFUSALS = (AuthenticationError, TlsError, WrongPeerError)
"""Errors of a server that responded, which are most likely errors of the configuration."""


class Expiring(Protocol):
    @property
    def lifetime_ms(self) -> int | None:
        """Lifetime since the start of the request; None if it does not expire."""
        ...


T = TypeVar("T", bound=Expiring)


class Renewal(Generic[T]):
    """The current token or ticket, and when the next one is due. Not thread-safe.

    Attributes:
        found: the current one, which may have expired.
        error: error of the last try, if it failed.
    """

    def __init__(self) -> None:
        self.found: T | None = None
        self.error: Exception | None = None
        self.due_at_ms = self._expires_at_ms = 0

    def is_valid(self, now_ms: int) -> bool:
        return self.found is not None and now_ms < self._expires_at_ms

    def is_due(self, now_ms: int) -> bool:
        return not self.is_valid(now_ms) or now_ms >= self.due_at_ms

    def succeeded(self, found: T, asked_at_ms: int, now_ms: int) -> None:
        self.error = None
        lifetime_ms = FOREVER_MS if found.lifetime_ms is None else found.lifetime_ms
        self._expires_at_ms = asked_at_ms + lifetime_ms
        self.due_at_ms = max(asked_at_ms + int(lifetime_ms * REFRESH_PART), now_ms + LEAST_REFRESH_MS)
        self.found = found

    def renew(self, fetch: Callable[[], T], now_ms: Callable[[], int], failure: type[Exception] = Exception) -> None:
        """Fetch the next one. After an exception of type `failure`, keep the current one."""
        asked_at_ms = now_ms()
        try:
            found = fetch()
        except failure as e:
            self.failed(e, now_ms())
        else:
            self.succeeded(found, asked_at_ms, now_ms())

    def failed(self, error: Exception, now_ms: int) -> None:
        self.error = error
        left_ms = self._expires_at_ms - now_ms
        self.due_at_ms = now_ms + (min(RETRY_MS, max(LEAST_REFRESH_MS, left_ms // 2)) if left_ms > 0 else RETRY_MS)


class Renewed(Generic[T]):
    """One token or ticket. Args: fetch: gets a new one; may block, and raises KafkaError."""

    def __init__(self, fetch: Callable[[], T], clock: Clock) -> None:
        self._fetch = fetch
        self._clock = clock
        self._lock = threading.Lock()
        self._renewal: Renewal[T] = Renewal()
        self._resolver: Resolver | None = None
        self._is_refreshing = False
        self._ended = 0
        """Number of finished attempts."""

    def get(self) -> None:
        """Get a token or ticket, unless the current one is valid; `at_hand` reports a failure.

        A failure in another thread also ends the wait, so that threads do not queue up if a server does not respond.
        """
        ended = self._ended
        if not self._is_valid():
            self._get_unless(lambda: self._is_valid() or self._ended != ended)

    def refresh(self) -> None:
        """Get the next one if it is due; until then the current one is used."""
        self._get_unless(lambda: not self._renewal.is_due(self._clock.now_ms()))

    def _is_valid(self) -> bool:
        return self._renewal.is_valid(self._clock.now_ms())

    def _get_unless(self, is_there: Callable[[], bool]) -> None:
        with self._lock:
            if is_there():  # another thread has got it
                return
            self._renewal.renew(self._fetch, self._clock.now_ms)  # the application's callback may raise anything
            self._ended += 1

    def refresh_with(self, resolver: Resolver) -> None:
        self._resolver = resolver

    def advance(self, now_ms: int, on_done: Callable[[], None]) -> None:
        if now_ms < self.next_deadline_at_ms() or self._resolver is None:
            return

        def done() -> None:
            self._is_refreshing = False
            on_done()

        self._is_refreshing = True
        self._resolver.run(self.refresh, done)

    def next_deadline_at_ms(self) -> int:
        """Return when the next one is due."""
        return FOREVER_MS if self._renewal.found is None or self._is_refreshing else self._renewal.due_at_ms

    def at_hand(self, failure: str) -> T:
        """Return the current token or ticket.

        Args: failure: beginning of error messages.
        Raises:
            AuthenticationError: none is valid; the message has the reason.
            LoginServerUnavailable: the server did not respond; the next connection retries.
        """
        found, error = self._renewal.found, self._renewal.error
        if found is not None and self._is_valid():
            return found
        why = "the previous one has expired" if error is None else str(error)
        hint = error.hint if isinstance(error, TransportError) else ""
        if isinstance(error, TransportError | KafkaTimeoutError) and not isinstance(error, _REFUSALS):
            raise LoginServerUnavailable(f"{failure}: {why}", error, hint=hint)
        raise AuthenticationError(f"{failure}: {why}", hint=hint)
