"""`kctl probe`: every address of every node, tried to the end with the client's own network code.

Owns the options; the rounds are in `probe_run.py`, the exit code in `probe_verdict.py`, what is shown in `view/`.
Shown by tests/cli/test_probe.py and tests/cli/test_probe_terminal.py.
"""

import click
import typer

from kctl.cli.data_out import DataOut
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.terminal import harmless_text
from kctl.cli.options import Common, Output, with_common
from kctl.cli.probe import options
from kctl.cli.probe.resolve import parse_resolve
from kctl.cli.probe.run import Plan, run_rounds
from kctl.cli.view.probe_report import (
    LinesReport,
    ObjectsReport,
    QuietReport,
    Report,
    RoundsReport,
    WriteOutReport,
)
from kctl.cli.view.probe_result import PHASES, ProbeResult
from kctl.cli.view.probe_statistics import Statistics
from kctl.cli.view.probe_words import blocked_by
from kctl.cli.view.probe_write_out import parse_template
from kctl.client.config import AdminConfig
from kctl.client.events import Phase
from kctl.client.network.descriptors import allow_descriptors
from kctl.client.network.system import system_runtime
from kctl.client.probe.prober import ProbeOptions
from kctl.client.seams import Address

app = typer.Typer(rich_markup_mode=None, add_completion=False)

CERT_WARN_MS = 21 * 24 * 3_600_000
INTERVAL_MS = 1000
SHAPES = (Output.TABLE, Output.JSONL, Output.JSON)
MOST_SOCKETS = 10_000
"""For how many addresses room is made; how many names and brokers have is not known before."""
OUTPUT_COLUMNS = 120
"""How wide tables are that no terminal shows."""


@app.command()
@with_common(*SHAPES)
def probe(
    common: Common,
    strict: options.Strict = False,
    group: options.Group = None,
    idle: options.Idle = 0,
    cert_warn: options.CertWarn = CERT_WARN_MS,
    resolve: options.Resolve = None,
    sni: options.Sni = None,
    try_protocols: options.TryProtocols = True,
    watch: options.Watch = False,
    count: options.Count = None,
    interval: options.Interval = None,
    write_out: options.WriteOut = None,
    diff: options.Diff = None,
) -> int:
    """Try every address of every node and show each phase: DNS, TCP, TLS, ApiVersions, SASL, Metadata.

    The brokers that the nodes advertise are tried too, and what is found is judged; docs/probe.md has all of it.

    A live view on a terminal, one line an event elsewhere, objects with --output jsonl, one line with -q.

    Exits with 0 when the cluster can be used; else with the code of the cause: that of the nodes given when none of
    them works, 18 when no broker works where it is advertised, 19 when the group has no coordinator.
    """
    if diff is not None:
        from kctl.cli.probe.diff import show_differences  # wanted only here

        return show_differences(common, *diff, strict=strict)
    config = common.settings.parse(AdminConfig)
    common.note_ignored(config)
    plan = Plan(
        config,
        ProbeOptions(_resolved(resolve), sni, try_protocols, True, group, idle),
        cert_warn,
        strict,
        count if watch or count is not None or interval is not None else 1,
        INTERVAL_MS if interval is None else interval,
    )
    allow_descriptors(MOST_SOCKETS)
    statistics: Statistics = {}
    with _choose_report(common, plan, statistics, write_out) as report:
        result = run_rounds(plan, system_runtime(), report, statistics, common.events)
    _say_unused(common, plan, result)
    _say_why(common, result)
    return result.code


def _resolved(texts: list[str] | None) -> dict[tuple[str, int], list[Address]]:
    try:
        return parse_resolve(texts or ())
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint="--resolve") from None


def _choose_report(common: Common, plan: Plan, statistics: Statistics, write_out: str | None) -> Report:
    environment = common.environment
    since_ms = environment.clock.now_ms()
    at_once = DataOut(environment.stdout, flush_bytes=0)
    is_repeated = plan.rounds != 1
    if write_out is not None:
        if common.output is not None:
            raise click.UsageError("--write-out and --output: take one of them.")
        try:
            return WriteOutReport(at_once, parse_template(write_out))
        except ValueError as e:
            raise click.BadParameter(str(e), param_hint="--write-out") from None
    output = common.choose_output(*SHAPES)
    if output is not Output.TABLE:
        return ObjectsReport(at_once, since_ms, statistics if is_repeated else None, events=output is Output.JSONL)
    if common.quiet:
        return QuietReport(at_once)
    if environment.can_redraw and common.tracer is None:  # a trace on the same terminal would be painted over
        from kctl.cli.view.probe_live import LiveReport, WatchReport  # wanted only on a terminal

        out = DataOut(environment.stdout)
        if is_repeated:
            return WatchReport(out, environment, since_ms, statistics)
        return LiveReport(out, environment, since_ms, _phases(plan.config))
    if is_repeated:
        columns = environment.columns if environment.stdout_is_tty else OUTPUT_COLUMNS
        return RoundsReport(at_once, statistics, columns)
    return LinesReport(at_once, since_ms, verbose=common.verbose)


def _phases(config: AdminConfig) -> list[Phase]:
    unused = {Phase.TLS: not config.uses_tls, Phase.SASL: not config.uses_sasl}
    return [phase for phase in PHASES if not unused.get(phase)]


def _say_unused(common: Common, plan: Plan, result: ProbeResult) -> None:
    asked = {(report.target.host, report.target.port) for report in result.reports}
    for host, port in plan.options.resolve:
        if (host, port) not in asked:
            common.say(f"kctl probe: note: --resolve of {host}:{port} was not wanted: no node has that address")


def _say_why(common: Common, result: ProbeResult) -> None:
    if common.quiet or result.code in (ExitCode.OK, ExitCode.DEGRADED):
        return
    is_usable = any(report.is_ready for report in result.reports if not report.advertised)
    what = "the cluster cannot be used" if is_usable else "no address is ready"
    finding = blocked_by(result)
    why = (
        "the API timeout (--api-timeout) passed"
        if finding is None or result.code is ExitCode.API_TIMEOUT
        else f"{finding.where}: {finding.text}"
    )
    common.environment.say(f"kctl probe: {what}: {harmless_text(why)}")
    if finding is not None and finding.hint:
        common.environment.say(f"hint: {harmless_text(finding.hint)}")
