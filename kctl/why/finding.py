"""Finding, and FindingKind, its row in the table.

Rows have templates for texts and commands. Values of brokers and clients are quoted in commands.
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from kctl.client.probe import Severity as Severity
from kctl.client.wording import one_line
from kctl.grammar.command_lines import STOP, fill_command

OPTIONAL = frozenset(
    {"load", "cause", "more", "others", "rate", "rest", "ghost", "skip", "stop", "who", "hot", "elsewhere"}
)
"""Fields that may be empty. Their values include punctuation."""
_FIELD = re.compile(r"\{(\w+)\}")
PROBE = "connecting"
"""Request name for the steps of a connection, as in kctl probe: DNS, TCP, TLS, login, and the first requests."""
NEWEST_TIMESTAMPS = "ListOffsets by timestamp"
"""ListOffsets for the record with the largest timestamp, available since Kafka 3.0."""

_IDENTIFIERS = frozenset({"broker", "epoch", "leader", "newest", "node", "number", "old", "other", "producer"})
"""Fields with identifying numbers, which have no thousands separators."""

Value = str | int | float | bool | None
"""Value in a response."""


class Scope(Enum):
    """Subject of a diagnosis."""

    GROUP = "group"
    TOPIC = "topic"
    CLUSTER = "cluster"


class Evidence(NamedTuple):
    """Part of a response.

    Attributes:
        request: Kafka's name of the API.
        of: subject of the request.
    """

    request: str
    of: str
    values: Mapping[str, Value]


class Finding(NamedTuple):
    """Problem that was found.

    Attributes:
        subject: affected object: `group billing`, `partition orders-3`, `broker 2`.
        leads_to: consequence if nothing is done.
        show: command that shows details.
        cure: command or instruction that fixes the problem.
    """

    id: str
    severity: Severity
    subject: str
    sentence: str
    evidence: tuple[Evidence, ...]
    leads_to: str
    show: str
    cure: str


class FindingKind(NamedTuple):
    """Row of the table.

    Attributes:
        title: short description, for headings and lists.
        scopes: scopes that include the finding.
        looks: number of looks needed.
        apart_ms: minimum time between two looks, in ms.
        requests: needed APIs, by Kafka's names.
        subject, sentence, show, cure: templates with names in braces.
    """

    id: str
    severity: Severity
    title: str
    scopes: tuple[Scope, ...]
    looks: int
    requests: tuple[str, ...]
    subject: str
    sentence: str
    leads_to: str
    show: str
    cure: str
    apart_ms: int = 0

    def found(self, values: Mapping[str, Value], evidence: Sequence[Evidence]) -> Finding:
        """Return the finding with the values in its texts and commands."""
        return Finding(
            self.id,
            self.severity,
            fill(self.subject, values),
            fill(self.sentence, values),
            tuple(evidence),
            fill(self.leads_to, values),
            fill_command(self.show, values),
            (fill_command if is_command(self.cure) else fill)(self.cure, values),
        )


def is_command(text: str) -> bool:
    return text.removeprefix(STOP).startswith("kctl ")


def fill(template: str, values: Mapping[str, Value]) -> str:
    """Return a text with values. Numbers get thousands separators, and control characters are escaped."""
    shown = {name: str(value) if name in _IDENTIFIERS else value for name, value in values.items()}
    return template.format_map({name: _shown(value) for name, value in shown.items()})


def _shown(value: Value) -> str:
    if isinstance(value, bool) or not isinstance(value, int):
        return one_line(str(value))
    return f"{value:,}"
