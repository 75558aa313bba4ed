"""SASL mechanisms for clients, on bytes, without sockets or frames.

    mechanism = mechanism_from_config(config, entropy, host) send(mechanism.first()) while not mechanism.complete:
        response = mechanism.step(receive())    # None: nothing to send, the broker has proved its identity

Each mechanism has a file; the sandbox has the server side.
"""

from typing import TYPE_CHECKING, Protocol

from kctl.client.clock import Clock, SystemClock
from kctl.client.config import ClientConfig
from kctl.client.errors import ConfigError
from kctl.client.runtime import Entropy
from kctl.client.security.jaas import KEY, JaasEntry, read_jaas

if TYPE_CHECKING:
    from collections.abc import Callable

    from kctl.client.kerberos import SecurityContext
    from kctl.client.security.sasl.oauthbearer import TokenSource

__all__ = ["SaslMechanism", "mechanism_from_config"]


class SaslMechanism(Protocol):
    """One authentication in progress; used once."""

    @property
    def name(self) -> str: ...

    @property
    def complete(self) -> bool: ...

    def first(self) -> bytes: ...

    def step(self, challenge: bytes) -> bytes | None:
        """Return the response to a challenge, or None at the end.

        Raises: AuthenticationError: the broker rejected the client, did not prove its identity, or sent invalid bytes.
        """
        ...

    def masked(self, text: str) -> str:
        """Return a text of the broker without the secrets of this authentication."""
        ...

    def refusal(self, words: str) -> tuple[str, str]:
        """Return the reason and a hint, from the broker's error message."""
        ...


def mechanism_from_config(
    config: ClientConfig,
    entropy: Entropy,
    host: str = "",
    *,
    clock: Clock | None = None,
    token_source: "TokenSource | None" = None,
    context_source: "Callable[[str], SecurityContext] | None" = None,
) -> SaslMechanism:
    """Return a new mechanism for one connection to `host`.

    Args:
        token_source: returns the OAUTHBEARER token, in place of the source in the config.
        context_source: returns the GSSAPI security context for a host; None to check the config only.

    Raises:
        ConfigError: a required setting is missing.
    """
    name = config.sasl_mechanism
    if name == "OAUTHBEARER":
        from kctl.client.security.sasl.oauthbearer import OauthBearerClient, token_source_from_config

        entry = _entry(config, "OAuthBearerLoginModule") if config.sasl_jaas_config else None
        source = token_source or token_source_from_config(config, entry, clock or SystemClock())
        return OauthBearerClient(source, clock or SystemClock())
    if name == "PLAIN":
        from kctl.client.security.sasl.plain import PlainClient

        entry = _entry(config, "PlainLoginModule")
        return PlainClient(entry.require("username"), entry.require("password"))
    if name in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        from kctl.client.security.sasl.scram import ScramClient

        entry = _entry(config, "ScramLoginModule")
        is_token = entry.options.get("tokenauth", "").lower() == "true"
        return ScramClient(name, entry.require("username"), entry.require("password"), entropy, is_token=is_token)
    from kctl.client.security.sasl.gssapi import GssapiClient, login_from_config

    login_from_config(config)
    return GssapiClient(lambda: _context(context_source, host))


def _context(source: "Callable[[str], SecurityContext] | None", host: str) -> "SecurityContext":
    assert source is not None  # the connection factory passes a source
    return source(host)


def _entry(config: ClientConfig, module: str) -> JaasEntry:
    if config.sasl_jaas_config is None:
        raise ConfigError(f"sasl.mechanism={config.sasl_mechanism} needs {KEY} with the login module {module}", key=KEY)
    entry = read_jaas(config.sasl_jaas_config)
    if entry.module != module:
        # The name is not shown: after a misplaced quote it could be anything.
        text = f"{KEY}: sasl.mechanism={config.sasl_mechanism} needs the login module {module}"
        is_msk = entry.module == "IAMLoginModule"  # module of Amazon's Java library
        raise ConfigError(
            f"{text} (sasl.oauthbearer.method=aws_msk_iam does not need {KEY})" if is_msk else text, key=KEY
        )
    return entry
