"""A report as text: what to set and what to know, in whatever width; nothing is lost where it is narrow."""

from pathlib import Path
from random import Random

import pytest

from kctl.cli.pipeline.report_table import MOST_NODES, report_lines
from kctl.pipeline.jobs.report.fleet import Fleet
from kctl.pipeline.jobs.report.folding import fold_file
from kctl.pipeline.jobs.report.result import FleetReport
from kctl.pipeline.jobs.report.summary import summarise
from tests.unit.pipeline.report.fleets import DAY_MS, START_MS, NodeTruth, Times, probe_lines, write

LONG = "kafka-1.production.eu-central.example.internal:9093"
EVIL = "\x1b[31mred"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> FleetReport:
    folder = tmp_path_factory.mktemp("fleet")
    nodes = [
        NodeTruth(LONG, ends_at_ms=START_MS + 3 * DAY_MS),
        NodeTruth("flapping:9092", is_up=lambda number: number // 4 % 3 > 0),
        NodeTruth(f"{EVIL}:9092", is_up=lambda _: False),
    ]
    write(folder / "one.jsonl", probe_lines(nodes, Random(1), 200))
    write(folder / "two.jsonl", probe_lines([NodeTruth("b:9092", tls=Times(300))], Random(2), 3500))
    (folder / "bad").write_text(f"{EVIL}\n")
    fleet = Fleet()
    for file, place in (("one.jsonl", "berlin"), ("two.jsonl", "sydney"), ("bad", "berlin")):
        fold_file(str(folder / file), place, fleet)
    return summarise(fleet, now_ms=START_MS)


def test_what_to_set_and_what_to_know(report: FleetReport) -> None:
    lines = list(report_lines(report))
    rows = [line.split() for line in lines if line.startswith("sydney ")]
    assert [row[1:3] for row in rows] == [
        ["--connect-timeout", "1.5s"],
        ["--request-timeout", "1s"],
        ["--api-timeout", "8s"],
    ]
    assert [row[3:5] for row in rows] == [["0", "%"]] * 3
    assert all(0 < float(row[5]) < 1 for row in rows)
    assert any(line.split()[:5] == ["2023-11-17", "22:13", "in", "3", "days"] for line in lines), lines
    assert any("sydney: half of its connects take over" in line and "[slow-place]" in line for line in lines)
    assert any("[never-ready]" in line for line in lines)
    assert any(line.startswith("flapping:9092 ") and " flapping " in line for line in lines)
    assert lines[-1].endswith("/bad:1: not JSON: Expecting value at column 1")


@pytest.mark.parametrize("width", [40, 80, 200])
def test_it_fits_and_nothing_is_lost(report: FleetReport, width: int) -> None:
    lines = list(report_lines(report, width))
    assert max(map(len, lines)) <= width
    text = "".join("".join(lines).split())
    for words in (
        LONG,
        "flapping:9092",
        "[certificate-ends]",
        "[never-ready]",
        "1.5s",
        "--api-timeout",
        "tls10/",
        "2023-11-17",
    ):
        assert words in text, words
    assert any(line.startswith("PLACE ") for line in lines) == (width >= 80)
    assert any(line.startswith("NODE ") for line in lines) == (width == 200)
    assert not any("\x1b" in line for line in lines)


def test_of_many_nodes_those_with_most_trouble_are_shown(tmp_path: Path) -> None:
    nodes = [NodeTruth(f"n{number}:9092") for number in range(MOST_NODES + 9)]
    nodes.append(NodeTruth("dead:9092", is_up=lambda _: False))
    write(tmp_path / "a.jsonl", probe_lines(nodes, Random(1), 3))
    fleet = Fleet()
    fold_file(str(tmp_path / "a.jsonl"), "berlin", fleet)
    lines = list(report_lines(summarise(fleet, now_ms=START_MS)))
    at = next(position for position, line in enumerate(lines) if line.startswith("NODE"))
    assert lines[at + 1].startswith("dead:9092 ")
    assert (len(lines) - at - 2, lines[-1]) == (MOST_NODES, "and 10 more")


def test_nothing_to_tell() -> None:
    assert next(report_lines(summarise(Fleet(), now_ms=0), 40)) == "0 files, 0 lines, 0 places"
