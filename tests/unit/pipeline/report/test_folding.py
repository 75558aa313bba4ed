"""Files into a fleet: bad lines are named and count for nothing, memory is bounded, two fleets make one."""

import gzip
import json
import pickle
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kctl.pipeline.jobs.report import folding
from kctl.pipeline.jobs.report.fleet import MOST_RUNS, MOST_SAMPLES, BadLine, Fleet, NodeKey, Run, join_runs
from kctl.pipeline.jobs.report.folding import fold_file
from kctl.pipeline.jobs.report.result import as_object
from kctl.pipeline.jobs.report.summary import summarise
from tests.unit.pipeline.report.fleets import START_MS, NodeTruth, Times, probe_lines, trace_lines, write

NODES = [NodeTruth("a:9092", ends_at_ms=START_MS), NodeTruth("b:9092", is_up=lambda number: number % 3 > 0)]


def fold(*files: Path) -> Fleet:
    fleet = Fleet()
    for file in files:
        fold_file(str(file), "here", fleet)
    return fleet


def as_seen(fleet: Fleet) -> Any:
    return as_object(summarise(fleet, now_ms=START_MS))


def summary(**change: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(list(probe_lines(NODES, Random(1), 1))[-1])
    return found | change


def with_address(**change: Any) -> str:
    found = summary()
    found["addresses"][1] |= change
    return json.dumps(found)


BAD = [
    ("{", "not JSON: "),
    ("[]", "an array where an object is expected"),
    ("\xff", "not JSON"),
    ("[" * 100_000, "nested too deeply"),
    ('{"v": 1}', "event: nothing where a text is expected"),
    ('{"v": "1", "event": "summary"}', "v: a text where a whole number is expected"),
    ('{"v": true, "event": "summary"}', "v: a boolean where a whole number is expected"),
    (json.dumps(summary(addresses=None)), "addresses: nothing where an array is expected"),
    (json.dumps(summary(addresses=[7])), "addresses[0].a number where an object is expected"),
    (json.dumps(summary(time_ms=-1)), "time_ms: -1 is out of range"),
    (json.dumps(summary(time_ms=10**400)), "out of range"),
    (with_address(elapsed_ms=1.5), "addresses[1].elapsed_ms: a fraction where a whole number is expected"),
    (with_address(outcome="well"), "addresses[1].outcome: 'well' is none of ready, failed, expired, unfinished"),
    (with_address(phases_ms={"tcp": "2"}), "addresses[1].tcp: a text where a whole number is expected"),
    (with_address(host="h" * 400), "addresses[1].host: 400 characters, more than 300"),
    (with_address(tls={"chain": [1]}), "addresses[1].tls.chain: an array of objects is expected"),
    ('{"v": 1, "event": "connected", "at_ms": 1}', "host: nothing where a text is expected"),
    ('{"v": 1, "event": "connected", "host": "a"}', "at_ms: nothing where a whole number is expected"),
]


@pytest.mark.parametrize(("line", "why"), BAD, ids=[why[:40] for _, why in BAD])
def test_a_bad_line_is_named_and_counts_for_nothing(tmp_path: Path, line: str, why: str) -> None:
    good = list(probe_lines(NODES, Random(1), 3))
    (tmp_path / "good").write_text("\n".join(good) + "\n")
    (tmp_path / "bad").write_text("\n".join([*good[:2], line, *good[2:]]) + "\n")
    clean, found = fold(tmp_path / "good"), fold(tmp_path / "bad")
    assert (found.bad_lines, found.bad_samples[0][:2]) == (1, (str(tmp_path / "bad"), 3))
    assert why in found.bad_samples[0].why
    assert as_seen(found)["places"] == as_seen(clean)["places"]


@given(data=st.binary(max_size=300), at=st.integers(0, 5000), cut=st.integers(0, 5000))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
def test_no_garbage_breaks_it(tmp_path: Path, data: bytes, at: int, cut: int) -> None:
    whole = "\n".join([*probe_lines(NODES, Random(1), 2), *trace_lines(NODES[0], Random(1), 2)]).encode()
    (tmp_path / "file").write_bytes(whole[:at] + data + whole[at + cut :])
    summarise(fold(tmp_path / "file"), now_ms=START_MS)


def test_only_the_first_bad_lines_are_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no\n" * 1000)
    found = fold(tmp_path / "file")
    assert (found.bad_lines, len(found.bad_samples)) == (1000, MOST_SAMPLES)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "broken.gz").write_bytes(gzip.compress(Random(1).randbytes(1000))[:500])
    (tmp_path / "no.gz").write_bytes(b"x" * 1000)
    (tmp_path / "folder").mkdir()
    found = fold(tmp_path / "missing", tmp_path / "folder", tmp_path / "broken.gz", tmp_path / "no.gz")
    assert [bad.line for bad in found.bad_samples].count(0) == 4
    assert found.bad_samples[0] == BadLine(str(tmp_path / "missing"), 0, "cannot be read: No such file or directory")


def test_a_packed_file_is_read_as_the_plain_one(tmp_path: Path) -> None:
    write(tmp_path / "plain", probe_lines(NODES, Random(1), 5))
    (tmp_path / "packed.gz").write_bytes(gzip.compress((tmp_path / "plain").read_bytes()))
    assert as_seen(fold(tmp_path / "plain")) == as_seen(fold(tmp_path / "packed.gz"))


