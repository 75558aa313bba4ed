"""What reaches stdout while a probe runs, and when it ends."""

import io
import json

from kctl.cli.data_out import DataOut
from kctl.cli.environment import Environment
from kctl.cli.exit_codes import ExitCode
from kctl.cli.view.probe_live import LiveReport
from kctl.cli.view.probe_report import JsonlReport, LinesReport, Report
from kctl.client.clock import ManualClock
from kctl.client.events import Closed
from tests.unit.cli.view.scenario import EVENTS, GOOD_V4, START_MS, folded


def _written(report: Report, stdout: io.BytesIO) -> list[str]:
    with report:
        for event in (*EVENTS, Closed(START_MS, GOOD_V4, "close")):
            report.take(event)
            report.draw(folded())
        report.finish(folded(), ExitCode.OK)
    return stdout.getvalue().decode().splitlines()


def test_lines_are_there_as_things_happen() -> None:
    stdout = io.BytesIO()
    report = LinesReport(DataOut(stdout, flush_bytes=0), START_MS)
    report.take(EVENTS[0])
    assert stdout.getvalue().count(b"\n") == 1


def test_a_line_an_event_and_a_summary() -> None:
    stdout = io.BytesIO()
    lines = _written(LinesReport(DataOut(stdout), START_MS), stdout)
    assert len(lines) == len(EVENTS) + 1
    assert lines[-1] == "1 of 6 addresses ready, 4 failed, 1 under way"


def test_an_object_an_event_and_a_summary() -> None:
    stdout = io.BytesIO()
    objects = [json.loads(line) for line in _written(JsonlReport(DataOut(stdout), START_MS), stdout)]
    assert len(objects) == len(EVENTS) + 1
    assert (objects[0]["at_ms"], objects[-1]["event"]) == (0, "summary")


def test_paintings_are_the_same_bytes_each_time() -> None:
    def painted() -> bytes:
        stdout = io.BytesIO()
        environment = Environment(
            io.BytesIO(), stdout, io.StringIO(), {"COLUMNS": "60", "TERM": "xterm"}, ManualClock(START_MS)
        )
        _written(LiveReport(DataOut(stdout, flush_bytes=0), environment), stdout)
        return stdout.getvalue()

    first = painted()
    assert first == painted()
    assert first.count(b"1 of 6 addresses ready") > len(EVENTS)  # each draw paints at once
    assert first.endswith(b"\x1b[?25h")
