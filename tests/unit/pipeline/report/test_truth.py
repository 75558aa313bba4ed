"""Reports of generated fleets find what is true of them: slow places, flapping nodes, certificates, right limits."""

import json
from pathlib import Path
from random import Random

import jsonschema
import pytest

from kctl.pipeline.jobs.report.fleet import Fleet
from kctl.pipeline.jobs.report.folding import fold_file
from kctl.pipeline.jobs.report.limits import Limit
from kctl.pipeline.jobs.report.result import FleetReport, PlaceReport
from kctl.pipeline.jobs.report.summary import summarise
from tests.unit.cli.trace.test_trace_file import SCHEMA as TRACE_SCHEMA
from tests.unit.cli.view.test_probe_objects import SCHEMA as PROBE_SCHEMA
from tests.unit.pipeline.report.fleets import (
    DAY_MS,
    INTERVAL_MS,
    START_MS,
    NodeTruth,
    Times,
    probe_lines,
    trace_lines,
    write,
)

NEAR = Times(12)
FAR = Times(300, 0.4)


def report(tmp_path: Path, *, now_ms: int = START_MS) -> FleetReport:
    fleet = Fleet()
    for file in sorted(tmp_path.rglob("*.jsonl")):
        fold_file(str(file), file.parent.name, fleet)
    assert fleet.bad_lines == 0, fleet.bad_samples
    return summarise(fleet, now_ms=now_ms)


def place(found: FleetReport, name: str) -> PlaceReport:
    return next(each for each in found.places if each.place == name)


def findings(found: FleetReport, *, ignore: tuple[str, ...] = ("few-samples",)) -> set[tuple[str, str, str]]:
    return {(each.id, each.place, each.node) for each in found.findings if each.id not in ignore}


def given(limit: Limit | None) -> Limit:
    assert limit is not None
    return limit


def test_what_is_generated_is_what_kctl_writes() -> None:
    random = Random(1)
    node = NodeTruth("a:9092", tls=FAR, ends_at_ms=START_MS)
    for schema, lines in (
        (PROBE_SCHEMA, probe_lines([node], random, 30, limit_ms=300)),
        (TRACE_SCHEMA, trace_lines(node, random, 30, limit_ms=300)),
    ):
        validator = jsonschema.Draft202012Validator(schema)
        for line in lines:
            validator.validate(json.loads(line))


