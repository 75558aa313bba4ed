"""Texts of a probe: states, findings and facts."""

from collections.abc import Iterable, Sequence
from typing import TypeGuard

from kctl.cli.failures import exit_code
from kctl.cli.limit_names import with_options
from kctl.cli.probe.view.result import AddressStatus, ProbeResult, count
from kctl.client.clock import Timer
from kctl.client.events import Event, Expired, Failed, Lost, PhaseDone, Ready, Started
from kctl.client.probe import DAY_MS, AddressReport, ProbeFinding, TlsReport
from kctl.client.wording import counted, listed, one_line
from kctl.grammar.durations import show_duration

LoggedEvent = Started | PhaseDone | Ready | Failed | Expired | Lost
"""Events that a probe prints."""


def is_logged(event: Event) -> TypeGuard[LoggedEvent]:
    return isinstance(event, LoggedEvent)


def shown(text: str) -> str:
    """Return a client text for the terminal, on one line and with option names."""
    return one_line(with_options(text))


def event_line(event: LoggedEvent, started_at_ms: int) -> str:
    """Return the line of an event, which starts with the time since `started_at_ms`."""
    return shown(f"{event.at_ms - started_at_ms:>6} ms  {event.target}  {_words(event)}")


def _words(event: LoggedEvent) -> str:
    if isinstance(event, Started):
        return f"{event.phase.value} started, limit {show_duration(event.limit_ms)}"
    if isinstance(event, PhaseDone):
        detail = f": {event.detail}" if event.detail else ""
        return f"{event.phase.value} done in {event.elapsed_ms} ms{detail}"
    if isinstance(event, Ready):
        return f"connected after {event.elapsed_ms} ms"
    error = str(event.error).removeprefix(f"{event.target}: ")
    if isinstance(event, Lost):
        return f"lost: {error}"
    outcome, phase = "failed" if isinstance(event, Failed) else "expired", event.phase.value
    return f"{outcome} in {phase} after {event.elapsed_ms} ms: {error.removesuffix(f' [phase {phase}]')}"


MOST_FINDINGS = 50
"""Maximum number of printed findings."""
MOST_FACTS = 20
NAME_UNFINISHED_AFTER_MS = 1000
_MOST_PLACES = 3


def state(report: AddressReport) -> str:
    """Return the state of an address, with the broker and its advertised address."""
    if report.error is not None:
        return shown(report.reason)
    if not report.is_ready:
        return f"in {report.phase.value}"
    broker = report.broker
    if broker is None:
        return "ready"
    words = f"ready as broker {broker.node_id}"
    if (broker.host, broker.port) != (report.target.host, report.target.port):
        words += f", advertised as {broker.host}:{broker.port}"
    return one_line(words)


def name(report: AddressReport) -> str:
    """Return the address, preceded by its broker if the cluster advertised the address."""
    place = one_line(str(report.target))
    return f"broker {report.target.node_id} {place}" if report.advertised else place


def summary(reports: Sequence[AddressReport]) -> str:
    """Return the counts by state, such as `2 of 3 addresses ready, 1 failed`."""
    failed, unfinished = (
        count(reports, AddressStatus.FAILED, AddressStatus.EXPIRED),
        count(reports, AddressStatus.UNFINISHED),
    )
    words = f"{count(reports, AddressStatus.READY)} of {len(reports)} addresses ready"
    if failed:
        words += f", {failed} failed"
    if unfinished:
        words += f", {unfinished} under way"
    return words


def round_progress(reports: Sequence[AddressReport], timer: Timer) -> str:
    """Return the progress of a round. After NAME_UNFINISHED_AFTER_MS, it contains an unfinished address."""
    words = f"{counted(len(reports), 'address', 'addresses')}, {timer.remaining_ms / 1000:.0f}s left"
    unfinished = [each for each in reports if not (each.is_ready or each.is_done or each.error is not None)]
    if unfinished and timer.elapsed_ms >= NAME_UNFINISHED_AFTER_MS:
        words += f", {one_line(str(unfinished[0].target))} {state(unfinished[0])}"
        words += f", and {len(unfinished) - 1} more" if unfinished[1:] else ""
    return words


