"""Findings: problems in the reports of a probe, with evidence and hints."""

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from kctl.client.cluster import NO_NODE, Node
from kctl.client.errors import (
    AuthenticationError,
    CertificateExpired,
    ConnectTimeout,
    HostnameMismatch,
    KafkaError,
    KafkaTimeoutError,
    RequestTimeout,
    SaslRequired,
    TlsError,
)
from kctl.client.events import Phase
from kctl.client.network.advertised import advertised_hint
from kctl.client.network.connect_errors import unfinished
from kctl.client.probe.report import AddressReport, CoordinatorReport, ReplicaReport, TlsReport
from kctl.client.protocol.api import api_name
from kctl.client.wording import counted

DAY_MS = 24 * 3600 * 1000


class Severity(Enum):
    ERROR = "error"
    """A function that clients need does not work."""
    WARNING = "warning"
    """The function works, but not everywhere or not for long."""
    NOTE = "note"
    """Information."""


class ProbeFinding(NamedTuple):
    """A problem that the probe found.

    Attributes:
        where: address, broker, or empty for the cluster.
        error: cause, if any.
    """

    id: str
    severity: Severity
    where: str
    text: str
    hint: str = ""
    error: KafkaError | None = None


def diagnose(
    reports: Sequence[AddressReport],
    coordinator: CoordinatorReport | None = None,
    *,
    wall_ms: int,
    cert_warn_ms: int = 21 * DAY_MS,
    untried: int = 0,
    replicas: ReplicaReport | None = None,
) -> list[ProbeFinding]:
    """Return the findings of one probe, most severe first.

    Args:
        wall_ms: current time, to check certificates.
        cert_warn_ms: time before its expiry from which a certificate is reported.
        untried: number of advertised brokers that were not tried.
        replicas: replicas of all partitions; None if unknown.
    """
    known = _Known(reports, None if replicas is None else replicas.leads)
    found = [
        *_failed_bootstrap(reports, known),
        *_failed_advertised(reports, known),
        *_places(reports),
        *_misrouted(reports),
        *_clusters(reports),
        *_absent(reports, replicas),
        *_no_controller(reports),
        *_coordinator(coordinator),
        *_idle(reports),
        *_unfinished(reports),
        *_untried(untried),
        *_certificates(reports, wall_ms, cert_warn_ms),
        *_version_skew(reports),
    ]
    order = list(Severity)
    return sorted(found, key=lambda finding: order.index(finding.severity))


def unusable_brokers(reports: Sequence[AddressReport]) -> list[Node]:
    tried = {(report.target.host, report.target.port) for report in reports}
    working = {(report.target.host, report.target.port) for report in reports if report.is_ready}
    failed = tried - working
    return [node for node in _brokers(reports) if (node.host, node.port) in failed]


class _Known:
    """Facts from all reports, for findings about one address.

    Attributes:
        of_node: reports by node id.
        at_place: broker by its advertised host and port.
        has_others: whether a given (not advertised) address works.
    """

    def __init__(self, reports: Sequence[AddressReport], leads: Mapping[int, int] | None) -> None:
        self.of_node: dict[int, list[AddressReport]] = {}
        for report in reports:
            self.of_node.setdefault(report.target.node_id, []).append(report)
        self.at_place = {(node.host, node.port): node for node in reversed(_brokers(reports))}
        self.has_others = any(report.is_ready and not report.advertised for report in reports)
        self._controllers = {report.view.controller_id for report in reports if report.view is not None}
        self._fenced = _fenced(reports)
        self._leads = leads

    def duties(self, broker: Node) -> str:
        """Return a broker with its roles, such as `broker 2, controller, leads 12 partitions`."""
        controller = ", controller" if broker.node_id in self._controllers else ""
        led = "" if self._leads is None else f", leads {counted(self._leads.get(broker.node_id, 0), 'partition')}"
        fenced = ", fenced" if broker in self._fenced else ""
        return f"broker {broker.node_id}{fenced}{controller}{led}, "


