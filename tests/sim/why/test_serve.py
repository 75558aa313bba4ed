"""`kctl why --serve` over hours: each sample tries the addresses, and configs are read again after a while."""

from collections.abc import Callable

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.interrupts import Interrupted
from kctl.cli.why import exporter
from kctl.why import Gatherer, Look
from tests.sim.kit import SimCluster
from tests.sim.kit.command_lines import use_hub
from tests.sim.virtual import Hub
from tests.sim.why.incident import Live

CLOSED_PORT = 1
INTERVAL_MS = 310_000


class NoServer:
    """Stands for the HTTP server, which needs a thread."""

    port = 9400

    def __init__(self, host: str, port: int, page: Callable[[], str]) -> None:
        self.page = page

    def close(self) -> None:
        """Do nothing."""


def test_samples_of_an_exporter_follow_addresses_and_configs(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Look] = []
    with Hub(seed=3) as hub:
        sim = SimCluster(hub, nodes=3, topics={"t": 1})
        use_hub(monkeypatch, sim)

        class Watched(Gatherer):
            """Changes the cluster after the first sample, and ends the exporter after the third."""

            def look(self, before: Look | None = None, *, is_renewed: bool = False) -> Look:
                looks.append(super().look(before, is_renewed=is_renewed))
                if len(looks) == 1:
                    sim.sandbox.cluster.configure_topic("t", {"retention.ms": "5"})
                    sim.sandbox.advertise(2, "10.0.0.2", CLOSED_PORT)
                elif len(looks) == 3:
                    raise Interrupted(ExitCode.SIGINT)
                return looks[-1]

        monkeypatch.setattr(exporter, "MetricsServer", NoServer)
        monkeypatch.setattr(exporter, "Gatherer", Watched)
        sim.run(lambda: Live(sim).run(f"why cluster --serve :9400 --interval {INTERVAL_MS}ms"))
    assert [look.topic_configs["t"]["retention.ms"].value == "5" for look in looks] == [False, False, True]
    assert [any(each.error is not None for each in look.probed.reports) for look in looks] == [False, True, True]
