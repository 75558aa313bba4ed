"""TLS and SASL on bytes, without sockets. Names are imported on first use, because importing ssl is slow."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kctl.client.security.jaas import JaasEntry, read_jaas
    from kctl.client.security.sasl import mechanism_from_config
    from kctl.client.security.tls import TlsSettings
    from kctl.client.security.tls.certificates import PeerCertificate
    from kctl.client.security.tls.settings import server_context

__all__ = ["JaasEntry", "PeerCertificate", "TlsSettings", "mechanism_from_config", "read_jaas", "server_context"]

_HOMES = {
    "JaasEntry": "jaas",
    "PeerCertificate": "tls.certificates",
    "TlsSettings": "tls",
    "mechanism_from_config": "sasl",
    "read_jaas": "jaas",
    "server_context": "tls.settings",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
