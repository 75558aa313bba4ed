"""Probe events and results as JSON objects, version 1 of docs/schemas/probe.v1.json.

Within a version, fields are added, never renamed or removed.
"""

from collections.abc import Mapping
from typing import Any

from kctl.cli.limit_names import with_options
from kctl.cli.probe.view.result import AddressStatus, ProbeResult, brokers, count, outcome
from kctl.cli.probe.view.statistics import AddressKey, AddressLatencies
from kctl.cli.probe.view.text import LoggedEvent
from kctl.cli.trace.event_objects import error_object, target_object
from kctl.cli.trace.event_objects import event_object as trace_object
from kctl.client.cluster import Node
from kctl.client.probe import AddressReport, CoordinatorReport, ProbeFinding, TlsReport, api_name
from kctl.version import VERSION

SCHEMA_VERSION = 1


def event_object(event: LoggedEvent, started_at_ms: int, round_number: int = 1) -> dict[str, Any]:
    """Return an event as plain values. `at_ms` counts from `started_at_ms`."""
    return {"v": SCHEMA_VERSION, "event": "", "round": round_number, **trace_object(event, started_at_ms)}


def summary_object(
    result: ProbeResult, started_at_ms: int, statistics: Mapping[AddressKey, AddressLatencies] | None = None
) -> dict[str, Any]:
    """Return the result of a round: addresses, findings, and exit code."""
    return {
        "v": SCHEMA_VERSION,
        "event": "summary",
        "round": result.number,
        "at_ms": result.started_at_ms + result.elapsed_ms - started_at_ms,
        "elapsed_ms": result.elapsed_ms,
        "time_ms": result.wall_ms,
        "kctl": VERSION,
        "exit_code": int(result.code),
        "ready": count(result.reports, AddressStatus.READY),
        "failed": count(result.reports, AddressStatus.FAILED, AddressStatus.EXPIRED),
        "unfinished": count(result.reports, AddressStatus.UNFINISHED),
        "brokers": [_node(broker) for broker in brokers(result.reports)],
        "coordinator": None if result.coordinator is None else _coordinator(result.coordinator),
        "findings": [_finding(finding) for finding in result.findings],
        "addresses": [address_object(report) for report in result.reports],
        "statistics": None if statistics is None else [_statistics(*item) for item in statistics.items()],
    }


def address_object(report: AddressReport) -> dict[str, Any]:
    view, broker = report.view, report.broker
    return {
        **target_object(report.target),
        "advertised": report.advertised,
        "outcome": outcome(report).value,
        "phase": report.phase.value,
        "elapsed_ms": report.elapsed_ms,
        "limit_ms": report.limit_ms,
        "phases_ms": {phase.value: ms for phase, ms in report.phases_ms.items()},
        "error": None if report.error is None else error_object(report.error),
        "works_with": report.works_with or None,
        "answers_as": report.answers_as,
        "advertised_as": None if broker is None else _node(broker),
        "cluster_id": None if view is None else view.cluster_id,
        "controller_id": None if view is None else view.controller_id,
        "tls": None if report.tls is None else _tls(report.tls),
        "sasl_mechanisms": list(report.sasl_mechanisms),
        "api_versions": {api_name(key): list(offer) for key, offer in sorted(report.versions.items())},
        "features": dict(sorted(report.features.items())),
        "idle": None
        if report.idle is None
        else {
            "idle_ms": report.idle.idle_ms,
            "error": None if report.idle.error is None else error_object(report.idle.error),
        },
    }


def _node(node: Node) -> dict[str, Any]:
    return {"node_id": node.node_id, "host": node.host, "port": node.port, "rack": node.rack}


def _finding(finding: ProbeFinding) -> dict[str, Any]:
    return {
        "id": finding.id,
        "severity": finding.severity.value,
        "where": finding.where,
        "text": with_options(finding.text),
        "hint": with_options(finding.hint),
    }


def _coordinator(found: CoordinatorReport) -> dict[str, Any]:
    return {
        "group": found.group_id,
        "node": None if found.node is None else _node(found.node),
        "partition": found.partition,
        "leader_id": found.leader_id,
        "error": None if found.error is None else error_object(found.error),
    }


def _tls(tls: TlsReport) -> dict[str, Any]:
    return {
        "version": tls.version or None,
        "cipher": tls.cipher or None,
        "asked_for": tls.asked_for or None,
        "client_certificate_asked": tls.is_client_certificate_asked,
        "chain": [
            {
                "subject": certificate.subject,
                "issuer": certificate.issuer,
                "not_before_ms": certificate.not_before_ms,
                "not_after_ms": certificate.not_after_ms,
                "names": list(certificate.names),
            }
            for certificate in tls.chain
        ],
    }


def _statistics(place: AddressKey, latencies: AddressLatencies) -> dict[str, Any]:
    return {
        "host": place.host,
        "port": place.port,
        "address": place.address or None,
        "sent": latencies.sent,
        "ok": latencies.ok,
        "loss": round(latencies.loss, 4),
        "last_ms": latencies.last_ms,
        "avg_ms": None if latencies.average_ms is None else round(latencies.average_ms, 1),
        "best_ms": latencies.best_ms,
        "worst_ms": latencies.worst_ms,
        "p99_ms": latencies.percentile_ms(0.99),
    }