def _failed_bootstrap(reports: Sequence[AddressReport], known: _Known) -> Iterable[ProbeFinding]:
    for report in reports:
        if report.advertised or report.error is None:
            continue
        same_node = known.of_node[report.target.node_id]
        ready = [other for other in same_node if other.is_ready]
        where = str(report.target)
        if report.works_with:
            hint = f"use security.protocol={report.works_with}"
            text = f"{_reason(report)}. A second attempt with {report.works_with} succeeded"
            yield ProbeFinding("other-protocol", Severity.ERROR, where, text, hint, report.error)
        elif ready:
            share = f"{len(ready)} of {len(same_node)} addresses of {report.target.host}"
            text = f"{share} work, but this address failed: {_reason(report)}"
            hint = "remove the stale DNS record or repair the route to the address"
            yield ProbeFinding("dead-address", Severity.WARNING, where, text, hint, report.error)
        else:
            yield _failed_node(report, known)


def _failed_node(report: AddressReport, known: _Known) -> ProbeFinding:
    severity = Severity.WARNING if known.has_others else Severity.ERROR
    where, text = str(report.target), _reason(report)
    hint = getattr(report.error, "hint", "")
    if isinstance(report.error, SaslRequired) and report.sasl_mechanisms:
        hint += f" (offered mechanisms: {', '.join(report.sasl_mechanisms)})"
    broker = known.at_place.get((report.target.host, report.target.port))
    if broker is not None:
        severity = Severity.ERROR  # clients of the cluster are sent there
        text = f"{known.duties(broker)}{_predicate(report)}: {text}"
    if isinstance(report.error, AuthenticationError | SaslRequired):
        return ProbeFinding("authentication-failed", severity, where, text, hint, report.error)
    if isinstance(report.error, TlsError):
        return ProbeFinding("tls-failed", severity, where, text, hint, report.error)
    if broker is not None:
        return ProbeFinding("broker-unusable", severity, where, text, _broker_hint(report), report.error)
    return ProbeFinding("bootstrap-unreachable", severity, where, text, hint, report.error)


def _failed_advertised(reports: Sequence[AddressReport], known: _Known) -> Iterable[ProbeFinding]:
    ready_ids = {report.target.node_id for report in reports if report.is_ready}
    for report in reports:
        if not report.advertised or report.error is None:
            continue
        is_partial = report.target.node_id in ready_ids
        is_address = not isinstance(report.error, AuthenticationError | SaslRequired | TlsError)
        if not is_partial and not (is_address and _is_unreached(report)):
            yield _failed_node(report, known)
            continue
        place = f"{report.target.host}:{report.target.port}"
        text = f"bootstrap ok, but broker {report.target.node_id} advertises {place}: {_reason(report)}"
        severity = Severity.WARNING if is_partial else Severity.ERROR
        hint = advertised_hint(report.error)
        yield ProbeFinding("advertised-unusable", severity, str(report.target), text, hint, report.error)


def _is_unreached(report: AddressReport) -> bool:
    """Return whether nothing responded, so the address may be wrong; an address that accepts TCP is right."""
    is_silent = isinstance(report.error, ConnectTimeout | RequestTimeout)
    return not is_silent or report.phase in (Phase.DNS, Phase.TCP)


def _predicate(report: AddressReport) -> str:
    return "does not respond" if isinstance(report.error, ConnectTimeout | RequestTimeout) else "cannot be used"


def _broker_hint(report: AddressReport) -> str:
    if _is_unreached(report):
        return "check the broker and the network path to it"
    return "check the process, disk, and garbage collection of the broker"


def _places(reports: Sequence[AddressReport]) -> Iterable[ProbeFinding]:
    came_by = [report.target for report in reports if not report.advertised and report.is_ready]
    if not came_by or any(_is_loopback(target.address.rpartition(":")[0]) for target in came_by):
        return
    for broker in _brokers(reports):
        if _is_loopback(broker.host):
            place = f"{broker.host}:{broker.port}"
            text = f"broker {broker.node_id} advertises {place}, but the bootstrap server is {came_by[0].host}"
            hint = "set advertised.listeners to a name that clients can reach"
            yield ProbeFinding("advertised-loopback", Severity.ERROR, f"broker {broker.node_id}", text, hint)


def _misrouted(reports: Sequence[AddressReport]) -> Iterable[ProbeFinding]:
    by_place = {(broker.host, broker.port): broker for broker in _brokers(reports)}
    for report in reports:
        expected = by_place.get((report.target.host, report.target.port))
        if report.answers_as is None or expected is None or expected.node_id == report.answers_as:
            continue
        text = f"advertised as broker {expected.node_id}, but broker {report.answers_as} responds there"
        hint = "check the load balancer or port forward of this address"
        yield ProbeFinding("misrouted", Severity.ERROR, str(report.target), text, hint)


