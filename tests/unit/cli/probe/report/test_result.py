"""Reports of generated fleets: findings and timeouts match the truth, and JSON matches its schema."""

import json
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest

from kctl.cli.probe.report.reading import read_file
from kctl.cli.probe.report.result import DAY_MS, SCHEMA_VERSION, Report, as_object, latency, summarise
from kctl.cli.probe.report.statistics import Statistics
from tests.unit.cli.probe.report.fleets import (
    INTERVAL_MS,
    START_MS,
    NodeTruth,
    Times,
    probe_lines,
    trace_lines,
    write,
)
from tests.unit.cli.probe.view.test_objects import SCHEMA as PROBE_SCHEMA
from tests.unit.cli.probe.view.test_objects import closed
from tests.unit.cli.trace.test_trace_file import SCHEMA as TRACE_SCHEMA

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[5] / "docs" / "schemas"
SCHEMA: dict[str, Any] = json.loads((FOLDER / f"probe-report.v{SCHEMA_VERSION}.json").read_text())
FAR = Times(300, 0.4)


def report(tmp_path: Path, *, now_ms: int = START_MS) -> Report:
    read = Statistics()
    for file in sorted(tmp_path.rglob("*.jsonl")):
        read_file(str(file), file.parent.name, read)
    return summarise(read, now_ms=now_ms, cert_warn_ms=21 * DAY_MS)


def findings(found: Report) -> list[tuple[str, str, str]]:
    return [(each.id, each.place, each.node) for each in found.findings]


def test_generated_lines_match_the_schemas_of_probe_and_trace() -> None:
    random = Random(1)
    node = NodeTruth("a:9092", tls=FAR, ends_at_ms=START_MS)
    for schema, lines in (
        (PROBE_SCHEMA, probe_lines([node], random, 30, limit_ms=300)),
        (TRACE_SCHEMA, trace_lines(node, random, 30, limit_ms=300)),
    ):
        validator = jsonschema.Draft202012Validator(schema)
        for line in lines:
            validator.validate(json.loads(line))


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.slow) for seed in range(3)])
def test_each_place_gets_the_timeouts_that_it_needs(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    slow_requests = Times(700, 0.4)
    for name, tls, metadata in (("berlin", Times(12), Times(5)), ("sydney", FAR, slow_requests)):
        nodes = [NodeTruth(f"{host}:9092", tls=tls, metadata=metadata) for host in "ab"]
        write(tmp_path / name / "probe.jsonl", probe_lines(nodes, random, 4000))
    found = report(tmp_path)
    assert findings(found) == []
    connect, request, _ = found.timeouts["sydney"]
    assert connect is not None
    assert request is not None
    for timeout, truth in ((connect, FAR), (request, slow_requests)):
        assert truth.quantile_ms(0.999) <= timeout.timeout_ms <= 2.5 * truth.quantile_ms(0.999)
        assert timeout.false_expiries <= 0.001
        assert (timeout.is_lower_bound, timeout.has_few_samples) == (False, False)
    assert [each and each.timeout_ms for each in found.timeouts["berlin"][:2]] == [250, 1000]


def test_dead_and_failing_nodes_are_found(tmp_path: Path) -> None:
    down = NodeTruth("down:9092", is_up=lambda number: not 100 <= number < 200)
    dead = NodeTruth("dead:9092", is_up=lambda _: False)
    write(tmp_path / "berlin" / "a.jsonl", probe_lines([down, dead, NodeTruth("up:9092")], Random(5), 4000))
    found = report(tmp_path)
    assert findings(found) == [("never-ready", "berlin", "dead:9092"), ("expires", "berlin", "down:9092")]
    assert [each.text for each in found.findings] == [
        "all 4000 attempts failed (ConnectTimeout 4000)",
        "100 of 4000 attempts timed out (tcp 100)",
    ]
    connect = found.timeouts["berlin"].connect
    assert connect is not None
    assert (connect.timeout_ms, connect.outages, connect.false_expiries) == (250, 4100, 0.0)


def test_certificates_that_expire_are_found(tmp_path: Path) -> None:
    now_ms = START_MS + 100 * INTERVAL_MS
    nodes = [NodeTruth(f"{days}:9092", ends_at_ms=now_ms + days * DAY_MS) for days in (-2, 20, 22)]
    write(tmp_path / "berlin" / "probe.jsonl", probe_lines(nodes, Random(7), 50))
    found = report(tmp_path, now_ms=now_ms)
    assert findings(found) == [
        ("certificate-expired", "berlin", "-2:9092"),
        ("certificate-expires", "berlin", "20:9092"),
    ]
    assert [each.text for each in found.findings] == [
        "certificate CN=leaf expired 2 days ago",
        "certificate CN=leaf expires in 20 days",
    ]


@pytest.mark.slow
def test_percentiles_of_traces_are_those_of_their_distributions(tmp_path: Path) -> None:
    fetch = Times(600, 0.1)
    write(tmp_path / "sydney" / "a.jsonl", trace_lines(NodeTruth("a:9092", tls=FAR, metadata=fetch), Random(1), 4000))
    node = report(tmp_path).statistics.places["sydney"].nodes["a:9092"]
    tls, requests = latency(node.phases["tls"]), latency(node.requests["Fetch"])
    assert (node.ready, node.attempts) == (3600, 3600)  # every tenth attempt lost a race
    assert tls["p50_ms"] == pytest.approx(FAR.median_ms, rel=0.05)
    assert tls["p99_ms"] == pytest.approx(FAR.quantile_ms(0.99), rel=0.1)
    assert requests["p999_ms"] == pytest.approx(fetch.quantile_ms(0.999), rel=0.1)


def test_json_matches_its_schema_and_the_schema_lists_every_field(tmp_path: Path) -> None:
    nodes = [NodeTruth("a:9092", ends_at_ms=START_MS), NodeTruth("dead:9092", is_up=lambda _: False)]
    write(tmp_path / "berlin" / "a.jsonl", probe_lines(nodes, Random(1), 50))
    (tmp_path / "berlin" / "b.jsonl").write_text("no\n")
    validator = jsonschema.Draft202012Validator(closed(SCHEMA))
    found = as_object(report(tmp_path))
    validator.validate(found)
    validator.validate(as_object(summarise(Statistics(), now_ms=0, cert_warn_ms=0)))
    assert json.loads(json.dumps(found)) == found
    assert found["places"][0]["total"]["attempts"] == 100
    assert [each["id"] for each in found["findings"]] == [
        "certificate-expired", "never-ready", "bad-lines",
    ]  # fmt: skip
