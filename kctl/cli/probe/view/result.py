"""Result of one round of a probe, and the state of its addresses."""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from kctl.cli.exit_codes import ExitCode
from kctl.client.cluster import Node
from kctl.client.errors import ConnectTimeout, RequestTimeout
from kctl.client.events import Phase
from kctl.client.probe import AddressReport, CoordinatorReport, ProbeFinding

PHASES = (Phase.DNS, Phase.TCP, Phase.TLS, Phase.APIVERSIONS, Phase.SASL, Phase.METADATA)
"""Phases of an address, in order."""


class AddressStatus(Enum):
    READY = "ready"
    FAILED = "failed"
    EXPIRED = "expired"
    UNFINISHED = "unfinished"


class ProbeResult(NamedTuple):
    """Result of one round.

    Attributes:
        number: number of the round, from 1.
        started_at_ms: start on the clock of events.
        wall_ms: start, since the epoch.
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
    if report.error is not None:
        return (
            AddressStatus.EXPIRED if isinstance(report.error, ConnectTimeout | RequestTimeout) else AddressStatus.FAILED
        )
    return AddressStatus.READY if report.is_ready else AddressStatus.UNFINISHED


def count(reports: Sequence[AddressReport], *outcomes: AddressStatus) -> int:
    return sum(outcome(report) in outcomes for report in reports)


def brokers(reports: Sequence[AddressReport]) -> list[Node]:
    """Return all advertised brokers, including fenced brokers, without duplicates and sorted by ID."""
    views = [report.view for report in reports if report.view is not None]
    found = {broker: None for view in views for broker in (*view.brokers, *view.fenced)}
    return sorted(found, key=lambda each: (each.node_id, each.host, each.port, each.rack or ""))


def latency_ms(report: AddressReport) -> int:
    """Return the time from the DNS query to the Metadata response of a ready address."""
    return sum(report.phases_ms.values())