def _clusters(reports: Sequence[AddressReport]) -> Iterable[ProbeFinding]:
    by_cluster: dict[str, list[AddressReport]] = {}
    for report in reports:
        if report.view is not None and report.view.cluster_id is not None:
            by_cluster.setdefault(report.view.cluster_id, []).append(report)
    if len(by_cluster) > 1:
        parts = [f"{cluster_id} at {_list(str(r.target) for r in there)}" for cluster_id, there in by_cluster.items()]
        hint = "use only servers of one cluster in bootstrap.servers"
        yield ProbeFinding(
            "two-clusters", Severity.ERROR, "", f"the servers report different cluster ids: {'; '.join(parts)}", hint
        )


def _absent(reports: Sequence[AddressReport], replicas: ReplicaReport | None) -> Iterable[ProbeFinding]:
    unusable = {broker.node_id for broker in unusable_brokers(reports)}
    for broker in sorted(_fenced(reports)):
        if broker.node_id not in unusable:
            text = f"broker {broker.node_id} is fenced: the controller receives no heartbeats from the broker"
            hint = "check the log of the broker and its network path to the controllers"
            yield ProbeFinding("broker-fenced", Severity.ERROR, f"broker {broker.node_id}", text, hint)
    if replicas is None:
        return
    known = {broker.node_id for broker in _brokers(reports)}
    for node_id in sorted(replicas.has.keys() - known):
        text = f"broker {node_id} has replicas of {counted(replicas.has[node_id], 'partition')} but is not registered"
        yield ProbeFinding("broker-missing", Severity.ERROR, f"broker {node_id}", text, "start the broker")
    if replicas.under_replicated:
        count = f"{len(replicas.under_replicated)} of {counted(replicas.partitions, 'partition')}"
        text = f"{count} under-replicated: {_list(map(str, replicas.under_replicated))}"
        hint = "show them with: kctl topics list --under-replicated"
        yield ProbeFinding("under-replicated", Severity.WARNING, "", text, hint)


def _fenced(reports: Sequence[AddressReport]) -> set[Node]:
    return {broker for report in reports if report.view is not None for broker in report.view.fenced}


def _no_controller(reports: Sequence[AddressReport]) -> Iterable[ProbeFinding]:
    views = [report.view for report in reports if report.view is not None and report.error is None]
    if views and all(view.controller_id == NO_NODE for view in views):
        text = "no broker reports an active controller, so topics cannot change and leaders cannot move"
        yield ProbeFinding("no-controller", Severity.WARNING, "", text, "check the controller quorum")


def _coordinator(coordinator: CoordinatorReport | None) -> Iterable[ProbeFinding]:
    if coordinator is None or coordinator.node is not None:
        return
    text = f"no coordinator for group {coordinator.group_id}: {coordinator.error or 'no response'}"
    hint = "try again, because the first group of a cluster creates __consumer_offsets"
    if coordinator.partition is not None:
        leader = "no leader" if coordinator.leader_id == NO_NODE else f"leader {coordinator.leader_id}"
        text += f" (the group is on __consumer_offsets-{coordinator.partition}, {leader})"
        hint = "check the replicas of the partition and min.insync.replicas"
    yield ProbeFinding("no-coordinator", Severity.ERROR, "", text, hint, coordinator.error)


def _idle(reports: Sequence[AddressReport]) -> Iterable[ProbeFinding]:
    for report in reports:
        if report.idle is None or report.idle.error is None:
            continue
        seconds = f"{report.idle.idle_ms / 1000:g} s"
        error = report.idle.error
        if isinstance(error, KafkaTimeoutError):
            text = f"no response after {seconds} of idle time: a network device dropped the connection"
            hint = "set connections.max.idle.ms below the idle timeout of the NAT or load balancer"
            yield ProbeFinding("idle-dropped", Severity.ERROR, str(report.target), text, hint, error)
        else:
            text = f"the connection was closed after {seconds} of idle time: {error}"
            hint = "ignore this if it is connections.max.idle.ms of the broker: clients reconnect"
            yield ProbeFinding("idle-closed", Severity.NOTE, str(report.target), text, hint, error)