@pytest.mark.parametrize("seed", range(3))
def test_each_place_gets_the_limits_that_it_needs(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    slow_requests = Times(700, 0.4)
    for name, tls, metadata in (("berlin", NEAR, Times(5)), ("paris", NEAR, Times(5)), ("sydney", FAR, slow_requests)):
        nodes = [NodeTruth(f"{host}:9092", tls=tls, metadata=metadata) for host in "ab"]
        write(tmp_path / name / "probe.jsonl", probe_lines(nodes, random, 4000))
    found = report(tmp_path)
    assert findings(found) == {("slow-place", "sydney", "")}
    connect, request, api = (given(limit) for limit in place(found, "sydney").limits)
    needed = FAR.quantile_ms(0.999)
    assert needed <= connect.limit_ms <= 2.5 * needed
    assert FAR.later_than(connect.limit_ms) <= 0.001
    assert slow_requests.quantile_ms(0.999) <= request.limit_ms <= 2.5 * slow_requests.quantile_ms(0.999)
    assert connect.is_certain
    assert not connect.is_lower_bound
    assert FAR.later_than(connect.limit_ms - 10) <= connect.false_expiries_at_most <= 0.002
    assert 3 * connect.limit_ms + 2 * request.limit_ms <= api.limit_ms <= 4 * connect.limit_ms + 2.5 * request.limit_ms
    for name in ("berlin", "paris"):
        near = place(found, name).limits
        assert given(near.connect).limit_ms == 250  # the least that is ever advised
        assert given(near.request).limit_ms == 1000


def test_a_slow_node_decides_though_it_is_one_of_many(tmp_path: Path) -> None:
    nodes = [NodeTruth(f"n{number}:9092") for number in range(20)] + [NodeTruth("slow:9092", tls=FAR)]
    write(tmp_path / "berlin" / "probe.jsonl", probe_lines(nodes, Random(4), 1000))
    found = report(tmp_path)
    assert findings(found) == {("slow-node", "berlin", "slow:9092")}
    limit = given(place(found, "berlin").limits.connect)
    assert limit.decided_by == "slow:9092"
    assert FAR.later_than(limit.limit_ms) <= 0.001


def test_an_outage_does_not_lengthen_limits_and_is_told(tmp_path: Path) -> None:
    down = NodeTruth("down:9092", is_up=lambda number: not 100 <= number < 200)
    dead = NodeTruth("dead:9092", is_up=lambda _: False)
    write(tmp_path / "berlin" / "probe.jsonl", probe_lines([down, dead, NodeTruth("up:9092")], Random(5), 4000))
    found = report(tmp_path)
    assert findings(found) == {("expires", "berlin", "down:9092"), ("never-ready", "berlin", "dead:9092")}
    limit = given(place(found, "berlin").limits.connect)
    assert (limit.limit_ms, limit.outages, limit.false_expiries) == (250, 4100, 0.0)
    node = next(each for each in found.places[0].nodes if each.node == "down:9092")
    assert (node.expired, node.expiry_rate, node.expired_in) == (100, 100 / 4000, {"tcp": 100})
    assert (node.changes, node.is_flapping) == (2, False)


def test_a_flapping_node_is_found_and_where_its_changes_were_across_files(tmp_path: Path) -> None:
    flapping = NodeTruth("flapping:9092", is_up=lambda number: number // 5 % 2 == 0)
    nodes, random = [flapping, NodeTruth("steady:9092")], Random(6)
    for hour in range(20):  # a file each for five rounds, and the state changes between files only
        write(tmp_path / "berlin" / f"{hour:02}.jsonl", probe_lines(nodes, random, 5, first_round=hour * 5))
    found = report(tmp_path)
    assert findings(found) == {("flapping", "berlin", "flapping:9092"), ("expires", "berlin", "flapping:9092")}
    node = found.places[0].nodes[0]
    assert (node.looks, node.changes) == (100, 19)


def test_certificates_that_end(tmp_path: Path) -> None:
    now_ms = START_MS + 100 * INTERVAL_MS
    nodes = [
        NodeTruth("ended:9092", ends_at_ms=now_ms - 2 * DAY_MS),
        NodeTruth("ends:9092", ends_at_ms=now_ms + 20 * DAY_MS),
        NodeTruth("fine:9092", ends_at_ms=now_ms + 22 * DAY_MS),
    ]
    write(tmp_path / "berlin" / "probe.jsonl", probe_lines(nodes, Random(7), 50))
    found = report(tmp_path, now_ms=now_ms)
    assert findings(found) == {
        ("certificate-ended", "berlin", "ended:9092"),
        ("certificate-ends", "berlin", "ends:9092"),
    }
    texts = [each.text for each in found.findings if each.id.startswith("certificate")]
    assert texts == ["CN=leaf ended 2 days ago", "CN=leaf ends in 20 days"]


def test_a_limit_that_was_too_short_is_told_and_what_it_hid_is_not_guessed(tmp_path: Path) -> None:
    write(
        tmp_path / "sydney" / "probe.jsonl", probe_lines([NodeTruth("a:9092", tls=FAR)], Random(8), 4000, limit_ms=400)
    )
    found = report(tmp_path)
    assert {each.id for each in found.findings} == {"expires", "limit-short", "tail-unseen"}
    limit = given(place(found, "sydney").limits.connect)
    assert limit.is_lower_bound
    assert limit.limit_ms >= 1200
    assert limit.outages == 0
    assert limit.false_expiries == pytest.approx(FAR.later_than(400), abs=0.05)  # no better is known


def test_one_longer_limit_among_short_ones_is_enough_to_tell(tmp_path: Path) -> None:
    node = NodeTruth("a:9092", tls=FAR)
    write(tmp_path / "sydney" / "short.jsonl", probe_lines([node], Random(9), 4000, limit_ms=400))
    write(tmp_path / "sydney" / "long.jsonl", probe_lines([node], Random(10), 4000, limit_ms=10_000))
    limit = given(place(report(tmp_path), "sydney").limits.connect)
    assert not limit.is_lower_bound
    assert FAR.quantile_ms(0.999) <= limit.limit_ms <= 2.5 * FAR.quantile_ms(0.999)


def test_a_node_that_hides_its_tail_makes_the_limit_of_its_place_uncertain(tmp_path: Path) -> None:
    """Though another node, which was measured with longer limits, needs more by what is known."""
    seen, cut_off = NodeTruth("seen:9092", tls=Times(900, 0.4)), NodeTruth("cut-off:9092", tls=FAR)
    write(tmp_path / "sydney" / "seen.jsonl", probe_lines([seen], Random(13), 4000, limit_ms=20_000))
    write(tmp_path / "sydney" / "cut-off.jsonl", probe_lines([cut_off], Random(14), 4000, limit_ms=400))
    found = report(tmp_path)
    limit = given(place(found, "sydney").limits.connect)
    assert limit.decided_by == "seen:9092"
    assert limit.is_lower_bound
    assert ("tail-unseen", "sydney", "") in findings(found)
    assert limit.false_expiries == pytest.approx(FAR.later_than(400) / 2, abs=0.05)  # no better is known


def test_few_samples_are_said_to_be_few_and_given_more_room(tmp_path: Path) -> None:
    write(tmp_path / "sydney" / "probe.jsonl", probe_lines([NodeTruth("a:9092", tls=FAR)], Random(11), 40))
    found = report(tmp_path)
    assert {each.id for each in found.findings} == {"few-samples"}
    limit = given(found.places[0].limits.connect)
    assert not limit.is_certain
    assert limit.limit_ms >= 3 * FAR.quantile_ms(0.9)
    assert limit.false_expiries_at_most == pytest.approx(0.072, abs=0.001)  # no case in 40


def test_traces_count_with_lost_races_as_cuts_and_fetches_as_requests(tmp_path: Path) -> None:
    fetch = Times(600, 0.1)
    node = NodeTruth("a:9092", tls=FAR, metadata=fetch)
    for number in range(3):
        write(tmp_path / "sydney" / f"{number}.jsonl", trace_lines(node, Random(number), 2000))
    found = report(tmp_path)
    assert findings(found) == set()
    connect, request, _ = (given(limit) for limit in found.places[0].limits)
    assert (connect.samples, connect.cuts) == (5400, 600)
    assert FAR.quantile_ms(0.999) <= connect.limit_ms <= 2.5 * FAR.quantile_ms(0.999)
    assert fetch.quantile_ms(0.999) <= request.limit_ms <= 2.5 * fetch.quantile_ms(0.999)
    assert request.decided_by == "Fetch at a:9092"
    tls = found.places[0].phases["tls"]
    assert tls.p50_ms == pytest.approx(FAR.median_ms, rel=0.05)
    assert tls.p99_ms == pytest.approx(FAR.quantile_ms(0.99), rel=0.1)
