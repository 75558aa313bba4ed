"""What reaches stdout while a probe runs, and when it ends."""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kctl.cli.data_out import DataOut
from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.cli.exit_codes import ExitCode
from kctl.cli.output_options import Output
from kctl.cli.probe.view.live import LiveReport, WatchReport, statistics_table
from kctl.cli.probe.view.report import (
    LinesReport,
    ObjectsReport,
    QuietReport,
    Report,
    RoundsReport,
    WriteOutReport,
)
from kctl.cli.probe.view.statistics import AddressKey, AddressLatencies, Statistics, add_round
from kctl.cli.probe.view.write_out import parse_template
from kctl.client.clock import ManualClock
from kctl.client.events import Closed
from tests.unit.cli.probe.view.scenario import EVENTS, GOOD, START_MS, result

FRAMES = Path(__file__).parent / "frames"


def _written(report: Report, stdout: io.BytesIO, code: ExitCode = ExitCode.OK) -> list[str]:
    with report:
        for event in (*EVENTS, Closed(START_MS, GOOD, "close")):
            report.on_event(event)
        report.ended(result(code=code))
    return stdout.getvalue().decode().splitlines()


def test_lines_are_there_as_things_happen_and_starts_only_for_those_who_want_more() -> None:
    for verbose in (False, True):
        stdout = io.BytesIO()
        report = LinesReport(DataOut(stdout, flush_bytes=0), START_MS, verbose=verbose)
        report.on_event(EVENTS[0])
        report.on_event(EVENTS[1])
        assert stdout.getvalue().count(b"\n") == 1 + verbose
        assert (b"dns started" in stdout.getvalue()) is verbose


def test_events_facts_findings_and_a_summary() -> None:
    stdout = io.BytesIO()
    lines = _written(LinesReport(DataOut(stdout), START_MS, verbose=False), stdout)
    assert lines[0].endswith("dns done in 4 ms: 10.0.0.1:9092")
    assert "cluster abc: 2 brokers, controller 2" in lines
    assert any(line.startswith("ERROR ") for line in lines)
    assert lines[-1] == "2 of 8 addresses ready, 4 failed, 2 under way"


def test_objects_with_and_without_events() -> None:
    for output in (Output.JSONL, Output.JSON):
        stdout = io.BytesIO()
        written = _written(ObjectsReport(DataOut(stdout), START_MS, None, output, str), stdout)
        objects = [json.loads(line) for line in written]
        assert len(objects) == 1 + len(EVENTS) * (output is Output.JSONL)
        assert objects[-1]["event"] == "summary"


def test_events_tell_their_round() -> None:
    stdout = io.BytesIO()
    report = ObjectsReport(DataOut(stdout), START_MS, {}, Output.JSONL, str)
    for number in (1, 2):
        report.on_event(EVENTS[0])
        report.ended(result(number))
    report.__exit__(None, None, None)
    assert [json.loads(line)["round"] for line in stdout.getvalue().splitlines()] == [1, 1, 2, 2]


def test_quiet_is_one_line_with_the_reason() -> None:
    stdout = io.BytesIO()
    assert _written(QuietReport(DataOut(stdout)), stdout) == ["ok: 2 of 8 addresses ready, 4 failed, 2 under way"]
    stdout = io.BytesIO()
    assert _written(QuietReport(DataOut(stdout)), stdout, ExitCode.REFUSED) == [
        "fail: 2 of 8 addresses ready, 4 failed, 2 under way "
        "(exit code 11, connection refused or reset, or host unreachable): "
        "10.0.0.2:9092: connection refused (RST after 1 ms)"
    ]


def test_a_template_is_all_there_is() -> None:
    stdout = io.BytesIO()
    written = _written(WriteOutReport(DataOut(stdout), parse_template("%{outcome},")), stdout)
    assert written == ["ready,failed,unfinished,failed,failed,expired,ready,unfinished,"]


def test_rounds_end_with_the_statistics_also_when_they_are_interrupted() -> None:
    stdout = io.BytesIO()
    statistics: Statistics = {}
    add_round(statistics, result().reports)
    lines = _written(RoundsReport(DataOut(stdout), statistics, 120), stdout)
    assert lines[0] == "round 1  kafka-a.example:9092 [10.0.0.1]  ready in 740 ms"
    assert lines[1] == "round 1  10.0.0.2:9092  failed: connection refused (RST after 1 ms)"
    assert lines[8].startswith("ADDRESS ")
    assert len(lines) == 8 + 1 + len(statistics)


def _environment(stdout: io.BytesIO) -> Environment:
    environ = {"TERM": "xterm"}
    return Environment(
        io.BytesIO(),
        stdout,
        io.StringIO(),
        environ,
        ManualClock(START_MS),
        stdout_is_tty=True,
        columns=100,
        closing_notice=ClosingNotice(),
        secrets=Secrets(),
    )


def test_paintings_are_the_same_bytes_each_time_and_end_with_the_cursor() -> None:
    def painted() -> bytes:
        stdout = io.BytesIO()
        _written(LiveReport(DataOut(stdout), _environment(stdout), START_MS), stdout)
        return stdout.getvalue()

    first = painted()
    assert first == painted()
    assert b"2 of 8 addresses ready" in first
    assert first.index(b"2 of 8 addresses ready") < first.index(b"ERROR other-protocol")
    assert first.endswith(b"\x1b[?25h")


def test_a_repeated_probe_paints_its_table() -> None:
    stdout = io.BytesIO()
    statistics: Statistics = {}
    add_round(statistics, result().reports)
    _written(WatchReport(DataOut(stdout), _environment(stdout), START_MS, statistics), stdout)
    assert b"WORST" in stdout.getvalue()
    assert b"round 1: 2 of 8 addresses ready" in stdout.getvalue()


def watched(columns: int) -> str:
    """Return the table of three addresses over 30 rounds: one is fast, one becomes slow, one fails now and then."""
    items = []
    rounds: tuple[Callable[[int], int | None], ...] = (
        lambda _: 3,
        lambda at: 3 + at * at,
        lambda at: None if at % 7 == 6 else 12,
    )
    for number, taken in enumerate(rounds):
        latencies = AddressLatencies()
        for at in range(30):
            latencies.add(taken(at), "" if taken(at) else "refused")
        items.append((AddressKey(f"kafka-{number}.example", 9092, f"10.0.0.{number}:9092"), latencies))
    return "".join(f"{line.plain.rstrip()}\n" for line in statistics_table(items, columns))


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_frames_of_a_repeated_probe(columns: int) -> None:
    drawn = watched(columns)
    stored = FRAMES / f"watch_{columns}.txt"
    if os.environ.get("KCTL_STORE_FRAMES"):
        stored.write_text(drawn)
    assert drawn == stored.read_text()
    assert max(map(len, drawn.splitlines())) <= columns
