"""GSSAPI (RFC 4752): Kerberos tokens, then negotiation of a security layer, which stays unused."""

from collections.abc import Callable

from kctl.client.config import ClientConfig
from kctl.client.errors import AuthenticationError, ConfigError
from kctl.client.kerberos import KerberosLogin, SecurityContext
from kctl.client.security.jaas import KEY, read_jaas
from kctl.client.wording import one_line

MODULE = "Krb5LoginModule"
NO_LAYER = 1
"""Bit for no security layer."""
_LAYERS_BYTES = 4
MOST_ROUNDS = 10
"""Maximum number of tokens from the broker; Kerberos needs one or two."""
_SERVICE = "sasl.kerberos.service.name"


class GssapiClient:
    name = "GSSAPI"

    def __init__(self, new_context: Callable[[], SecurityContext]) -> None:
        self.complete = False
        self._new_context = new_context
        self._context: SecurityContext | None = None
        self._has_answered = False
        self._rounds = 0

    def first(self) -> bytes:
        """Return the first token.

        Raises: AuthenticationError: there is no ticket. ConnectionLost: the KDC did not respond.
        """
        self._context = self._new_context()
        return self._step(None) or b""

    def step(self, challenge: bytes) -> bytes | None:
        assert self._context is not None
        if not self._context.complete:
            self._rounds += 1
            if self._rounds > MOST_ROUNDS:
                raise AuthenticationError(
                    f"GSSAPI: the handshake is incomplete after {MOST_ROUNDS} tokens from the broker"
                )
            return self._step(challenge) or b""
        if not self._has_answered:
            self._has_answered = True
            return self._layer(challenge)
        if self.complete or challenge:
            raise AuthenticationError("GSSAPI: the broker sent more tokens than GSSAPI allows")
        self.complete = True
        return None

    def masked(self, text: str) -> str:
        return text  # no secret of Kerberos is text

    def refusal(self, words: str) -> tuple[str, str]:
        reason = f"the broker rejected the ticket: {words}"
        return reason, "check the log, keytab, and clock of the broker"

    def _step(self, token: bytes | None) -> bytes | None:
        assert self._context is not None
        try:
            return self._context.step(token)
        except Exception as e:  # noqa: BLE001 - of the library, whose errors are not importable without it
            raise AuthenticationError(f"GSSAPI: {_cause(e)}") from None

    def _layer(self, challenge: bytes) -> bytes:
        assert self._context is not None
        try:
            offer = bytes(self._context.unwrap(challenge).message)
            if len(offer) != _LAYERS_BYTES or not offer[0] & NO_LAYER:
                if len(offer) == _LAYERS_BYTES:
                    raise AuthenticationError("GSSAPI: the broker requires a security layer")
                raise AuthenticationError("GSSAPI: the broker sent an invalid message")
            return bytes(self._context.wrap(bytes([NO_LAYER, 0, 0, 0]), False).message)
        except AuthenticationError:
            raise
        except Exception as e:  # noqa: BLE001 - of the library, as above
            raise AuthenticationError(
                f"GSSAPI: invalid signature in the message from the broker: {_cause(e)}"
            ) from None


def login_from_config(config: ClientConfig) -> KerberosLogin:
    """Return identity and service of the login.

    Raises: ConfigError: the service name is missing or ambiguous, or sasl.jaas.config is for another mechanism.

    Source: Java's KerberosLogin and Krb5LoginModule; principal and keytab properties as in librdkafka.
    """
    options: dict[str, str] = {}
    if config.sasl_jaas_config is not None:
        entry = read_jaas(config.sasl_jaas_config)
        if entry.module != MODULE:
            raise ConfigError(f"{KEY}: sasl.mechanism=GSSAPI needs the login module {MODULE}", key=KEY)
        options = entry.options
    service_name, in_jaas = config.sasl_kerberos_service_name, options.get("serviceName")
    if service_name and in_jaas and service_name != in_jaas:
        raise ConfigError(f"{_SERVICE}={service_name} differs from serviceName in {KEY}", key=_SERVICE)
    service_name = service_name or in_jaas
    if not service_name:
        text = f"sasl.mechanism=GSSAPI needs {_SERVICE}: use the first part of the broker principal, usually kafka"
        raise ConfigError(text, key=_SERVICE)
    keytab, cache = config.sasl_kerberos_keytab, None
    if keytab is None and options.get("useKeyTab", "").lower() == "true":
        if not options.get("keyTab"):
            raise ConfigError(f"{KEY}: useKeyTab=true needs the option keyTab", key=KEY)
        keytab = options["keyTab"]
    if keytab is None:
        cache = options.get("ticketCache") or None
    principal = config.sasl_kerberos_principal or options.get("principal") or None
    return KerberosLogin(service_name, principal, None if keytab is None else keytab.removeprefix("FILE:"), cache)


def _cause(error: Exception) -> str:
    return one_line(str(error))[:300]
