"""The report as text fits terminals and loses nothing; the page is well-formed HTML with everything escaped."""

from html.parser import HTMLParser
from pathlib import Path
from random import Random

import pytest

from kctl.cli.probe.report.reading import read_file
from kctl.cli.probe.report.result import Report, summarise
from kctl.cli.probe.report.statistics import Statistics
from kctl.cli.probe.report.view import MOST_ROWS, page, text_lines
from tests.unit.cli.probe.report.fleets import DAY_MS, START_MS, NodeTruth, Times, probe_lines, write

LONG = "kafka-1.production.eu-central.example.internal:9093"
EVIL = "\x1b[31m<script>alert(1)</script>"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("fleet")
    nodes = [NodeTruth(LONG, ends_at_ms=START_MS + 3 * DAY_MS), NodeTruth(f"{EVIL}:9092", is_up=lambda _: False)]
    write(folder / "one.jsonl", probe_lines(nodes, Random(1), 200))
    write(folder / "two.jsonl", probe_lines([NodeTruth("b:9092", tls=Times(300))], Random(2), 3500))
    (folder / "bad").write_text("no\n")
    read = Statistics()
    for file, place in (("one.jsonl", EVIL), ("two.jsonl", "sydney"), ("bad", "sydney")):
        read_file(str(folder / file), place, read)
    return summarise(read, now_ms=START_MS, cert_warn_ms=21 * DAY_MS)


def test_text_has_timeouts_findings_latencies_and_invalid_lines(report: Report) -> None:
    lines = list(text_lines(report, None))
    rows = [line.split()[1:] for line in lines if line.startswith("sydney ")]
    assert [row[:5] for row in rows] == [
        ["--connect-timeout", "1s200ms", "0", "%", "3500"],
        ["--request-timeout", "1s", "0", "%", "3500"],
        ["--api-timeout", "5s", "0", "%", "3500"],
    ]
    assert any(line.startswith("never-ready ") for line in lines), lines
    assert any("certificate CN=leaf expires in 3 days" in line for line in lines)
    assert "sydney: 2 files, 3500 probes, 0 traces" in lines
    (node,) = (line for line in lines if line.startswith("b:9092 "))
    assert "tls 298/609" in node
    assert any(line.endswith("/bad     1  the line is not JSON: Expecting value at column 1") for line in lines)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_text_fits_the_terminal_and_nothing_is_lost(report: Report, width: int) -> None:
    lines = list(text_lines(report, width))
    assert max(map(len, lines)) <= width
    text = "".join("".join(lines).split())
    for words in (LONG, "certificate-expires", "never-ready", "1s200ms", "--api-timeout", "tls10/"):
        assert words in text, words
    assert not any("\x1b" in line for line in lines)


def test_nodes_with_most_trouble_come_first(tmp_path: Path) -> None:
    nodes = [NodeTruth(f"n{number}:9092") for number in range(MOST_ROWS + 9)]
    nodes.append(NodeTruth("dead:9092", is_up=lambda _: False))
    write(tmp_path / "a.jsonl", probe_lines(nodes, Random(1), 3))
    read = Statistics()
    read_file(str(tmp_path / "a.jsonl"), "berlin", read)
    lines = list(text_lines(summarise(read, now_ms=START_MS, cert_warn_ms=0), None))
    at = next(position for position, line in enumerate(lines) if line.startswith("NODE"))
    assert lines[at + 1].startswith("dead:9092 ")
    assert lines[at + MOST_ROWS + 1] == "and 10 more"


class Parsed(HTMLParser):
    """The tags of a page, and what is in them; complains of any that is not closed as it was opened."""

    VOID = ("meta",)

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_page_has_all_tables_and_escapes_its_input(report: Report) -> None:
    text = page(report)
    found = Parsed(text)
    assert {tag for tag, _ in found.seen}.isdisjoint({"script", "link", "img", "iframe", "object", "form"})
    for tag, attributes in found.seen:
        assert attributes.keys().isdisjoint({"src", "href", "action"}), tag
        assert not any(name.startswith("on") for name in attributes)
    assert "url(" not in text
    assert "<script>alert(1)</script>" in found.text  # as text alone
    assert "\x1b" not in found.text
    assert r"\x1b[31m<script>" in found.text
    for words in ("Suggested timeouts", "--api-timeout", "never-ready", LONG, "sydney: 2 files", "Invalid lines: 1"):
        assert words in found.text, words


def test_page_of_nothing() -> None:
    assert "0 lines" in Parsed(page(summarise(Statistics(), now_ms=0, cert_warn_ms=0))).text
