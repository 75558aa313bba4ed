"""Exit code of a probe.

- 0: the cluster is usable.
- Exit code of the worst cause: no bootstrap server works.
- 18: no advertised address works, or a broker is not the expected one.
- 19: the group has no coordinator.
- 3: a broker is unusable, fenced or missing; with --strict, any problem.
"""

from collections.abc import Sequence

from kctl.cli.exit_codes import UNCONNECTED, ExitCode
from kctl.cli.failures import exit_code
from kctl.cli.probe.view.result import AddressStatus, brokers, outcome
from kctl.client.events import Phase
from kctl.client.probe import AddressReport, CoordinatorReport, ProbeFinding, Severity, unusable_brokers

_PROGRESS = (
    ExitCode.UNEXPECTED,
    ExitCode.USAGE,
    *UNCONNECTED,
    ExitCode.REQUEST_TIMEOUT,
    ExitCode.API_TIMEOUT,
    ExitCode.ADVERTISED_ADDRESS,
    ExitCode.UNAVAILABLE,
    ExitCode.NOT_AUTHORIZED,
    ExitCode.UNKNOWN_RESOURCE,
    ExitCode.DATA,
)
"""Causes of an address that does not work, the closest to a working address last."""
_NOT_TAKING_PART = ("broker-fenced", "broker-missing")
_NOT_WHO_THEY_SHOULD_BE = ("misrouted", "two-clusters")


def verdict(
    reports: Sequence[AddressReport],
    coordinator: CoordinatorReport | None,
    findings: Sequence[ProbeFinding],
    *,
    strict: bool,
) -> ExitCode:
    bootstrap = [report for report in reports if not report.advertised]
    if not any(report.is_ready for report in bootstrap):
        return _blocked(bootstrap)
    is_misrouted = any(finding.id in _NOT_WHO_THEY_SHOULD_BE for finding in findings)
    if is_misrouted or not _any_broker_works(reports):
        return ExitCode.ADVERTISED_ADDRESS
    if coordinator is not None and coordinator.node is None:
        code = ExitCode.UNEXPECTED if coordinator.error is None else exit_code(coordinator.error)
        return code if code is ExitCode.NOT_AUTHORIZED else ExitCode.UNAVAILABLE
    if unusable_brokers(reports) or any(finding.id in _NOT_TAKING_PART for finding in findings):
        return ExitCode.PARTIAL_FAILURE
    if strict and (any(finding.severity is not Severity.NOTE for finding in findings) or _is_degraded(reports)):
        return ExitCode.PARTIAL_FAILURE
    return ExitCode.OK


def _blocked(bootstrap: Sequence[AddressReport]) -> ExitCode:
    return max(map(_cause, bootstrap), key=_PROGRESS.index, default=ExitCode.API_TIMEOUT)


def _cause(report: AddressReport) -> ExitCode:
    """Return the exit code of an address: WRONG_PROTOCOL if another protocol works or there is no error.

    Unfinished addresses have a timeout, otherwise the error decides.
    """
    if outcome(report) is AddressStatus.UNFINISHED:
        is_connected = report.phase in (Phase.METADATA, Phase.READY)
        return ExitCode.API_TIMEOUT if is_connected else ExitCode.CONNECT_TIMEOUT
    return ExitCode.WRONG_PROTOCOL if report.works_with or report.error is None else exit_code(report.error)


def _any_broker_works(reports: Sequence[AddressReport]) -> bool:
    working = {(report.target.host, report.target.port) for report in reports if report.is_ready}
    advertised = brokers(reports)
    return not advertised or any((broker.host, broker.port) in working for broker in advertised)


def _is_degraded(reports: Sequence[AddressReport]) -> bool:
    return any(outcome(report) is not AddressStatus.READY for report in reports)
