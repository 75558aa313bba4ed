"""Schema registry client with sockets of the system and the timeouts of a Kafka client."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from kctl.client.clock import Clock, Timer
from kctl.client.config import ClientConfig, RegistryConfig
from kctl.client.network.system import system_runtime
from kctl.client.runtime import Resolver
from kctl.serdes.registry import SchemaRegistry

if TYPE_CHECKING:
    import ssl

    from kctl.client.http import HttpClient, HttpLimits

    MakeHttp = Callable[[Clock, Resolver, HttpLimits, Callable[[], ssl.SSLContext]], HttpClient]
    """Class of an HTTP client, or a function with its arguments."""


def open_system_registry(
    config: RegistryConfig,
    client: ClientConfig,
    clock: Clock,
    *,
    one_timeout: bool = False,
    make_http: "MakeHttp | None" = None,
) -> SchemaRegistry:
    """Return the client of the registry.

    Args:
        client: supplies the connect, request, and API timeouts.
        one_timeout: share the API timeout among all calls, starting now. If False, each call has its own.
        make_http: creates the HTTP client. None creates a client that blocks.
    Raises: ConfigError: the URL is missing, or a TLS property is invalid.
    """
    from kctl.client.http import HttpClient, HttpLimits  # deferred import: loads TLS, unused without a registry

    def context() -> "ssl.SSLContext":
        from kctl.client.security import TlsSettings  # deferred import: for https URLs only

        return TlsSettings.from_config(tls).context()

    tls = ClientConfig.parse({**config.tls, "bootstrap.servers": "registry:1", "security.protocol": "SSL"})
    http = (make_http or HttpClient)(
        clock,
        system_runtime().resolver,
        HttpLimits(client.socket_connection_setup_timeout_ms, client.request_timeout_ms),
        context,
    )
    shared = Timer(clock, client.default_api_timeout_ms)
    return SchemaRegistry(config, http, lambda: shared if one_timeout else Timer(clock, client.default_api_timeout_ms))
