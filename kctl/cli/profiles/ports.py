"""Warnings about ports that usually serve another protocol."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from kctl.client.config import ClientConfig

OTHER_SERVICES = {
    2181: "ZooKeeper",
    2888: "ZooKeeper",
    3888: "ZooKeeper",
    8081: "a schema registry",
    8082: "a REST proxy",
    8083: "Kafka Connect",
    9021: "a control center",
    9644: "Redpanda's admin API",
}
TLS_PORTS = (443, 9093, 9094, 9096, 9098)
PLAIN_PORT = 9092
TLS_ON_PLAIN_PORT = (".confluent.cloud", ".servicebus.windows.net")
"""Services that use TLS on port 9092."""


class PortFinding(NamedTuple):
    """Finding about a bootstrap server."""

    level: Literal["warning", "note"]
    text: str


def port_findings(config: ClientConfig) -> Iterator[PortFinding]:
    protocol = config.security_protocol
    for endpoint in config.bootstrap_servers:
        if endpoint.port in OTHER_SERVICES:
            yield PortFinding(
                "warning", f"{endpoint}: the port of {OTHER_SERVICES[endpoint.port]}, not the port of a broker"
            )
        elif endpoint.port in TLS_PORTS and not config.uses_tls:
            yield PortFinding("warning", f"{endpoint}: the port usually uses TLS, but security.protocol={protocol}")
        elif endpoint.port == PLAIN_PORT and config.uses_tls and not endpoint.host.endswith(TLS_ON_PLAIN_PORT):
            yield PortFinding(
                "note", f"{endpoint}: the port usually does not use TLS, but security.protocol={protocol}"
            )
