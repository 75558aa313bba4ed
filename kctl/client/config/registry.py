from collections.abc import Mapping
from typing import ClassVar

from kctl.client.config.base import BaseConfig
from kctl.client.config.common import ClientConfig
from kctl.client.config.property import AnyProperty, Property, Text, Words, flag, optional_text, secret
from kctl.client.errors import ConfigError

_PREFIX = "schema.registry."
_SSL = tuple(name for name in ClientConfig.PROPERTIES if name.startswith("ssl."))


def _secret(name: str, doc: str) -> Property[str | None]:
    declared = secret(_PREFIX + name, doc)
    return Property(declared.name, declared.kind, None, doc, secret=True, alias=name)


def _text(name: str, doc: str) -> Property[str | None]:
    declared = optional_text(_PREFIX + name, doc)
    return Property(declared.name, declared.kind, None, doc, alias=name)


class RegistryConfig(BaseConfig):
    """Properties of a schema registry and its authentication. Attributes: tls: ssl.* properties, without the prefix."""

    __slots__ = ("tls",)
    KIND: ClassVar[str] = "schema registry"
    tls: dict[str, object]

    schema_registry_url: Property[tuple[str, ...]] = Property(
        _PREFIX + "url",
        Words(Text(filled=True)),
        (),
        "Comma-separated URLs of the schema registry. If a URL fails, kctl uses the next URL.",
    )
    schema_registry_allow_http_login = flag(
        _PREFIX + "allow.http.login",
        False,
        "Send credentials over plain HTTP to a registry or issuer on another machine (kctl's own property).",
    )
    schema_registry_basic_auth_user_info = _secret(
        "basic.auth.user.info", "User and password for basic authentication, in the form user:password."
    )
    schema_registry_basic_auth_credentials_source = _text(
        "basic.auth.credentials.source",
        "Source of user and password: USER_INFO (the property) or URL (the registry URL).",
    )
    schema_registry_bearer_auth_token = _secret("bearer.auth.token", "Bearer token for the schema registry.")
    schema_registry_bearer_auth_credentials_source = _text(
        "bearer.auth.credentials.source",
        "Source of the bearer token: STATIC_TOKEN (the property) or OAUTHBEARER (an OAuth issuer).",
    )
    schema_registry_bearer_auth_issuer_endpoint_url = _text(
        "bearer.auth.issuer.endpoint.url", "URL of the token endpoint of the OAuth issuer."
    )
    schema_registry_bearer_auth_client_id = _text("bearer.auth.client.id", "Client id for the OAuth issuer.")
    schema_registry_bearer_auth_client_secret = _secret(
        "bearer.auth.client.secret", "Client secret for the OAuth issuer."
    )
    schema_registry_bearer_auth_scope = _text("bearer.auth.scope", "Scope of the requested OAuth token.")
    schema_registry_bearer_auth_logical_cluster = _text(
        "bearer.auth.logical.cluster", "Value of the HTTP header target-sr-cluster."
    )
    schema_registry_bearer_auth_identity_pool_id = _text(
        "bearer.auth.identity.pool.id", "Value of the HTTP header Confluent-Identity-Pool-Id."
    )

    @classmethod
    def names(cls) -> frozenset[str]:
        """Return every valid name of registry properties."""
        return _NAMES

    def _take(self, name: object, raw: object, aliases: Mapping[str, AnyProperty]) -> None:
        if isinstance(name, str) and name.removeprefix(_PREFIX) in _SSL and name.startswith(_PREFIX):
            self._tls()[name.removeprefix(_PREFIX)] = raw
            return
        super()._take(name, raw, aliases)

    def _tls(self) -> dict[str, object]:
        if not hasattr(self, "tls"):
            self.tls = {}
        return self.tls

    def _settle(self) -> None:
        self._tls()
        for name, known in (
            ("basic.auth.credentials.source", ("USER_INFO", "URL")),
            ("bearer.auth.credentials.source", ("STATIC_TOKEN", "OAUTHBEARER")),
        ):
            given = self.values[_PREFIX + name]
            if given is not None and given not in known:
                raise ConfigError(f"invalid {name} {given!r}: use {' or '.join(known)}", key=_PREFIX + name)


_NAMES = frozenset(
    {
        *RegistryConfig.PROPERTIES,
        *(declared.alias for declared in RegistryConfig.PROPERTIES.values() if declared.alias is not None),
        *(_PREFIX + name for name in _SSL),
    }
)
