"""A probe on stdout: its first frame comes before any wait, and results hold no secret that a broker repeats."""

import io
import json

import pytest

from kctl.cli.data_out import DataOut
from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.cli.output_options import Output
from kctl.cli.probe.run import ProbePlan, run_rounds
from kctl.cli.probe.session import MaskedOut
from kctl.cli.probe.view.report import LinesReport, ObjectsReport
from kctl.client.clock import ManualClock, Timer
from kctl.client.config import AdminConfig
from kctl.client.errors import AuthenticationError
from kctl.client.events import Failed, Phase, Target
from kctl.client.network.system import system_runtime
from kctl.client.probe import ProbeOptions, Prober

SECRET = 'hunter"2'


def _written(output: Output | None, secret: str = SECRET) -> str:
    stdout = io.BytesIO()
    secrets = Secrets()
    secrets.values = (secret, "")
    environment = Environment(io.BytesIO(), stdout, io.StringIO(), {}, ManualClock(), ClosingNotice(), secrets)
    text = MaskedOut(environment, flush_bytes=0)
    event = Failed(
        5, Target(1, -1, "h", 1, "127.0.0.1:1"), Phase.SASL, 5, AuthenticationError(f"no user with {secret}")
    )
    lines = LinesReport(text, 0, verbose=True)
    objects = None if output is None else ObjectsReport(DataOut(stdout), 0, None, output, secrets.masked)
    with objects or lines as report:
        report.on_event(event)
    return stdout.getvalue().decode()


@pytest.mark.parametrize("output", [None, Output.JSONL])
def test_error_that_repeats_a_secret_is_masked(output: Output | None) -> None:
    text = _written(output)
    assert "no user with ***" in text
    assert "hunter" not in text


@pytest.mark.parametrize("secret", ["1", ":", "true", "e", '"', "ö"])
def test_secret_of_a_character_masks_no_syntax(secret: str) -> None:
    written = json.loads(_written(Output.JSONL, secret))
    assert written["error"]["message"].startswith("no us*") if secret == "e" else written["at_ms"] == 5
    assert secret not in written["error"]["message"]


def test_first_frame_is_drawn_before_anything_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    class Drawing(LinesReport):
        def draw(self, prober: Prober, timer: Timer) -> None:
            done.append(f"frame of {len(prober.reports)}")

    def poll(prober: Prober, _until_ms: int) -> None:
        done.append("poll")
        prober.reports.clear()

    monkeypatch.setattr(Prober, "poll", poll)
    monkeypatch.setattr(Prober, "is_done", property(lambda _: "poll" in done))
    plan = ProbePlan(AdminConfig.parse({"bootstrap.servers": "h:1"}), ProbeOptions(), 0, strict=False)
    run_rounds(plan, system_runtime(), Drawing(DataOut(io.BytesIO()), 0, verbose=False), {})
    assert done[:2] == ["frame of 1", "poll"]
