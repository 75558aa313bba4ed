"""Parser of bootstrap.servers: `host:port` or `[IPv6]:port`, with an optional prefix such as `SASL_SSL://`.

The default port is 9092, as in librdkafka. Differs: Java requires a port.
"""

import re
from typing import NamedTuple

from kctl.client.config.property import Kind, shown
from kctl.client.wording import place_text

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
ANY_PROTOCOL = "kafka"
"""Prefix of URLs of other tools, without a security protocol."""
LONGEST_HOST = 253
HIGHEST_PORT = 65535
DEFAULT_PORT = 9092

_ENTRY = re.compile(
    r"(?:(?P<scheme>[^:/\[\]]*)://)?"
    r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:%[\w.-]+)?)\]|(?P<host>[^\s:/@\[\]]+))"
    r":(?P<port>[0-9]{1,5})"
)
_BARE_IPV6 = re.compile(r"[0-9A-Fa-f:.]+(%[\w.-]+)?(:[0-9]+)?")
_NO_PORT = re.compile(r"(?:[A-Za-z_]+://)?(?:\[[^\]]*\]|[\w.-]+)")


class Endpoint(NamedTuple):
    """Address of a broker; an IPv6 `host` has no brackets."""

    host: str
    port: int

    def __str__(self) -> str:
        return place_text(self.host, self.port)


class BootstrapServers(Kind[tuple[Endpoint, ...]]):
    accepted = "a comma-separated list of host:port"

    def read(self, raw: object) -> tuple[Endpoint, ...]:
        return read_bootstrap(raw)[0]

    def write(self, value: tuple[Endpoint, ...]) -> str:
        return ",".join(map(str, value))


def read_bootstrap(raw: object) -> tuple[tuple[Endpoint, ...], str | None]:
    """Return the endpoints of bootstrap.servers, and their security protocol or None. Raises: ValueError."""
    if isinstance(raw, str):
        raw = raw.split(",")
    if not isinstance(raw, list | tuple):
        raise ValueError
    endpoints: list[Endpoint] = []
    protocols: list[str] = []
    for entry in raw:
        if not isinstance(entry, str):
            raise ValueError(f"entry {shown(entry)} is not a string")
        if not entry.strip():
            continue  # Java ignores a trailing comma as well
        endpoint, protocol = read_entry(entry.strip())
        if endpoint not in endpoints:
            endpoints.append(endpoint)
        if protocol is not None and protocol not in protocols:
            protocols.append(protocol)
    if not endpoints:
        raise ValueError("the list is empty")
    if len(protocols) > 1:
        raise ValueError(f"the entries have different security protocols: {' and '.join(protocols)}")
    return tuple(endpoints), protocols[0] if protocols else None


def read_entry(entry: str) -> tuple[Endpoint, str | None]:
    """Return the endpoint of an entry, and its security protocol or None. Raises: ValueError: the entry is invalid."""
    match = _ENTRY.fullmatch(f"{entry}:{DEFAULT_PORT}" if has_no_port(entry) else entry)
    if match is None or entry.startswith("-"):
        raise ValueError(f"entry {shown(entry)} {_why_not(entry)}")
    scheme, port = match["scheme"], int(match["port"])
    if scheme is not None and scheme.lower() == ANY_PROTOCOL:
        scheme = None
    if scheme is not None and scheme.upper() not in SECURITY_PROTOCOLS:
        raise ValueError(
            f"entry {shown(entry)}: invalid protocol {shown(scheme)}: use one of {', '.join(SECURITY_PROTOCOLS)}"
        )
    if not 1 <= port <= HIGHEST_PORT:
        raise ValueError(f"entry {shown(entry)}: the port must be from 1 to {HIGHEST_PORT}")
    host = match["ipv6"] or match["host"]
    if len(host) > LONGEST_HOST:
        raise ValueError(f"entry {shown(entry)}: the host name has more than {LONGEST_HOST} characters")
    return Endpoint(host, port), scheme.upper() if scheme is not None else None


def has_no_port(entry: str) -> bool:
    """Return whether an entry is only a host. A number is not a host, but a port without one."""
    return _NO_PORT.fullmatch(entry) is not None and not entry.isdecimal()


def _is_entry(text: str) -> bool:
    return has_no_port(text) or _ENTRY.fullmatch(text) is not None


def _why_not(entry: str) -> str:
    if entry.startswith("-"):  # `-b $SERVERS -q` with an empty variable; no host name starts like this (RFC 1123)
        return "looks like an option: add servers before it"
    if entry.count(":") > 1 and _BARE_IPV6.fullmatch(entry):
        return "looks like an IPv6 address: use brackets, such as [::1]:9092"
    if entry.isdecimal():
        return f"has no host: did you mean localhost:{entry}?"
    if any(separator in entry for separator in "; ") and all(map(_is_entry, re.split("[; ]+", entry))):
        return f"contains several servers: separate them with commas: {','.join(re.split('[; ]+', entry))}"
    if _NO_PORT.fullmatch(entry.removesuffix(":")):
        return f"has no port: did you mean {entry.removesuffix(':')}:{DEFAULT_PORT}?"
    return "is not in the form host:port"
