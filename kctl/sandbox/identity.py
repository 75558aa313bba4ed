"""Who is on the other end of a connection: the SASL exchange, seen from the broker.

It owns which mechanisms and users a listener has. Bytes in, bytes out; the APIs sasl_handshake and sasl_authenticate
carry them.
"""

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
"""The user of a connection without authentication."""
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_RENEWALS_MS = 1000
"""How long after the begin of a renewal the next one is refused."""


class SaslUsers(NamedTuple):
    """The mechanisms of a listener and the passwords of its users; OAUTHBEARER takes any unsecured token."""

    passwords: Mapping[str, str]
    mechanisms: tuple[str, ...] = MECHANISMS

    def server_for(
        self, mechanism: str, entropy: Entropy, wall_ms: Callable[[], int], scram_users: ScramUsers
    ) -> SaslServer:
        """Return the broker's side of one authentication."""
        if mechanism == "PLAIN":
            return PlainServer(self.passwords)
        if mechanism == "OAUTHBEARER":
            return OauthBearerServer(lambda token: unsecured_user(token, wall_ms()))
        return ScramServer(mechanism, partial(scram_users.find, mechanism), entropy)


class Identity:
    """The authentication of one connection, and of its renewals. Source: KIP-368; Java's SaslServerAuthenticator."""

    def __init__(
        self,
        users: SaslUsers | None,
        scram_users: ScramUsers,
        entropy: Entropy,
        scheduler: Scheduler,
        max_session_ms: int = 0,
    ) -> None:
        """`max_session_ms`: how long one authentication is good for; 0 means for as long as the connection."""
        self._users = users
        self._scram_users = scram_users
        self._entropy = entropy
        self._scheduler = scheduler
        self._max_session_ms = max_session_ms
        self._mechanism = ""
        self._previous_user: str | None = None
        """Whom the connection belonged to before the renewal under way."""
        self._renewed_at_ms: int | None = None
        self._session_ends_at_ms = FOREVER_MS
        self._server: SaslServer | None = None
        self._has_bare_tokens = False
        self.is_refused = False

    @property
    def is_authenticated(self) -> bool:
        """Whether any API may be called."""
        return self._users is None or (self._server is not None and self._server.done)

    @property
    def user(self) -> str:
        """Who it is; empty without authentication."""
        return "" if self._server is None else self._server.user

    @property
    def principal(self) -> str:
        """Who it is to an authorizer."""
        return f"User:{self.user or ANONYMOUS}"

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """What the listener offers."""
        return () if self._users is None else self._users.mechanisms

    @property
    def expects_handshake(self) -> bool:
        """Whether a SaslHandshake has to come now."""
        return self._users is not None and self._server is None

    @property
    def may_renew(self) -> bool:
        """Whether a SaslHandshake may begin the next session: where sessions end, and once a second, as in Kafka."""
        is_too_soon = self._renewed_at_ms is not None and self._scheduler.now_ms() - self._renewed_at_ms < _RENEWALS_MS
        return self._max_session_ms > 0 and self._server is not None and self._server.done and not is_too_soon

    @property
    def has_expired(self) -> bool:
        """Whether the session is over: anything but a SaslHandshake ends the connection."""
        return self._scheduler.now_ms() > self._session_ends_at_ms

    @property
    def expects_token(self) -> bool:
        """Whether a SaslAuthenticate may come now."""
        return self._server is not None and not self._server.done and not self.is_refused

    @property
    def expects_bare_token(self) -> bool:
        """Whether what comes now is a token without a header: the handshake had version 0."""
        return self._has_bare_tokens and self.expects_token

    def begin(self, mechanism: str, *, has_bare_tokens: bool = False) -> bool:
        """Choose a mechanism; False when the listener does not have it, which ends the conversation."""
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
        """Take a message of the client and return the answer.

        Raises:
            AuthenticationError: the client is refused; the conversation ends.
        """
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
        """The lifetime that the client gets with the session that has just begun; 0 where it does not end."""
        return self._max_session_ms if self.is_authenticated else 0
