"""Handshake: the first requests of a new connection: ApiVersions, then SASL. No I/O.

ApiVersions precedes authentication, as brokers allow, so one response covers SASL and later requests.

Source: KIP-35, KIP-511, KIP-43, KIP-152, KIP-368. Differs: Java sends ApiVersions a second time after SASL.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from kctl.client.broker_errors import ErrorCode, error_name
from kctl.client.config.security import SASL_MECHANISMS
from kctl.client.errors import AuthenticationError, RemoteProtocolError
from kctl.client.events import Phase
from kctl.client.network.error_texts import mask_error_messages
from kctl.client.network.states import ConnectionState
from kctl.client.protocol.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kctl.client.protocol.schema import Request, Response
from kctl.client.protocol.versions import NodeVersions
from kctl.client.wording import one_line
from kctl.version import VERSION

if TYPE_CHECKING:
    from kctl.client.security.sasl import SaslMechanism


_CHECK_MECHANISMS = "check sasl.enabled.mechanisms of the listener"
_ONLY_PLAIN = ". PLAIN sends the password to the server"
"""Rest of the hint if the broker offers only PLAIN.

An attacker between client and broker can reject all other mechanisms to get a password.
"""


class Handshake:
    """Handshake of one connection. Args: new_mechanism: returns a new SASL mechanism; None without SASL."""

    def __init__(self, new_mechanism: "Callable[[], SaslMechanism] | None") -> None:
        self.versions: NodeVersions | None = None
        self.mechanisms_offered: tuple[str, ...] = ()
        self.session_lifetime_ms = 0
        """Lifetime of the last authentication (KIP-368); 0 if it lasts as long as the connection."""
        self._new_mechanism = new_mechanism
        self._sasl: SaslMechanism | None = None
        self._token = b""
        self._api_versions_version = ApiVersionsRequest.VALID_VERSIONS[1]

    @property
    def uses_sasl(self) -> bool:
        return self._new_mechanism is not None

    def next_request(self, state: ConnectionState) -> tuple[Request, int]:
        if state is ConnectionState.APIVERSIONS:
            software = {"client_software_name": "kctl", "client_software_version": VERSION}
            if self._api_versions_version < 3:
                software = {}
            return ApiVersionsRequest(**software), self._api_versions_version
        from kctl.client.protocol.api.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

        assert self.versions is not None
        if state is ConnectionState.SASL_HANDSHAKE:
            assert self._new_mechanism is not None
            self._sasl = self._new_mechanism()  # a renewal is an authentication like the first
            # Version 0 is followed by bare tokens without framing; every broker since 1.0 knows version 1.
            return SaslHandshakeRequest(mechanism=self._sasl.name), self.versions.choose(SaslHandshakeRequest)
        request = SaslAuthenticateRequest(auth_bytes=self._token)
        return request, self.versions.choose(SaslAuthenticateRequest)

    def on_response(self, state: ConnectionState, response: Response) -> ConnectionState:
        """Process a response and return the next state.

        Raises:
            AuthenticationError: the broker rejected the mechanism or the credentials, or did not prove its identity.
            RemoteProtocolError: ApiVersions failed.
        """
        if state is ConnectionState.APIVERSIONS:
            assert isinstance(response, ApiVersionsResponse)
            return self._on_versions(response)
        from kctl.client.protocol.api.sasl import SaslAuthenticateResponse, SaslHandshakeResponse

        if isinstance(response, SaslHandshakeResponse):
            return self._on_mechanism(response)
        assert isinstance(response, SaslAuthenticateResponse)
        return self._on_token(response)

    def mask(self, response: Response) -> None:
        """Mask secrets of the login in the error messages of a response."""
        if self._sasl is not None:
            mask_error_messages(response, self._sasl.masked)

    def detail(self, phase: Phase) -> str:
        if phase is Phase.SASL and self._sasl is not None:
            return self._sasl.name
        return f"{len(self.versions.ranges)} APIs" if phase is Phase.APIVERSIONS and self.versions is not None else ""

    def _on_versions(self, response: ApiVersionsResponse) -> ConnectionState:
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION and self._api_versions_version > 0:
            offered = [key.max_version for key in response.api_keys if key.api_key == ApiVersionsRequest.API_KEY]
            newest = min(offered[0], self._api_versions_version - 1) if offered else 0
            self._api_versions_version = max(0, newest)
            return ConnectionState.APIVERSIONS
        if response.error_code != 0:
            name = error_name(response.error_code)
            raise RemoteProtocolError(f"ApiVersions failed with {name}", api="ApiVersions")
        self.versions = NodeVersions.from_response(response)
        return ConnectionState.READY if self._new_mechanism is None else ConnectionState.SASL_HANDSHAKE

    def _on_mechanism(self, response: Response) -> ConnectionState:
        from kctl.client.protocol.api.sasl import SaslHandshakeResponse

        assert isinstance(response, SaslHandshakeResponse)
        assert self._sasl is not None
        self.mechanisms_offered = tuple(map(one_line, response.mechanisms))
        if response.error_code != 0:
            raise self._refusal(response.error_code, self._sasl.name)
        self._token = self._sasl.first()
        return ConnectionState.SASL_AUTHENTICATE

    def _refusal(self, code: int, mechanism: str) -> AuthenticationError:
        if code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            offer = ", ".join(self.mechanisms_offered) or "none"
            names = {each.upper() for each in self.mechanisms_offered}
            safe = [each for each in SASL_MECHANISMS if each in names and each != "PLAIN"]  # no text of the peer
            hint = f"set sasl.mechanism to {' or '.join(safe)}" if safe else _CHECK_MECHANISMS
            if not safe and "PLAIN" in names:
                hint += _ONLY_PLAIN
            return AuthenticationError(f"the broker does not support {mechanism} (supported: {offer})", hint=hint)
        if code != ErrorCode.ILLEGAL_SASL_STATE:
            return AuthenticationError(f"SaslHandshake failed with {error_name(code)}")
        if self.session_lifetime_ms:
            return AuthenticationError("the broker does not support reauthentication")
        return AuthenticationError("the listener does not use SASL", hint="use security.protocol=PLAINTEXT or SSL")

    def _on_token(self, response: Response) -> ConnectionState:
        from kctl.client.protocol.api.sasl import SaslAuthenticateResponse

        assert isinstance(response, SaslAuthenticateResponse)
        assert self._sasl is not None
        if response.error_code != 0:
            reason, hint = self._sasl.refusal(response.error_message or error_name(response.error_code))
            raise AuthenticationError(f"{self._sasl.name}: {one_line(reason)}", hint=hint)
        token = self._sasl.step(response.auth_bytes)
        if token is None:
            self.session_lifetime_ms = max(0, response.session_lifetime_ms)
            return ConnectionState.READY
        self._token = token
        return ConnectionState.SASL_AUTHENTICATE
