"""`kctl probe`: every address of every node, tried to the end with the client's own network code.

Owns the options; the rounds are in `probe_run.py`, the exit code in `probe_verdict.py`, what is shown in `view/`.
Shown by tests/cli/test_probe.py and tests/cli/test_probe_terminal.py.
"""

from pathlib import Path
from typing import Annotated

import click
import typer

from kctl.cli.data_out import DataOut
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.terminal import harmless_text
from kctl.cli.options import Common, DurationType, Output, with_common
from kctl.cli.probe_resolve import parse_resolve
from kctl.cli.probe_run import Plan, run_rounds
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
from kctl.client.network.system import system_runtime
from kctl.client.probe.prober import ProbeOptions
from kctl.client.seams import Address

app = typer.Typer(rich_markup_mode=None, add_completion=False)

_DURATION = DurationType()
_CERT_WARN_MS = 21 * 24 * 3_600_000
_INTERVAL_MS = 1000
_OUTPUT_COLUMNS = 120
"""How wide tables are that no terminal shows."""


@app.command()
@with_common
def probe(
    common: Common,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 3 when anything is wrong that can be lived with.")
    ] = False,
    group: Annotated[
        str | None, typer.Option("--group", metavar="GROUP", help="Find the coordinator of this consumer group too.")
    ] = None,
    idle: Annotated[
        int,
        typer.Option(
            "--idle",
            click_type=_DURATION,
            metavar="DURATION",
            help="Keep each connection silent for so long, then see whether it lives.",
        ),
    ] = 0,
    cert_warn: Annotated[
        int,
        typer.Option(
            "--cert-warn",
            click_type=_DURATION,
            metavar="DURATION",
            help="Tell of certificates that end within this time (21d).",
            show_default=False,
        ),
    ] = _CERT_WARN_MS,
    resolve: Annotated[
        list[str] | None,
        typer.Option(
            "--resolve", metavar="HOST:PORT:IP", help="Use this address for that name; repeatable, IPv6 in brackets."
        ),
    ] = None,
    sni: Annotated[
        str | None,
        typer.Option("--sni", metavar="NAME", help="Ask TLS peers for this name, and check certificates for it."),
    ] = None,
    try_protocols: Annotated[
        bool,
        typer.Option(
            "--try-protocols/--no-try-protocols",
            help="Where a peer seems to speak TLS or not, unlike us: try that once, without credentials.",
        ),
    ] = True,
    watch: Annotated[bool, typer.Option("--watch", help="Repeat it, and keep statistics of each address.")] = False,
    count: Annotated[
        int | None, typer.Option("--count", min=1, metavar="N", help="Stop after so many rounds; implies --watch.")
    ] = None,
    interval: Annotated[
        int | None,
        typer.Option(
            "--interval",
            click_type=_DURATION,
            metavar="DURATION",
            help="From one round to the next (1s); implies --watch.",
        ),
    ] = None,
    write_out: Annotated[
        str | None,
        typer.Option(
            "--write-out",
            metavar="TEMPLATE",
            help="Print only this for each address, such as '%{host} %{outcome} %{total_ms}\\n'.",
        ),
    ] = None,
    diff: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            "--diff",
            metavar="BEFORE AFTER",
            help="Compare two saved results of --output json or jsonl; nothing is probed.",
        ),
    ] = None,
) -> int:
    """Try every address of every node, and of the brokers they advertise: DNS, TCP, TLS, ApiVersions, SASL, Metadata.

    A live view on a terminal, one line an event elsewhere, objects with --output jsonl, one line with -q.

    Exits with 0 when the cluster can be used; else with the code of the cause: that of the nodes given when none of
    them works, 18 when no broker works where it is advertised, 19 when the group has no coordinator.
    """
    if diff is not None:
        from kctl.cli.probe_diff import show_differences  # wanted only here

        return show_differences(common, *diff, strict=strict)
    config = common.settings.parse(AdminConfig)
    common.note_ignored(config)
    plan = Plan(
        config,
        ProbeOptions(_resolved(resolve), sni, try_protocols, True, group, idle),
        cert_warn,
        strict,
        count if watch or count is not None or interval is not None else 1,
        _INTERVAL_MS if interval is None else interval,
    )
    statistics: Statistics = {}
    with _choose_report(common, plan, statistics, write_out) as report:
        result = run_rounds(plan, system_runtime(), report, statistics)
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
    output = common.choose_output(Output.TABLE, Output.JSONL, Output.JSON)
    if output is not Output.TABLE:
        return ObjectsReport(at_once, since_ms, statistics if is_repeated else None, events=output is Output.JSONL)
    if common.quiet:
        return QuietReport(at_once)
    if environment.can_redraw:
        from kctl.cli.view.probe_live import LiveReport, WatchReport  # wanted only on a terminal

        out = DataOut(environment.stdout)
        if is_repeated:
            return WatchReport(out, environment, since_ms, statistics)
        return LiveReport(out, environment, since_ms, _phases(plan.config))
    if is_repeated:
        return RoundsReport(
            at_once, statistics, lambda: environment.columns if environment.stdout_is_tty else _OUTPUT_COLUMNS
        )
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
