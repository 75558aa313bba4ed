"""The schema registry over the system's sockets, with the timeouts of a Kafka client."""

from typing import TYPE_CHECKING

from kctl.client.clock import Clock, Timer
from kctl.client.config import ClientConfig, RegistryConfig
from kctl.client.network.system import system_runtime
from kctl.serdes.registry import SchemaRegistry

if TYPE_CHECKING:
    import ssl


def open_system_registry(
    config: RegistryConfig, client: ClientConfig, clock: Clock, *, one_timeout: bool = False
) -> SchemaRegistry:
    """Return the registry.

    Args:
        client: its connect, request and API timeouts are those of the registry.
        one_timeout: all calls share the API timeout, which starts now; else each has its own.
    Raises: ConfigError: no URL, or a TLS property is invalid.
    """
    from kctl.client.http import HttpClient, HttpLimits  # imports TLS, which data without a registry does without

    def context() -> "ssl.SSLContext":
        from kctl.client.security import TlsSettings  # wanted at the first https URL

        return TlsSettings.from_config(tls).context()

    tls = ClientConfig.parse({**config.tls, "bootstrap.servers": "registry:1", "security.protocol": "SSL"})
    http = HttpClient(
        clock,
        system_runtime().resolver,
        HttpLimits(client.socket_connection_setup_timeout_ms, client.request_timeout_ms),
        context,
    )
    shared = Timer(clock, client.default_api_timeout_ms)
    return SchemaRegistry(config, http, lambda: shared if one_timeout else Timer(clock, client.default_api_timeout_ms))
