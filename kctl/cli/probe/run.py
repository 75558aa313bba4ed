"""Rounds of a probe. Each round polls the prober, diagnoses the result, and passes it to the report."""

from collections.abc import Callable
from typing import NamedTuple

from kctl.cli.exit_codes import ExitCode
from kctl.cli.probe.verdict import verdict
from kctl.cli.probe.view.report import Report
from kctl.cli.probe.view.result import ProbeResult
from kctl.cli.probe.view.statistics import Statistics, add_round
from kctl.client.clock import Timer
from kctl.client.config import AdminConfig
from kctl.client.events import Event, EventSink, ignore_events
from kctl.client.probe import ProbeOptions, Prober, bootstrap_nodes, diagnose
from kctl.client.runtime import Runtime

LOOK_MS = 50
"""Maximum time between two updates of the report."""
SHOW_AGAIN_MS = 200
"""Maximum time between two checks for a resized terminal."""


class ProbePlan(NamedTuple):
    """Configuration of a probe.

    Attributes:
        rounds: number of rounds; None for no end.
        interval_ms: time between the starts of two rounds.
        cert_warn_ms: remaining validity below which a certificate is a finding.
    """

    config: AdminConfig
    options: ProbeOptions
    cert_warn_ms: int
    strict: bool
    rounds: int | None = 1
    interval_ms: int = 1000


def run_rounds(
    plan: ProbePlan, runtime: Runtime, report: Report, statistics: Statistics, trace: EventSink = ignore_events
) -> ProbeResult:
    """Run the rounds and return the last result. If strict, the exit code is 3 for a problem in any round."""

    def on_event(event: Event) -> None:
        report.on_event(event)
        trace(event)

    waiter = runtime.driver.waiter()
    number, is_degraded = 0, False
    while True:
        number += 1
        next_at_ms = runtime.clock.start_ms() + plan.interval_ms
        result = _round(plan, runtime, report, on_event, number)
        add_round(statistics, result.reports)
        is_degraded = is_degraded or result.code is not ExitCode.OK
        if number == plan.rounds and plan.strict and is_degraded and result.code is ExitCode.OK:
            result = result._replace(code=ExitCode.PARTIAL_FAILURE)
        report.ended(result)
        if number == plan.rounds:
            return result
        while (now_ms := runtime.clock.now_ms()) < next_at_ms:
            runtime.driver.wait(waiter, min(next_at_ms, now_ms + SHOW_AGAIN_MS))
            report.show_again()


def _round(plan: ProbePlan, runtime: Runtime, report: Report, take: EventSink, number: int) -> ProbeResult:
    timer = Timer(runtime.clock, plan.config.api_timeout_ms + plan.options.idle_ms)
    prober = Prober(plan.config, runtime, bootstrap_nodes(plan.config), events=take, options=plan.options)
    try:
        _poll_to_the_end(prober, timer, report.draw)
    finally:
        untried = prober.waiting + prober.left_out
        prober.close()
    wall_ms = runtime.clock.wall_ms()
    timer.update()
    findings = diagnose(
        prober.reports,
        prober.coordinator,
        wall_ms=wall_ms,
        cert_warn_ms=plan.cert_warn_ms,
        untried=untried,
        replicas=prober.replicas,
    )
    return ProbeResult(
        number,
        timer.start_at_ms,
        timer.elapsed_ms,
        wall_ms,
        tuple(prober.reports),
        prober.coordinator,
        tuple(findings),
        verdict(prober.reports, prober.coordinator, findings, strict=plan.strict),
    )


def _poll_to_the_end(prober: Prober, timer: Timer, draw: Callable[[Prober, Timer], None]) -> None:
    draw(prober, timer)  # shows the addresses immediately
    while not prober.is_done and timer.not_expired:
        prober.poll(min(timer.now_ms + LOOK_MS, timer.deadline_at_ms))
        timer.update()
        draw(prober, timer)
