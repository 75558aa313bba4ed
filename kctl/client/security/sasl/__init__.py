"""SASL, the client's side: a mechanism turns the broker's bytes into ours. No socket, no frames, no clock of its own.

    mechanism = mechanism_from_config(config, entropy, host)
    send(mechanism.first())
    while not mechanism.complete:
        answer = mechanism.step(receive())      # None: nothing to send, the broker has proved what it must

Each mechanism has a file; server.py is the other side, for the sandbox.
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
    """One authentication under way; used once."""

    @property
    def name(self) -> str:
        """The mechanism as SaslHandshake names it."""
        ...

    @property
    def complete(self) -> bool:
        """Whether the exchange is complete."""
        ...

    def first(self) -> bytes:
        """Return what we send first."""
        ...

    def step(self, challenge: bytes) -> bytes | None:
        """Take what the broker sent and return our answer, or None when we are done.

        Raises: AuthenticationError: the broker refused us, did not prove itself, or sent nonsense.
        """
        ...

    def refusal(self, words: str) -> tuple[str, str]:
        """Return the reason of a refusal for people, of the broker's words, and a hint."""
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
    """Return a fresh mechanism for one connection to `host`.

    Args:
        clock: for the times inside an unsecured OAUTHBEARER token.
        token_source: gives the OAUTHBEARER token; takes precedence over the config.
        context_source: gives the security context of GSSAPI for a host; None to check the config alone.
    Raises:
        ConfigError: what the mechanism needs is missing from the config.
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
    assert source is not None  # the factory of connections has one where it logs in
    return source(host)


def _entry(config: ClientConfig, module: str) -> JaasEntry:
    """Return the JAAS entry, which must be for the module of the mechanism."""
    if config.sasl_jaas_config is None:
        raise ConfigError(f"sasl.mechanism={config.sasl_mechanism} needs {KEY} with a {module}", key=KEY)
    entry = read_jaas(config.sasl_jaas_config)
    if entry.module != module:
        # The name itself is not repeated: with a misplaced quote it could be anything.
        text = f"{KEY}: sasl.mechanism={config.sasl_mechanism} needs the login module {module}"
        is_msk = entry.module == "IAMLoginModule"  # of Amazon's Java library
        raise ConfigError(f"{text}; sasl.oauthbearer.method=aws_msk_iam needs no {KEY}" if is_msk else text, key=KEY)
    return entry
