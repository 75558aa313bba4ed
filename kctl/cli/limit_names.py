"""Names of limits: errors of the client have properties, users of the command line have options."""

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
"""Options that are another way to write a property: its default and its words are theirs."""
OPTION_OF_LIMIT = {name: option for option, name in PROPERTY_OF_OPTION.items() if name.endswith(".ms")} | {
    "max.block.ms": "--api-timeout",
    "close(timeout)": "--close-timeout",
    "idle_ms": "--idle",
    "max_decompressed_bytes": "kctl consume --max-memory raises it",
}
"""Options by the client's name of a limit."""

_LIMIT = re.compile(rf"(\((?:the rest of )?)({'|'.join(map(re.escape, OPTION_OF_LIMIT))})(?=[ )])")
_LONGER = re.compile(r"(?<=use a longer )default\.api\.timeout\.ms\b")
_PROTOCOL = re.compile(r"\b(try|use) security\.protocol=")
_REFUSED = re.compile(r"(?<=\bbootstrap\.refused\.timeout\.ms=-1 )(?=retries)")


class DerivedLimits:
    """Options whose values a command derives from another option, which its messages name."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def derive(self, option: str, name: str) -> None:
        """Have messages show `name` as the limit in place of an option, such as `--delivery-timeout`."""
        self._names[option] = name

    def named(self, text: str) -> str:
        """Return a text with the names of the limits from which others are derived."""
        options = "|".join(map(re.escape, self._names))
        return re.sub(rf"\(({options})(?=[ )])", lambda found: f"({self._names[found[1]]}", text) if options else text


def with_options(text: str) -> str:
    """Return a text of the client with the options of the command line for limits and properties."""
    text = _LIMIT.sub(lambda found: found[1] + OPTION_OF_LIMIT[found[2]], text)
    text = _LONGER.sub(lambda found: OPTION_OF_LIMIT[found[0]], text)
    return _REFUSED.sub("(--no-fail-fast) ", _PROTOCOL.sub(r"\1 --security-protocol ", text))
