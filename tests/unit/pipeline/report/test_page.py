"""A report as JSON and as a page: the schema holds, and whatever comes from files is escaped."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest

from kctl.pipeline.jobs.report.fleet import Fleet
from kctl.pipeline.jobs.report.folding import fold_file
from kctl.pipeline.jobs.report.limits import round_up_ms
from kctl.pipeline.jobs.report.page import page
from kctl.pipeline.jobs.report.result import SCHEMA_VERSION, FleetReport, as_object
from kctl.pipeline.jobs.report.summary import summarise
from kctl.pipeline.jobs.report.words import days_words, duration_words, share_words
from tests.unit.cli.view.test_probe_objects import closed
from tests.unit.pipeline.report.fleets import DAY_MS, START_MS, NodeTruth, Times, probe_lines, write

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parents[4] / "docs" / "schemas" / f"report.v{SCHEMA_VERSION}.json").read_text()
)
EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> FleetReport:
    folder = tmp_path_factory.mktemp("fleet")
    nodes = [
        NodeTruth("a:9092", ends_at_ms=START_MS + 3 * DAY_MS),
        NodeTruth("flapping:9092", is_up=lambda number: number // 4 % 3 > 0),
        NodeTruth(f"{EVIL}:9092", is_up=lambda _: False),
    ]
    write(folder / "one.jsonl", probe_lines(nodes, Random(1), 200))
    write(folder / "two.jsonl", probe_lines([NodeTruth("b:9092", tls=Times(300))], Random(2), 3500))
    (folder / "bad").write_text(f"{EVIL}\n")
    fleet = Fleet()
    for file, place in (("one.jsonl", EVIL), ("two.jsonl", "sydney"), ("bad", "sydney")):
        fold_file(str(folder / file), place, fleet)
    return summarise(fleet, now_ms=START_MS)


@pytest.fixture(scope="module")
def empty() -> FleetReport:
    return summarise(Fleet(), now_ms=START_MS)


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


def test_the_json_is_as_the_schema_says(report: FleetReport, empty: FleetReport) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for one in (report, empty):
        jsonschema.Draft202012Validator(closed(SCHEMA)).validate(json.loads(json.dumps(as_object(one))))


@pytest.mark.parametrize("change", [{"v": 2}, {"places": {}}, {"more": 1}, {"now_ms": "x"}])
def test_the_schema_can_refuse(report: FleetReport, change: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(closed(SCHEMA)).validate({**as_object(report), **change})


def test_the_page_is_whole_and_needs_nothing_else(report: FleetReport) -> None:
    text = page(report)
    found = Parsed(text)
    tags = {tag for tag, _ in found.seen}
    assert {"svg", "style", "table"} <= tags
    assert tags.isdisjoint({"script", "link", "img", "iframe", "object", "embed", "base", "form"})
    for tag, attributes in found.seen:
        assert attributes.keys().isdisjoint({"src", "href", "srcset", "action"}), tag
        assert not any(name.startswith("on") for name in attributes)
    assert re.findall(r"url\((?!#)", text) == []
    assert "@import" not in text
    assert EVIL in found.text  # as a name, and nothing else


def test_every_plot_says_in_words_what_it_shows(report: FleetReport) -> None:
    plots = [attributes for tag, attributes in Parsed(page(report)).seen if tag == "svg" and "role" in attributes]
    assert len(plots) > 8
    assert all(plot["aria-label"] for plot in plots)


def test_a_page_of_nothing(empty: FleetReport) -> None:
    assert "None." in Parsed(page(empty)).text


@pytest.mark.parametrize(
    ("ms", "words"), [(0, "0ms"), (250, "250ms"), (1000, "1s"), (1200, "1.2s"), (90_000, "1m30s"), (3_600_000, "1h")]
)
def test_durations(ms: int, words: str) -> None:
    assert duration_words(ms) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (None, "-"),
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.25, "25 %"),
        (0.999, "99.9 %"),
        (0.9999, "99.99 %"),
        (0.016, "1.6 %"),
        (0.00033, "0.033 %"),
        (1e-9, "<0.001 %"),
        (0.99999, "99.999 %"),
    ],
)
def test_shares(share: float | None, words: str) -> None:
    assert share_words(share) == words


def test_days() -> None:
    assert [days_words(days) for days in (12.3, -3.0, 0.5, -0.1)] == [
        "in 12 days",
        "3 days ago",
        "in 12 hours",
        "2 hours ago",
    ]


@pytest.mark.parametrize(
    ("ms", "plain"),
    [(1, 1), (249, 250), (250, 250), (251, 300), (801, 1000), (1001, 1200), (8500, 10_000), (11_000, 12_000)],
)
def test_limits_are_plain_durations(ms: int, plain: int) -> None:
    assert round_up_ms(ms) == plain
