"""Identity of a client: the broker side of SASL exchanges. Does no I/O."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from kctl.client.clock import FOREVER_MS
from kctl.client.errors import AuthenticationError
from kctl.client.runtime import Entropy
from kctl.sandbox.access.scram_users import ScramUsers
from kctl.sandbox.runtime import Scheduler
from kctl.sandbox.sasl import OauthBearerServer, PlainServer, SaslServer, ScramServer, unsecured_user

ANONYMOUS = "ANONYMOUS"
"""User of an unauthenticated connection."""
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_RENEWALS_MS = 1000
"""Minimum interval between renewals, in ms."""


class SaslUsers(NamedTuple):
    """Mechanisms of a listener, and passwords of its users. OAUTHBEARER accepts any valid unsecured token."""

    passwords: Mapping[str, str]
    mechanisms: tuple[str, ...] = MECHANISMS

    def server_for(
        self, mechanism: str, entropy: Entropy, wall_ms: Callable[[], int], scram_users: ScramUsers
    ) -> SaslServer:
        if mechanism == "PLAIN":
            return PlainServer(self.passwords)
        if mechanism == "OAUTHBEARER":
            return OauthBearerServer(lambda token: unsecured_user(token, wall_ms()))
        return ScramServer(mechanism, partial(scram_users.find, mechanism), entropy)


class Identity:
    """Authentication of one connection, with renewals. Source: KIP-368, Java's SaslServerAuthenticator."""

    def __init__(
        self,
        users: SaslUsers | None,
        scram_users: ScramUsers,
        entropy: Entropy,
        scheduler: Scheduler,
        max_session_ms: int = 0,
    ) -> None:
        self._users = users
        self._scram_users = scram_users
        self._entropy = entropy
        self._scheduler = scheduler
        self._max_session_ms = max_session_ms
        self._mechanism = ""
        self._previous_user: str | None = None
        """User before the renewal in progress."""
        self._renewed_at_ms: int | None = None
        self._session_ends_at_ms = FOREVER_MS
        self._server: SaslServer | None = None
        self._has_bare_tokens = False
        self.is_refused = False

    @property
    def is_authenticated(self) -> bool:
        return self._users is None or (self._server is not None and self._server.done)

    @property
    def user(self) -> str:
        return "" if self._server is None else self._server.user

    @property
    def principal(self) -> str:
        return f"User:{self.user or ANONYMOUS}"

    @property
    def mechanisms(self) -> tuple[str, ...]:
        return () if self._users is None else self._users.mechanisms

    @property
    def expects_handshake(self) -> bool:
        return self._users is not None and self._server is None

    @property
    def may_renew(self) -> bool:
        """True if SaslHandshake may renew the session. Requires that sessions expire, and 1 s since the last renewal,
        as in Kafka.
        """
        is_too_soon = self._renewed_at_ms is not None and self._scheduler.now_ms() - self._renewed_at_ms < _RENEWALS_MS
        return self._max_session_ms > 0 and self._server is not None and self._server.done and not is_too_soon

    @property
    def has_expired(self) -> bool:
        """True if the session has expired, so that only SaslHandshake and SaslAuthenticate are allowed."""
        return self._scheduler.now_ms() > self._session_ends_at_ms

    @property
    def expects_token(self) -> bool:
        return self._server is not None and not self._server.done and not self.is_refused

    @property
    def expects_bare_token(self) -> bool:
        return self._has_bare_tokens and self.expects_token

    def begin(self, mechanism: str, *, has_bare_tokens: bool = False) -> bool:
        """Start an exchange and return True, or refuse the client and return False."""
        if self._users is None or mechanism not in self._users.mechanisms:
            self.is_refused = True
            return False
        if self._server is not None:
            if mechanism != self._mechanism:
                self.is_refused = True
                return False
            self._previous_user = self._server.user
            self._renewed_at_ms = self._scheduler.now_ms()
        self._mechanism = mechanism
        self._has_bare_tokens = has_bare_tokens
        self._server = self._users.server_for(mechanism, self._entropy, self._scheduler.wall_ms, self._scram_users)
        return True

    def step(self, token: bytes) -> bytes:
        """Process a client's token and return the response. Raise AuthenticationError if the login fails."""
        if self._server is None:
            raise AuthenticationError("SaslAuthenticate before SaslHandshake")
        try:
            answer = self._server.step(token)
            if self._server.done and self._previous_user not in (None, self._server.user):
                raise AuthenticationError("Cannot change principals during re-authentication")
        except AuthenticationError:
            self.is_refused = True
            raise
        if self._server.done and self._max_session_ms:
            self._session_ends_at_ms = self._scheduler.now_ms() + self._max_session_ms
        return answer

    @property
    def session_lifetime_ms(self) -> int:
        return self._max_session_ms if self.is_authenticated else 0