def finding_lines(findings: Sequence[ProbeFinding]) -> list[str]:
    lines: list[str] = []
    for finding in findings[:MOST_FINDINGS]:
        where = f" {finding.where}" if finding.where else ""
        lines.append(f"{finding.severity.value.upper()} {finding.id}{where}: {finding.text}")
        if finding.hint:
            lines.append(f"  hint: {finding.hint}")
    if len(findings) > MOST_FINDINGS:
        lines.append(f"and {len(findings) - MOST_FINDINGS} more findings. List all findings with --output json")
    return [shown(line) for line in lines]


def fact_lines(result: ProbeResult) -> list[str]:
    lines = [
        *_cluster(result.reports),
        *_names(result.reports),
        *_tls(result),
        *_mechanisms(result.reports),
        *_coordinator(result),
        *_idle(result.reports),
    ]
    return [shown(line) for line in lines]


def _cluster(reports: Sequence[AddressReport]) -> Iterable[str]:
    views = [report.view for report in reports if report.view is not None]
    seen = {str(view.cluster_id): view for view in reversed(views)}
    seen |= {str(view.cluster_id): view for view in reversed(views) if view.has_controller}
    for cluster_id, view in seen.items():
        controller = f", controller {view.controller_id}" if view.has_controller else ""
        yield f"cluster {cluster_id}: {counted(len(view.brokers), 'broker')}{controller}"


def _names(reports: Sequence[AddressReport]) -> Iterable[str]:
    pairs: dict[str, None] = {}
    for report in reports:
        broker = report.broker
        if not report.advertised and broker is not None:
            place = (report.target.host, report.target.port)
            if place != (broker.host, broker.port):
                pairs[f"{report.target} is broker {broker.node_id}, advertised as {broker.host}:{broker.port}"] = None
    yield from _first(list(pairs), "brokers with other advertised addresses")


def _tls(result: ProbeResult) -> Iterable[str]:
    seen: dict[TlsReport, list[str]] = {}
    for report in result.reports:
        if report.tls is not None:
            seen.setdefault(report.tls._replace(asked_for=""), []).append(str(report.target))
    lines: list[str] = []
    for tls, places in seen.items():
        agreed = f"{tls.version} {tls.cipher}" if tls.version else "TLS refused"
        asked = {None: "not known", True: "requested", False: "not requested"}[tls.is_client_certificate_asked]
        lines.append(f"tls {_places(places)}: {agreed}, client certificate {asked}")
        for certificate in tls.chain:
            days = (certificate.not_after_ms - result.wall_ms) // DAY_MS
            until = f"until {certificate.not_after} ({days} days)" if days >= 0 else f"expired {certificate.not_after}"
            names = f", for {', '.join(certificate.names)}" if certificate.names else ""
            lines.append(f"  certificate {certificate.subject}, issuer {certificate.issuer}, {until}{names}")
    yield from _first(lines, "lines about TLS")


def _mechanisms(reports: Sequence[AddressReport]) -> Iterable[str]:
    seen: dict[tuple[str, ...], list[str]] = {}
    for report in reports:
        if report.sasl_mechanisms:
            seen.setdefault(report.sasl_mechanisms, []).append(str(report.target))
    for mechanisms, places in seen.items():
        yield f"sasl {_places(places)}: offers {', '.join(mechanisms)}"


def _coordinator(result: ProbeResult) -> Iterable[str]:
    found = result.coordinator
    if found is not None and found.node is not None:
        node = found.node
        where = "" if found.partition is None else f", on __consumer_offsets-{found.partition}"
        yield f"group {found.group_id}: coordinator is broker {node.node_id}, {node.host}:{node.port}{where}"


def _idle(reports: Sequence[AddressReport]) -> Iterable[str]:
    tested = [report.idle for report in reports if report.idle is not None]
    if tested:
        alive = [idle for idle in tested if idle.error is None]
        longest = show_duration(max(idle.idle_ms for idle in tested))
        yield f"idle: {len(alive)} of {len(tested)} connections survived {longest} without traffic"


def _places(places: Sequence[str]) -> str:
    return listed(places, _MOST_PLACES)


def _first(lines: Sequence[str], what: str) -> Iterable[str]:
    yield from lines[:MOST_FACTS]
    if len(lines) > MOST_FACTS:
        yield f"and {len(lines) - MOST_FACTS} more {what}"


def blocked_by(result: ProbeResult) -> ProbeFinding | None:
    """Return the finding that explains the exit code, otherwise the first finding with an error, or any finding."""
    own = [finding for finding in result.findings if finding.error is not None]
    exact = [finding for finding in own if finding.error is not None and exit_code(finding.error) is result.code]
    return next(iter((*exact, *result.findings)), None)
