"""Names of limits: client errors contain properties, the command line has options."""

import re

PROPERTY_OF_OPTION = {
    "--bootstrap": "bootstrap.servers",
    "--api-timeout": "default.api.timeout.ms",
    "--connect-timeout": "socket.connection.setup.timeout.ms",
    "--request-timeout": "request.timeout.ms",
    "--delivery-timeout": "delivery.timeout.ms",
    "--security-protocol": "security.protocol",
    "--isolation-level": "isolation.level",
    "--acks": "acks",
    "--compression": "compression.type",
    "--partitioner": "partitioner.class",
    "--transactional-id": "transactional.id",
}
"""Property of each option that has the property's default and values."""
OPTION_OF_LIMIT = {name: option for option, name in PROPERTY_OF_OPTION.items() if name.endswith(".ms")} | {
    "max.block.ms": "--api-timeout",
    "close(timeout)": "--close-timeout",
    "idle_ms": "--idle",
    "max_decompressed_bytes": "set by kctl consume --max-memory",
}
"""Options by the client's name of a limit."""

_LIMIT = re.compile(rf"(\((?:the rest of )?)({'|'.join(map(re.escape, OPTION_OF_LIMIT))})(?=[ )])")
# Each expression begins with literal text: the search for it is 10 times as fast as for a condition.
_LONGER = re.compile(r"use a longer (default\.api\.timeout\.ms)\b")
_PROTOCOL = re.compile(r" security\.protocol=(?<=\btry security\.protocol=|\buse security\.protocol=)")
_REFUSED = re.compile(r"bootstrap\.refused\.timeout\.ms=-1 (?=to retry)")


class DerivedLimits:
    """Options whose value is derived from another option, which messages show instead."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def derive(self, option: str, name: str) -> None:
        """Show `name` as the limit in place of `option`."""
        self._names[option] = name

    def named(self, text: str) -> str:
        """Replace derived options in a text by the options that set them."""
        options = "|".join(map(re.escape, self._names))
        return re.sub(rf"\(({options})(?=[ )])", lambda found: f"({self._names[found[1]]}", text) if options else text


def with_options(text: str) -> str:
    """Replace properties and limits in a client text by command-line options."""
    text = _LIMIT.sub(lambda found: found[1] + OPTION_OF_LIMIT[found[2]], text)
    text = _LONGER.sub(lambda found: f"use a longer {OPTION_OF_LIMIT[found[1]]}", text)
    return _REFUSED.sub(r"\g<0>(--no-fail-fast) ", _PROTOCOL.sub(" --security-protocol ", text))
