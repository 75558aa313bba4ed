"""Parser of `--resolve host:port:ip`, the format of curl."""

import ipaddress
import re
from collections.abc import Iterable

from kctl.client.runtime import Address

_GIVEN = re.compile(r"(?P<host>\[[^\[\]]+\]|[^:\[\]]+):(?P<port>\d{1,5}):(?P<ip>\[[^\[\]]+\]|[^:\[\]]+)", re.ASCII)
_FORM = "use host:port:ip, such as kafka.example:9092:10.0.0.1, with IPv6 addresses in brackets"
_LAST_PORT = 65_535

Resolved = dict[tuple[str, int], list[Address]]


def parse_resolve(texts: Iterable[str]) -> Resolved:
    """Return the IP addresses of each (host, port).

    Raises: ValueError: a text is invalid. The message contains the correct form.
    """
    found: Resolved = {}
    for text in texts:
        match = _GIVEN.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"invalid {text!r}: {_FORM}")
        port = int(match["port"])
        if not 1 <= port <= _LAST_PORT:
            raise ValueError(f"invalid port {port} in {text!r}: use 1 to {_LAST_PORT}")
        try:
            ip = ipaddress.ip_address(match["ip"].strip("[]"))
        except ValueError:
            raise ValueError(f"invalid IP address {match['ip']} in {text!r}: {_FORM}") from None
        address = Address(str(ip), port, is_ipv6=ip.version == 6)
        found.setdefault((match["host"].strip("[]"), port), []).append(address)
    return found
