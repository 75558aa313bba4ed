"""ProbeResult: how one round of a probe ended, and how each address stands. Values, no words."""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from kctl.cli.exit_codes import ExitCode
from kctl.client.cluster import Node
from kctl.client.errors import ConnectTimeout, RequestTimeout
from kctl.client.events import Phase
from kctl.client.probe import AddressReport, CoordinatorReport, ProbeFinding

PHASES = (Phase.DNS, Phase.TCP, Phase.TLS, Phase.APIVERSIONS, Phase.SASL, Phase.METADATA)
"""The phases of an address, in their order."""


class AddressStatus(Enum):
    """How an address stands."""

    READY = "ready"
    FAILED = "failed"
    EXPIRED = "expired"
    UNFINISHED = "unfinished"


class ProbeResult(NamedTuple):
    """One round, judged.

    Attributes: number: which round, from 1; started_at_ms: its beginning on the clock of events; elapsed_ms: how long
    it took; wall_ms: the present, since the epoch.
    """

    number: int
    started_at_ms: int
    elapsed_ms: int
    wall_ms: int
    reports: Sequence[AddressReport]
    coordinator: CoordinatorReport | None
    findings: Sequence[ProbeFinding]
    code: ExitCode = ExitCode.OK


def outcome(report: AddressReport) -> AddressStatus:
    """Return how an address stands, now or in the end."""
    if report.error is not None:
        return (
            AddressStatus.EXPIRED if isinstance(report.error, ConnectTimeout | RequestTimeout) else AddressStatus.FAILED
        )
    return AddressStatus.READY if report.is_ready else AddressStatus.UNFINISHED


def count(reports: Sequence[AddressReport], *outcomes: AddressStatus) -> int:
    """Return how many addresses stand like that."""
    return sum(outcome(report) in outcomes for report in reports)


def brokers(reports: Sequence[AddressReport]) -> list[Node]:
    """Return every broker that any node advertises, once, by id."""
    views = [report.view for report in reports if report.view is not None]
    found = {broker: None for view in views for broker in (*view.brokers, *view.fenced)}
    return sorted(found, key=lambda each: (each.node_id, each.host, each.port, each.rack or ""))


def latency_ms(report: AddressReport) -> int:
    """Return how long it took from the look-up of the name to the answer of Metadata; of a ready address only."""
    return sum(report.phases_ms.values())