def _unfinished(reports: Sequence[AddressReport]) -> Iterable[ProbeFinding]:
    others = any(other.is_ready and not other.advertised for other in reports)
    for report in reports:
        if not report.is_done and report.error is None and not report.is_ready:
            severity = Severity.WARNING if others else Severity.ERROR
            text = f"the probe timed out in phase {report.phase.value} (default.api.timeout.ms)"
            error, hint = None, "use a longer default.api.timeout.ms"
            if report.phase not in (Phase.METADATA, Phase.READY):
                error = unfinished(report.target, report.phase, report.limit_ms, report.elapsed_ms)
                hint = error.hint
            yield ProbeFinding("unfinished", severity, str(report.target), text, hint, error)


def _untried(count: int) -> Iterable[ProbeFinding]:
    if count:
        text = f"{count} advertised brokers were not tried: the probe timed out or has too many addresses"
        yield ProbeFinding("untried", Severity.WARNING, "", text, "use a longer default.api.timeout.ms")


def _certificates(reports: Sequence[AddressReport], wall_ms: int, cert_warn_ms: int) -> Iterable[ProbeFinding]:
    for report in reports:
        if report.tls is None:
            continue
        where = str(report.target)
        for certificate in report.tls.chain:
            left_ms = certificate.not_after_ms - wall_ms
            if left_ms < 0 and not isinstance(report.error, CertificateExpired):
                text = f"the certificate of {certificate.subject} expired on {certificate.not_after}"
                yield ProbeFinding("certificate-expired", Severity.ERROR, where, text, "renew the certificate")
            elif 0 <= left_ms < cert_warn_ms:
                left = f"in {left_ms // DAY_MS} days"
                text = f"the certificate of {certificate.subject} expires on {certificate.not_after} ({left})"
                yield ProbeFinding("certificate-expiring", Severity.WARNING, where, text, "renew the certificate")
        yield from _certificate_name(report, report.tls, where)


def _certificate_name(report: AddressReport, tls: TlsReport, where: str) -> Iterable[ProbeFinding]:
    if not tls.chain or not tls.asked_for or isinstance(report.error, HostnameMismatch):
        return
    names = tls.chain[0].names
    if not any(is_for(name, tls.asked_for) for name in names):
        text = f"certificate is for {_list(names) or 'no name'}, not for {tls.asked_for}"
        hint = "connect with a host name of the certificate"
        yield ProbeFinding("certificate-name", Severity.WARNING, where, text, hint)


def is_for(name: str, host: str) -> bool:
    """Return whether a certificate name covers a host: by equality, or by `*.` for the first label of the host."""
    name, host = name.lower(), host.lower().strip("[]")
    try:
        return ipaddress.ip_address(name) == ipaddress.ip_address(host)
    except ValueError:
        first, _, rest = host.partition(".")
        return name == host or (name.startswith("*.") and bool(first) and name[2:] == rest)


def _version_skew(reports: Sequence[AddressReport]) -> Iterable[ProbeFinding]:
    speaking = {str(report.target): report.versions for report in reports if report.is_ready and report.versions}
    keys = sorted({key for versions in speaking.values() for key in versions})
    differing: list[str] = []
    for key in keys:
        ranges: dict[str, list[str]] = {}
        for where, versions in speaking.items():
            offer = versions.get(key)
            ranges.setdefault(f"{offer[0]} to {offer[1]}" if offer else "not supported", []).append(where)
        if len(ranges) > 1:
            parts = [f"{offered} at {_list(places)}" for offered, places in ranges.items()]
            differing.append(f"{api_name(key)}: {'; '.join(parts)}")
    if differing:
        hint = "finish the upgrade: the brokers have different versions"
        yield ProbeFinding("version-skew", Severity.NOTE, "", _list(differing, separator=" | "), hint)


def _brokers(reports: Sequence[AddressReport]) -> list[Node]:
    views = [report.view for report in reports if report.view is not None]
    return list({broker: None for view in views for broker in (*view.brokers, *view.fenced)})


def _reason(report: AddressReport) -> str:
    is_filtered = isinstance(report.error, ConnectTimeout) and report.error.phase == "tcp"
    return f"filtered ({report.reason})" if is_filtered else report.reason


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _list(places: Iterable[str], most: int = 3, separator: str = ", ") -> str:
    named = list(places)
    more = f" and {len(named) - most} more" if len(named) > most else ""
    return separator.join(named[:most]) + more
