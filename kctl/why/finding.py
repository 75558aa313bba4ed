"""Finding and FindingKind: one thing that is wrong, and the row of the table that it is an instance of.

A row has the sentence and the commands as templates; a finding fills in names and numbers. Names come from brokers and
clients, so that commands quote them for a shell.
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from kctl.client.probe import Severity as Severity
from kctl.client.wording import one_line
from kctl.grammar.command_lines import fill_command

OPTIONAL = frozenset({"load", "cause", "more", "others", "rate", "rest", "ghost", "skip", "who"})
"""Fields that may be empty; they bring their own punctuation."""
_FIELD = re.compile(r"\{(\w+)\}")
PROBE = "connecting"
"""Not an API: DNS, TCP, TLS, login and the first requests of a connection, as kctl probe makes it."""
NEWEST_TIMESTAMPS = "ListOffsets by timestamp"
"""ListOffsets for the record with the largest timestamp, which brokers have since Kafka 3.0."""

_IDENTIFIERS = frozenset({"broker", "epoch", "leader", "newest", "node", "number", "old", "other", "producer"})
"""Fields whose numbers are names, and are written without commas."""

Value = str | int | float | bool | None
"""What a request reported."""


class Scope(Enum):
    """What `kctl why` is asked about."""

    GROUP = "group"
    TOPIC = "topic"
    CLUSTER = "cluster"


class Evidence(NamedTuple):
    """What one request reported: Kafka's name of the API, what it was about, and the values."""

    request: str
    of: str
    values: Mapping[str, Value]


class Finding(NamedTuple):
    """One thing that is wrong.

    Attributes:
        subject: what it is about: `group billing`, `partition orders-3`, `broker 2`.
        leads_to: what happens if nothing is done.
        show: the command that shows more.
        cure: the command that cures it, or what to do where no command does.
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
    """One row of the table.

    Attributes:
        title: what it is, for headings and lists.
        scopes: for which subjects it is looked for.
        looks: how many looks it needs; apart_ms: how long apart they are at least.
        requests: the APIs whose responses it needs, by Kafka's names.
        subject, sentence, show, cure: templates; names in braces are filled in.
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
        """Return the finding with these values in its sentence, its subject and its commands."""
        return Finding(
            self.id,
            self.severity,
            fill(self.subject, values),
            fill(self.sentence, values),
            tuple(evidence),
            fill(self.leads_to, values),
            fill_command(self.show, values),
            fill_command(self.cure, values) if is_command(self.cure) else fill(self.cure, values),
        )


def is_command(text: str) -> bool:
    """Return whether a template is a command line; anything else is said in words."""
    return text.startswith("kctl ")


def fill(template: str, values: Mapping[str, Value]) -> str:
    """Return a text with values in it: counts and offsets with commas; control characters of names as escapes."""
    shown = {name: str(value) if name in _IDENTIFIERS else value for name, value in values.items()}
    return template.format_map({name: _shown(value) for name, value in shown.items()})


def _shown(value: Value) -> str:
    if isinstance(value, bool) or not isinstance(value, int):
        return one_line(str(value))
    return f"{value:,}"
