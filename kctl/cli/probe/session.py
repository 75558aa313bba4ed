"""Execution of `kctl probe`: plan, choice of the report, and error message."""

from collections.abc import Sequence
from typing import NamedTuple

from kctl.cli import click
from kctl.cli.data_out import FLUSH_BYTES, DataOut
from kctl.cli.environment import Environment
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import Failure, explain
from kctl.cli.formats.listing import SHAPES
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.cli.probe.descriptors import allow_descriptors
from kctl.cli.probe.resolve import parse_resolve
from kctl.cli.probe.run import ProbePlan, run_rounds
from kctl.cli.probe.view.report import (
    CsvReport,
    LinesReport,
    ObjectsReport,
    QuietReport,
    Report,
    RoundsReport,
    WriteOutReport,
)
from kctl.cli.probe.view.result import ProbeResult
from kctl.cli.probe.view.statistics import Statistics
from kctl.cli.probe.view.text import blocked_by
from kctl.cli.probe.view.write_out import parse_template
from kctl.client.config import AdminConfig
from kctl.client.network.system import system_runtime
from kctl.client.probe import ProbeOptions
from kctl.client.runtime import Address

MOST_SOCKETS = 10_000
"""Number of sockets to allow, since the number of addresses is not known in advance."""
OUTPUT_COLUMNS = 120
"""Width of tables that are not printed to a terminal."""


class ProbeRequest(NamedTuple):
    """Options of the command line.

    Attributes:
        cert_warn_ms: remaining validity below which a certificate is a finding.
        resolve: host:port:ip texts.
        rounds: number of rounds; None for no end.
        template: template of --write-out.
    """

    strict: bool
    group: str | None
    idle_ms: int
    cert_warn_ms: int
    resolve: Sequence[str]
    sni: str | None
    try_protocols: bool
    rounds: int | None
    interval_ms: int
    template: str | None


def run_probe(common: Common, request: ProbeRequest) -> int:
    """Probe the cluster, print the result, and return the exit code."""
    config = common.settings.parse(AdminConfig)
    common.note_ignored(config)
    options = ProbeOptions(
        _resolved(request.resolve), request.sni, request.try_protocols, True, request.group, request.idle_ms
    )
    plan = ProbePlan(config, options, request.cert_warn_ms, request.strict, request.rounds, request.interval_ms)
    allow_descriptors(MOST_SOCKETS)
    if is_live(common, request.template is not None):
        common.end_notices()  # notices would overwrite the frame, which shows the errors
        if request.rounds == 1:
            plan = plan._replace(options=options._replace(redials=True))
    statistics: Statistics = {}
    with _choose_report(common, plan, statistics, request.template) as report:
        result = run_rounds(plan, system_runtime(), report, statistics, common.events)
    _say_unused(common, plan, result)
    _say_why(common, result)
    return result.code


def _resolved(texts: Sequence[str]) -> dict[tuple[str, int], list[Address]]:
    return click.parsed(parse_resolve, texts, "--resolve")


def _choose_report(common: Common, plan: ProbePlan, statistics: Statistics, write_out: str | None) -> Report:
    environment = common.environment
    started_at_ms = environment.clock.now_ms()
    at_once = MaskedOut(environment, flush_bytes=0)
    is_repeated = plan.rounds != 1
    if write_out is not None:
        if common.output is not None:
            raise click.UsageError("--write-out cannot be combined with --output.")
        return WriteOutReport(at_once, click.parsed(parse_template, write_out, "--write-out"))
    output = common.choose_output(*SHAPES)
    if output is Output.CSV:
        return CsvReport(environment)
    if output is not Output.TABLE:
        out = DataOut(environment.stdout, flush_bytes=0)
        masked = environment.secrets.masked
        return ObjectsReport(out, started_at_ms, statistics if is_repeated else None, output, masked)
    if common.quiet:
        return QuietReport(at_once)
    if is_live(common, write_out is not None):
        from kctl.cli.probe.view.live import LiveReport, WatchReport  # deferred import: only for terminals

        out = MaskedOut(environment)
        if is_repeated:
            return WatchReport(out, environment, started_at_ms, statistics)
        return LiveReport(out, environment, started_at_ms)
    if is_repeated:
        columns = environment.columns if environment.stdout_is_tty else OUTPUT_COLUMNS
        return RoundsReport(at_once, statistics, columns)
    return LinesReport(at_once, started_at_ms, verbose=common.verbose)


def is_live(common: Common, has_template: bool) -> bool:
    """Return whether the probe repaints the terminal. Traces prevent that."""
    is_table = common.output in (None, Output.TABLE) and not has_template and not common.quiet
    return is_table and common.environment.can_redraw and common.tracer is None


class MaskedOut(DataOut):
    """Stdout on which secrets are masked, because brokers can repeat them in errors."""

    def __init__(self, environment: Environment, *, flush_bytes: int = FLUSH_BYTES) -> None:
        super().__init__(environment.stdout, flush_bytes=flush_bytes)
        self._secrets = environment.secrets

    def write(self, data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        super().write(self._secrets.masked(text).encode("utf-8", "surrogateescape"))


def _say_unused(common: Common, plan: ProbePlan, result: ProbeResult) -> None:
    asked = {(report.target.host, report.target.port) for report in result.reports}
    for host, port in plan.options.resolve:
        if (host, port) not in asked:
            common.say(f"kctl probe: note: --resolve for {host}:{port} has no effect: no broker has this address")


def _say_why(common: Common, result: ProbeResult) -> None:
    is_silent = common.quiet and not common.environment.errors_as_json  # the summary on stdout has it
    if is_silent or result.code in (ExitCode.OK, ExitCode.PARTIAL_FAILURE):
        return
    is_usable = any(report.is_ready for report in result.reports if not report.advertised)
    what = "the cluster is not usable" if is_usable else "no address is ready"
    finding = blocked_by(result)
    why = (
        "the API timeout expired (--api-timeout)"
        if finding is None or result.code is ExitCode.API_TIMEOUT
        else f"{finding.where}: {finding.text}"
    )
    failure = Failure(result.code, "") if finding is None or finding.error is None else explain(finding.error)
    hint = "" if finding is None else finding.hint
    failure = failure._replace(code=result.code, message=f"{what}: {why}", hint=hint, details=())
    common.environment.say_failure(failure, is_error=False)
