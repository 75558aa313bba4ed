"""ClientConfig: properties of every client, with the defaults of Kafka 4.x. AdminConfig: for admin clients."""

from typing import ClassVar, Self

from kctl.client.config.endpoints import SECURITY_PROTOCOLS, BootstrapServers, read_bootstrap
from kctl.client.config.property import INT_MAX, Property, choice, duration, flag, text, whole
from kctl.client.config.security import SASL_MECHANISMS, SecurityConfig
from kctl.client.errors import ConfigError
from kctl.client.lifetime import Owned


class ClientConfig(SecurityConfig):
    """Properties of every client."""

    __slots__ = ()

    bootstrap_servers = Property(
        "bootstrap.servers", BootstrapServers(), (), "Comma-separated bootstrap servers in the form host:port."
    )
    client_id = text("client.id", "kctl", "Name of the client in broker logs and quotas.")
    security_protocol = choice(
        "security.protocol",
        "PLAINTEXT",
        SECURITY_PROTOCOLS,
        "Security protocol of connections: TLS, SASL, both, or neither.",
    )
    client_dns_lookup = choice(
        "client.dns.lookup",
        "use_all_dns_ips",
        ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
        "Mode of DNS lookups. kctl always tries all addresses of a name.",
    )
    enable_metrics_push = flag(
        "enable.metrics.push", True, "Enable client_instance_id(). kctl never sends client metrics."
    )

    # --- limits -----------------------------------------------------------------------------------------------------
    default_api_timeout_ms = whole(
        "default.api.timeout.ms", 60_000, "Total timeout of a blocking call, including retries."
    )
    request_timeout_ms = whole("request.timeout.ms", 30_000, "Maximum time to wait for the response to a request.")
    socket_connection_setup_timeout_ms = duration(
        "socket.connection.setup.timeout.ms",
        10_000,
        "Timeout of a connection attempt, from DNS to SASL. It doubles with each failed attempt to a broker, up to "
        "socket.connection.setup.timeout.max.ms. If only this timeout is set, it does not increase.",
        low=1,
        alias="connections.timeout.ms",
    )
    socket_connection_setup_timeout_max_ms = duration(
        "socket.connection.setup.timeout.max.ms",
        30_000,
        "Maximum timeout of a connection attempt. The timeout doubles with each failed attempt.",
        low=1,
    )
    connections_max_idle_ms = duration(
        "connections.max.idle.ms",
        540_000,
        "Idle time after which a connection is closed. -1 keeps idle connections open.",
        low=-1,
    )
    bootstrap_attempt_delay_ms = duration(
        "bootstrap.attempt.delay.ms",
        100,
        "Delay before kctl also tries the next bootstrap address (kctl's own property).",
    )

    bootstrap_refused_timeout_ms = duration(
        "bootstrap.refused.timeout.ms",
        -1,
        "Time after which a call fails if all bootstrap servers refuse connections or do not resolve, or if an "
        "advertised host name does not resolve. -1 retries until the call times out (kctl's own property).",
        low=-1,
    )

    # --- waits between attempts -------------------------------------------------------------------------------------
    reconnect_backoff_ms = duration("reconnect.backoff.ms", 50, "Initial backoff before reconnecting to a broker.")
    reconnect_backoff_max_ms = duration(
        "reconnect.backoff.max.ms", 1000, "Maximum backoff before reconnecting to a broker."
    )
    retry_backoff_ms = duration("retry.backoff.ms", 100, "Initial backoff before retrying a failed request.")
    retry_backoff_max_ms = duration("retry.backoff.max.ms", 1000, "Maximum backoff before retrying a failed request.")

    # --- metadata ---------------------------------------------------------------------------------------------------
    metadata_max_age_ms = duration("metadata.max.age.ms", 300_000, "Maximum age of metadata before kctl refreshes it.")
    metadata_recovery_strategy = choice(
        "metadata.recovery.strategy",
        "rebootstrap",
        ("rebootstrap", "none"),
        "Action if no known broker responds. rebootstrap reconnects to bootstrap.servers.",
    )
    metadata_recovery_rebootstrap_trigger_ms = duration(
        "metadata.recovery.rebootstrap.trigger.ms",
        300_000,
        "Time without metadata after which the client reconnects to bootstrap.servers.",
    )

    # --- sockets ----------------------------------------------------------------------------------------------------
    send_buffer_bytes = whole(
        "send.buffer.bytes",
        131_072,
        "Size of the TCP send buffer (SO_SNDBUF). -1 uses the default of the operating system.",
        low=-1,
    )
    receive_buffer_bytes = whole(
        "receive.buffer.bytes",
        65_536,
        "Size of the TCP receive buffer (SO_RCVBUF). -1 uses the default of the operating system.",
        low=-1,
    )
    max_in_flight_requests_per_connection = whole(
        "max.in.flight.requests.per.connection", 100, "Maximum number of requests in flight on one connection.", low=1
    )

    @property
    def api_timeout_ms(self) -> int:
        return self.default_api_timeout_ms

    @property
    def uses_tls(self) -> bool:
        return self.security_protocol.endswith("SSL")

    def lent(self) -> tuple[Self, Owned[object] | None]:
        """Return the config for a client's threads, and the object that keeps its token callback alive, if any."""
        declared = ClientConfig.sasl_oauthbearer_token_callback
        callback = self.sasl_oauthbearer_token_callback
        if callback is None:
            return self, None
        owned = Owned(callback)
        return self.with_value(declared.name, owned.lend(declared.name)), owned

    @property
    def uses_sasl(self) -> bool:
        return self.security_protocol.startswith("SASL")

    def api_timeout_property(self) -> Property[int]:
        return type(self).default_api_timeout_ms

    def _settle(self) -> None:
        kind = type(self)
        if not self.bootstrap_servers:
            raise ConfigError("bootstrap.servers is not set: add at least one host:port", key="bootstrap.servers")
        self._settle_security_protocol()
        # A connect timeout given alone is the limit of every attempt. Source: the draft of KIP-601. Differs: in Java it
        # is the limit of the first attempt and doubles.
        connect, longest_connect = kind.socket_connection_setup_timeout_ms, kind.socket_connection_setup_timeout_max_ms
        if self.is_given(connect):
            self._default(longest_connect, self.values[connect.name])
        # A first limit above the default maximum raises the maximum, so that the given limit applies. Differs: Java
        # reduces the connection limit silently and disables exponential backoff.
        for first, longest in (
            (connect, longest_connect),
            (kind.reconnect_backoff_ms, kind.reconnect_backoff_max_ms),
            (kind.retry_backoff_ms, kind.retry_backoff_max_ms),
        ):
            if self.values[first.name] > self.values[longest.name]:
                self._settle_ceiling(first, longest)
        if self.client_dns_lookup != "use_all_dns_ips":
            name = kind.client_dns_lookup.name
            text = f"{name}={self.client_dns_lookup} is not supported: list the canonical names in bootstrap.servers"
            raise ConfigError(text, key=name)

    def _settle_ceiling(self, first: Property[int], longest: Property[int]) -> None:
        if self._both_given(first, longest):
            self._refuse(first, longest, f"the maximum must be at least {first.name}")
        lower, value = (first, longest) if self.is_given(longest) else (longest, first)
        self.values[lower.name] = self.values[value.name]

    def _settle_security_protocol(self) -> None:
        kind = type(self)
        prefix = read_bootstrap(self.given[kind.bootstrap_servers.name])[1]
        if prefix is not None:
            if self.is_given(kind.security_protocol) and prefix != self.security_protocol:
                raise ConfigError(
                    f"bootstrap.servers starts with {prefix}://, but security.protocol is {self.security_protocol}",
                    key="security.protocol",
                )
            self._default(kind.security_protocol, prefix)
        # Differs: GSSAPI is the default in Java; kctl requires a Kerberos setting.
        is_chosen = self.is_given(kind.sasl_mechanism) or self.is_given(kind.sasl_kerberos_service_name)
        if self.uses_sasl and not is_chosen and "Krb5LoginModule" not in (self.sasl_jaas_config or ""):
            raise ConfigError(
                f"sasl.mechanism is not set: for {self.security_protocol}, use one of {', '.join(SASL_MECHANISMS)}",
                key="sasl.mechanism",
            )

    def _both_given(self, first: Property[int], second: Property[int]) -> bool:
        return self.is_given(first) and self.is_given(second)


class AdminConfig(ClientConfig):
    """Properties of an admin client: shorter idle time, and retries."""

    __slots__ = ()
    KIND: ClassVar[str] = "admin"

    connections_max_idle_ms = duration(
        "connections.max.idle.ms",
        300_000,
        "Idle time after which a connection is closed. -1 keeps idle connections open.",
        low=-1,
    )
    enable_metrics_push = flag(
        "enable.metrics.push", False, "Accepted for compatibility. kctl never sends client metrics."
    )
    retries = whole("retries", INT_MAX, "Maximum number of retries of a failed request within a call.")
