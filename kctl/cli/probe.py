"""`kctl probe`: every address of every bootstrap node, tried to the end with the client's own network code.

Owns the run and its exit code; what is shown is folded and drawn in `view/`. Shown by tests/cli/test_probe.py.
"""

from typing import Annotated

import typer

from kctl.cli.data_out import DataOut
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import exit_code, explain
from kctl.cli.options import Common, Output, with_common
from kctl.cli.view.probe_report import JsonlReport, LinesReport, Report
from kctl.cli.view.probe_state import Outcome, ProbeState, fold, phases_of
from kctl.client.clock import Timer
from kctl.client.config import AdminConfig
from kctl.client.events import Event
from kctl.client.metadata_updater import bootstrap_nodes
from kctl.client.network.prober import Prober
from kctl.client.network.system import system_runtime

REDRAW_MS = 50
"""How often a live view moves on while nothing happens."""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
@with_common
def probe(
    common: Common,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 3 when any address failed.")] = False,
) -> int:
    """Try every address of every node and show each phase: DNS, TCP, TLS, SASL, ApiVersions.

    A table that is redrawn on a terminal, one line an event elsewhere, one object an event with --output jsonl.
    Exits with 0 when at least one address is ready, else with the code of the cause that got furthest.
    """
    output = common.choose_output(Output.TABLE, Output.JSONL)
    config = common.settings.parse(AdminConfig)
    common.note_ignored(config)
    view = _View(
        ProbeState(phases_of(uses_tls=config.uses_tls, uses_sasl=config.uses_sasl)),
        _choose_report(common, output),
    )
    runtime = system_runtime()
    timer = Timer(runtime.clock, config.api_timeout_ms)
    with view.report:
        prober = Prober(config, runtime, bootstrap_nodes(config), events=view.take)
        try:
            while not prober.is_done and timer.not_expired:
                prober.poll(min(REDRAW_MS, timer.remaining_ms))
                timer.update()
                view.report.draw(view.state)
        finally:
            prober.close()
        code = verdict(view.state, strict=strict)
        view.report.finish(view.state, code)
    _say_why(common, view.state, code)
    return code


class _View:
    """The state so far and the report of it: what takes the events."""

    def __init__(self, state: ProbeState, report: Report) -> None:
        self.state = state
        self.report = report

    def take(self, event: Event) -> None:
        self.state = fold(self.state, event)
        self.report.take(event)


def _choose_report(common: Common, output: Output) -> Report:
    environment = common.environment
    out = DataOut(environment.stdout, flush_bytes=0)
    if output is Output.JSONL:
        return JsonlReport(out, environment.clock.now_ms())
    if not environment.can_redraw:
        return LinesReport(out, environment.clock.now_ms())
    from kctl.cli.view.probe_live import LiveReport  # rich: wanted only on a terminal

    return LiveReport(out, environment)


def verdict(state: ProbeState, *, strict: bool) -> ExitCode:
    """Return the exit code: of the worst cause when nothing is usable, since that one got furthest."""
    if state.count(Outcome.READY) > 0:
        is_degraded = state.count(Outcome.READY) < len(state.rows)
        return ExitCode.DEGRADED if strict and is_degraded else ExitCode.OK
    return max((exit_code(error) for error in state.errors), default=ExitCode.API_TIMEOUT)


def _say_why(common: Common, state: ProbeState, code: ExitCode) -> None:
    if code in (ExitCode.OK, ExitCode.DEGRADED):
        return
    blocking = [failure for failure in map(explain, state.errors) if failure.code is code]
    if not blocking:
        common.environment.say("kctl probe: the API timeout (--api-timeout) passed before any address was ready")
        return
    common.environment.say(f"kctl probe: no address is ready: {blocking[0].message}")
    if blocking[0].hint:
        common.environment.say(f"hint: {blocking[0].hint}")
