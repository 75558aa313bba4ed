"""Results of a probe on stdout hold no secret, whatever a broker repeats."""

import io

import pytest

from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.cli.options import Output
from kctl.cli.probe.session import MaskedOut
from kctl.cli.probe.view.report import LinesReport, ObjectsReport
from kctl.client.clock import ManualClock
from kctl.client.errors import AuthenticationError
from kctl.client.events import Failed, Phase, Target

SECRET = 'hunter"2'


def _written(output: Output | None) -> str:
    stdout = io.BytesIO()
    secrets = Secrets()
    secrets.values = (SECRET, "")
    environment = Environment(io.BytesIO(), stdout, io.StringIO(), {}, ManualClock(), ClosingNotice(), secrets)
    out = MaskedOut(environment, flush_bytes=0)
    event = Failed(
        5, Target(1, -1, "h", 1, "127.0.0.1:1"), Phase.SASL, 5, AuthenticationError(f"no user with {SECRET}")
    )
    report = LinesReport(out, 0, verbose=True) if output is None else ObjectsReport(out, 0, None, output)
    report.on_event(event)
    out.flush()
    return stdout.getvalue().decode()


@pytest.mark.parametrize("output", [None, Output.JSONL])
def test_error_that_repeats_a_secret_is_masked(output: Output | None) -> None:
    text = _written(output)
    assert "no user with ***" in text
    assert "hunter" not in text
