"""Part of a look from the probe, which tries every address of every broker until a timer expires."""

from typing import NamedTuple

from kctl.client.clock import Timer
from kctl.client.config import AdminConfig
from kctl.client.events import ignore_events
from kctl.client.probe import AddressReport, ProbeFinding, ProbeOptions, Prober, bootstrap_nodes, diagnose
from kctl.client.runtime import Runtime

WRONG_ADDRESS = "advertised-unusable"
GAPS = ("unfinished", "untried")
"""Probe findings about addresses that were not tried completely."""
REQUESTS_EACH = 4
"""Maximum number of requests to an address after login: ApiVersions, Metadata, DescribeConfigs, DescribeQuorum."""


class Probed(NamedTuple):
    """Result of one probe. Reports have the connection phases of each address."""

    reports: tuple[AddressReport, ...] = ()
    findings: tuple[ProbeFinding, ...] = ()

    def broker_at(self, where: str) -> int | None:
        return next((each.target.node_id for each in self.reports if str(each.target) == where), None)

    @property
    def elsewhere(self) -> frozenset[int]:
        """Brokers that respond only at another address than the advertised one."""
        answer = {each.answers_as for each in self.reports if each.is_ready}
        wrong = {self.broker_at(each.where) for each in self.findings if each.id == WRONG_ADDRESS}
        return frozenset(node_id for node_id in answer & wrong if node_id is not None)


def probe(config: AdminConfig, runtime: Runtime, timer: Timer) -> Probed:
    """Return the result of one probe, including addresses that are incomplete when the timer expires."""
    prober = Prober(
        config,
        runtime,
        bootstrap_nodes(config),
        events=ignore_events,
        options=ProbeOptions(try_protocols=False, surveys=False),
    )
    try:
        while not prober.is_done and timer.not_expired:
            prober.poll(timer.deadline_at_ms)
            timer.update()
    finally:
        untried = prober.waiting + prober.left_out
        prober.close()
    reports = tuple(prober.reports)
    return Probed(reports, tuple(diagnose(reports, wall_ms=runtime.clock.wall_ms(), untried=untried)))