def test_a_line_that_is_too_long_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = list(probe_lines(NODES, Random(1), 3))
    limit = max(map(len, good)) + 10
    monkeypatch.setattr(folding, "LONGEST_LINE_BYTES", limit)
    (tmp_path / "file").write_text("\n".join([*good[:2], "x" * (5 * limit + 3), *good[2:]]))
    found = fold(tmp_path / "file")
    assert [bad.line for bad in found.bad_samples] == [3]
    assert (found.lines, found.places["here"].rounds) == (len(good) + 1, 3)


def test_other_versions_and_events_are_counted_and_skipped(tmp_path: Path) -> None:
    (tmp_path / "file").write_text('{"v": 2, "event": "summary"}\n{"v": 1, "event": "new"}\n')
    found = fold(tmp_path / "file")
    assert (found.bad_lines, found.unknown) == (0, {"summary v2": 1, "new": 1})


def test_files_that_were_cut_off_are_told(tmp_path: Path) -> None:
    probe, trace = list(probe_lines(NODES, Random(1), 3)), list(trace_lines(NODES[0], Random(1), 3))
    for name, content in (("a", probe), ("b", probe[:-1]), ("c", trace), ("d", trace[:-1])):
        (tmp_path / name).write_text("\n".join(content))
    assert [fold(tmp_path / name).unfinished_files for name in "abcd"] == [0, 1, 0, 1]


def test_two_fleets_make_one_whoever_is_first(tmp_path: Path) -> None:
    files = []
    for number in range(6):
        files.append(tmp_path / f"{number}.jsonl")
        made = probe_lines(NODES, Random(number), 20, first_round=number * 20)
        write(files[-1], trace_lines(NODES[0], Random(number), 20) if number == 3 else made)
    expected = as_seen(fold(*files))
    parts = [fold(file) for file in files]
    for order in (range(6), (5, 3, 1, 0, 2, 4)):
        total = Fleet()
        for position in order:
            total.add(pickle.loads(pickle.dumps(parts[position])))
        assert as_seen(total) == expected
    node = expected["places"][0]["nodes"][1]
    assert (node["looks"], node["changes"]) == (100, 65)  # up in two of three rounds, and 20 rounds are missing


def test_memory_does_not_grow_with_what_is_read(tmp_path: Path) -> None:
    def peak(rounds: int) -> int:
        write(tmp_path / "file", probe_lines(NODES, Random(1), rounds))
        tracemalloc.start()
        fold(tmp_path / "file")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    few, many = peak(300), peak(3000)
    assert many < few * 1.5 + 100_000


def test_attempts_of_a_trace_that_never_end_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "MOST_OPEN", 10)
    started = [line for line in trace_lines(NODES[0], Random(1), 1000) if '"started"' in line]
    (tmp_path / "file").write_text("\n".join(started))
    fleet = Fleet()
    fold_ = folding._FileFold("file", "here", fleet)
    for number, line in enumerate(started):
        fold_.take(number, line.encode())
    assert (len(fold_._attempts), len(fold_._look_ups)) == (10, 10)


def test_nodes_above_the_bound_are_counted_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kctl.pipeline.jobs.report.fleet.MOST_NODES", 3)
    write(tmp_path / "file", probe_lines([NodeTruth(f"n{number}:1") for number in range(9)], Random(1), 2))
    found = fold(tmp_path / "file")
    assert [node.attempts for node in found.nodes.values()] == [2, 2, 2, 12]
    assert list(found.nodes)[-1] == NodeKey("(others)", "(others)")


def test_runs_are_joined_in_time_and_those_of_two_observers_are_not() -> None:
    runs = [Run(20, True, 30, False), Run(0, True, 10, True), Run(40, True, 50, True), Run(35, False, 60, False)]
    assert join_runs(runs) == ([Run(0, True, 60, False), Run(40, True, 50, True)], 0)
    ups = [Run(at, at % 2 == 0, at, at % 2 == 0) for at in range(3 * MOST_RUNS)]
    fleet = Fleet()
    node = fleet.node("here", "a")
    for run in ups:
        node.note_run(run)
    assert len(node.runs) <= MOST_RUNS
    assert node.changes + join_runs(node.runs)[1] == 3 * MOST_RUNS - 1


def test_how_addresses_end(tmp_path: Path) -> None:
    phases = {"dns": 1, "tcp": 2}
    ends: list[dict[str, Any]] = [
        {"outcome": "failed", "phase": "tls", "phases_ms": phases, "error": {"name": "TlsError"}},
        {"outcome": "unfinished", "phase": "tls", "phases_ms": phases, "elapsed_ms": 50},
        {"outcome": "expired", "phase": "metadata", "phases_ms": {**phases, "tls": 3}, "elapsed_ms": 106},
        {"outcome": "expired", "phase": "tls", "phases_ms": phases, "elapsed_ms": 10_000},
    ]
    (tmp_path / "file").write_text(
        "\n".join(with_address(address=f"10.0.0.{n}:1", **end) for n, end in enumerate(ends))
    )
    node = fold(tmp_path / "file").nodes[NodeKey("here", "b:9092")]
    assert (node.ready, node.expired, node.failed, node.dropped, node.requests_expired) == (1, 1, 1, 1, 1)
    assert node.setup.ends == {6: 1}
    assert sum(node.setup.cuts.values()) == 2
    assert node.requests["Metadata"].cuts == {100: 1}
    assert node.errors["TlsError"] == 1
    assert node.addresses["10.0.0.3:1"] == (0, 1, 0)


def test_times_of_the_generator_are_what_they_are_said_to_be() -> None:
    times, random = Times(100, 0.4), Random(1)
    drawn = sorted(times.draw(random) for _ in range(20_000))
    assert drawn[18_000] == pytest.approx(times.quantile_ms(0.9), rel=0.03)
