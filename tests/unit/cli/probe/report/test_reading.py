"""Files into statistics: invalid lines are named and count for nothing, and memory is bounded."""

import gzip
import json
import os
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kctl.cli.probe.report import reading, statistics
from kctl.cli.probe.report.reading import read_file
from kctl.cli.probe.report.result import as_object, summarise
from kctl.cli.probe.report.statistics import MOST_SAMPLES, NodeStatistics, Statistics, bucket_of
from tests.unit.cli.probe.report.fleets import START_MS, NodeTruth, Times, probe_lines, trace_lines, write

NODES = [NodeTruth("a:9092", ends_at_ms=START_MS), NodeTruth("b:9092", is_up=lambda number: number % 3 > 0)]


def read(*files: Path) -> Statistics:
    found = Statistics()
    for file in files:
        read_file(str(file), "here", found)
    return found


def node(found: Statistics, name: str) -> NodeStatistics:
    return found.places["here"].nodes[name]


def places(found: Statistics) -> Any:
    return as_object(summarise(found, now_ms=START_MS, cert_warn_ms=0))["places"]


def summary(**change: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(list(probe_lines(NODES, Random(1), 1))[-1])
    return found | change


def with_address(**change: Any) -> str:
    found = summary()
    found["addresses"][1] |= change
    return json.dumps(found)


BAD = [
    ("{", "not JSON: "),
    ("[]", "expected an object, found an array"),
    ("\xff", "not JSON"),
    ("[" * 100_000, "nested too deeply"),
    (
        '{"v": 1, "key": "k", "value": "v"}',
        "the line is not from kctl probe or --trace-file: the field 'event' is missing",
    ),
    ('{"v": "1", "event": "summary"}', "v: expected an integer, found a string"),
    ('{"v": true, "event": "summary"}', "v: expected an integer, found a boolean"),
    ('{"v": 2, "event": "summary"}', "schema version 2 is not supported: this kctl reads version 1"),
    (json.dumps(summary(addresses=None)), "addresses: expected an array, found null"),
    (json.dumps(summary(addresses=[7])), "expected an object, found an integer"),
    (json.dumps(summary(time_ms=-1)), "time_ms: out of range"),
    (json.dumps(summary(time_ms=10**400)), "out of range"),
    (with_address(elapsed_ms=1.5), "elapsed_ms: expected an integer, found a fraction"),
    (with_address(outcome="well"), "invalid outcome 'well': use ready, failed, expired, unfinished"),
    (with_address(phases_ms={"tcp": "2"}), "tcp: expected an integer, found a string"),
    (with_address(host="h" * 400), "host: the string has 400 characters, more than 300"),
    (with_address(tls={"chain": [1]}), "expected an object, found an integer"),
    ('{"v": 1, "event": "connected", "at_ms": 1}', "host: missing"),
    ('{"v": 1, "event": "connected", "host": "a", "port": 1}', "elapsed_ms: missing"),
]


@pytest.mark.parametrize(("line", "why"), BAD, ids=[why[:40] for _, why in BAD])
def test_invalid_line_is_named_and_counts_for_nothing(tmp_path: Path, line: str, why: str) -> None:
    good = list(probe_lines(NODES, Random(1), 3))
    (tmp_path / "good").write_text("\n".join(good) + "\n")
    (tmp_path / "bad").write_text("\n".join([*good[:2], line, *good[2:]]) + "\n")
    clean, found = read(tmp_path / "good"), read(tmp_path / "bad")
    assert (found.bad_lines, found.bad_samples[0][:2]) == (1, (str(tmp_path / "bad"), 3))
    assert why in found.bad_samples[0][2]
    assert places(found) == places(clean)


def test_truncated_last_line_is_named(tmp_path: Path) -> None:
    whole = "\n".join(probe_lines(NODES, Random(1), 2)) + "\n"
    (tmp_path / "cut").write_text(whole[:-100])
    (file, line, reason), *others = read(tmp_path / "cut").bad_samples
    assert (file, line, others) == (str(tmp_path / "cut"), 4, [])
    assert reason.endswith("(the last line may be truncated)")


@given(data=st.binary(max_size=300), at=st.integers(0, 5000), cut=st.integers(0, 5000))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
def test_no_garbage_raises(tmp_path: Path, data: bytes, at: int, cut: int) -> None:
    whole = "\n".join([*probe_lines(NODES, Random(1), 2), *trace_lines(NODES[0], Random(1), 2)]).encode()
    (tmp_path / "file").write_bytes(whole[:at] + data + whole[at + cut :])
    places(read(tmp_path / "file"))


def test_only_the_first_invalid_lines_are_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no\n" * 1000)
    found = read(tmp_path / "file")
    assert (found.bad_lines, len(found.bad_samples)) == (1000, MOST_SAMPLES)


def test_unreadable_files_are_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "broken.gz").write_bytes(gzip.compress(Random(1).randbytes(1000))[:500])
    (tmp_path / "no.gz").write_bytes(b"x" * 1000)
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")  # that has no writer
    device = Path("/dev/zero")
    names = [*(tmp_path / name for name in ("missing", "broken.gz", "no.gz", "empty", "pipe")), device]
    reasons = {file: reason for file, line, reason in read(*names).bad_samples if line == 0}
    assert reasons == {
        str(tmp_path / "missing"): "cannot be read: No such file or directory",
        str(
            tmp_path / "broken.gz"
        ): "cannot be read: Compressed file ended before the end-of-stream marker was reached",
        str(tmp_path / "no.gz"): "cannot be read: Not a gzipped file (b'xx')",
        str(tmp_path / "empty"): "empty",
        str(tmp_path / "pipe"): "empty",
        str(device): "cannot be read: the path is not a regular file or pipe",
    }


def test_compressed_file_reads_as_the_plain_one(tmp_path: Path) -> None:
    write(tmp_path / "plain", probe_lines(NODES, Random(1), 5))
    (tmp_path / "packed.gz").write_bytes(gzip.compress((tmp_path / "plain").read_bytes()))
    assert places(read(tmp_path / "plain")) == places(read(tmp_path / "packed.gz"))


def test_line_that_is_too_long_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = list(probe_lines(NODES, Random(1), 3))
    limit = max(map(len, good)) + 10
    monkeypatch.setattr(reading, "LONGEST_LINE_BYTES", limit)
    (tmp_path / "file").write_text("\n".join([*good[:2], "x" * (5 * limit + 3), *good[2:]]))
    found = read(tmp_path / "file")
    assert [line for _, line, _ in found.bad_samples] == [3]
    assert (found.lines, found.places["here"].rounds) == (len(good) + 1, 3)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_lines(tmp_path: Path) -> None:
    def peak(rounds: int) -> int:
        write(tmp_path / "file", probe_lines(NODES, Random(1), rounds))
        tracemalloc.start()
        read(tmp_path / "file")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    few, many = peak(300), peak(3000)
    assert many < few * 1.5 + 100_000


def test_attempts_that_never_end_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_ATTEMPTS", 10)
    reader = reading._Reader("file", "here", Statistics())
    for number, line in enumerate(trace_lines(NODES[0], Random(1), 1000)):
        if '"started"' in line:
            reader.read(number, line.encode())
    assert (len(reader._attempts), len(reader._lookups)) == (10, 10)


def test_nodes_above_the_bound_are_counted_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "MOST_NODES", 3)
    write(tmp_path / "file", probe_lines([NodeTruth(f"n{number}:1") for number in range(9)], Random(1), 2))
    nodes = read(tmp_path / "file").places["here"].nodes
    assert {name: each.attempts for name, each in nodes.items()} == {"n0:1": 2, "n1:1": 2, "n2:1": 2, "(others)": 12}


def test_outcomes_of_addresses_are_counted(tmp_path: Path) -> None:
    phases = {"dns": 1, "tcp": 2}
    ends: list[dict[str, Any]] = [
        {"outcome": "failed", "phase": "tls", "phases_ms": phases, "error": {"name": "TlsError"}},
        {"outcome": "unfinished", "phase": "tls", "phases_ms": phases, "elapsed_ms": 50},
        {"outcome": "expired", "phase": "metadata", "phases_ms": {**phases, "tls": 3}, "elapsed_ms": 106},
        {"outcome": "expired", "phase": "tls", "phases_ms": phases, "elapsed_ms": 10_000},
    ]
    (tmp_path / "file").write_text("\n".join(with_address(**end) for end in ends))
    found = node(read(tmp_path / "file"), "b:9092")
    assert (found.ready, found.expired, found.failed, found.attempts) == (1, 1, 1, 3)
    assert (found.setup.completed, found.setup.expired) == ({6: 1}, {bucket_of(10_000): 1})
    assert (found.requests["Metadata"].completed, found.requests["Metadata"].expired) == ({}, {100: 1})
    assert found.errors["TlsError"] == 1


def test_trace_events_are_counted(tmp_path: Path) -> None:
    where = {"v": 1, "attempt": 1, "host": "a", "port": 1, "address": "10.0.0.1:1"}
    dns = {**where, "address": None}
    failed = {"event": "failed", "error": {"name": "ConnectionLost"}}
    lines = [
        {"v": 1, "event": "trace", "at_ms": 0, "time_ms": START_MS},
        {**dns, "event": "started", "phase": "dns", "at_ms": 10},
        {**dns, "event": "phase_done", "phase": "dns", "elapsed_ms": 5, "at_ms": 15},
        {**where, "event": "started", "phase": "tcp", "at_ms": 15},
        {**where, "event": "connected", "elapsed_ms": 20, "at_ms": 35},
        {**where, "event": "response_received", "api": "Fetch", "elapsed_ms": 7, "at_ms": 42},
        {**where, "event": "request_expired", "api": "Fetch", "limit_ms": 300, "at_ms": 400},
        {**where, **failed, "at_ms": 400},  # after it was ready: no failed attempt
        {**where, "attempt": 2, "event": "started", "phase": "tcp", "at_ms": 500},
        {**where, "attempt": 2, **failed, "at_ms": 501},
        {**where, "attempt": 3, "event": "started", "phase": "tcp", "at_ms": 600},
        {**where, "attempt": 3, "event": "expired", "phase": "tls", "elapsed_ms": 400, "at_ms": 1000},
        {**dns, "attempt": 4, "event": "started", "phase": "dns", "at_ms": 1000},
        {**dns, "attempt": 4, **failed, "at_ms": 1001},
    ]
    (tmp_path / "file").write_text("\n".join(map(json.dumps, lines)))
    found = read(tmp_path / "file")
    assert found.bad_samples == []
    a = node(found, "a:1")
    assert (a.ready, a.failed, a.expired, dict(a.errors)) == (1, 2, 1, {"ConnectionLost": 3})
    assert (a.setup.completed, a.setup.expired) == ({25: 1}, {400: 1})
    assert (a.phases["dns"].completed, a.phases["tls"].expired) == ({5: 1}, {400: 1})
    assert (a.requests["Fetch"].completed, a.requests["Fetch"].expired) == ({7: 1}, {300: 1})


def test_certificate_seen_last_is_kept_and_of_its_chain_the_first_to_expire(tmp_path: Path) -> None:
    for name, first_round, days in (("new", 10, 50), ("old", 0, 7)):
        renewed = NodeTruth("a:9092", ends_at_ms=START_MS + days)
        write(tmp_path / name, probe_lines([renewed], Random(1), 2, first_round=first_round))
    found = node(read(tmp_path / "new", tmp_path / "old"), "a:9092")
    assert found.certificate is not None
    assert found.certificate[1:] == (-(START_MS + 50), "CN=leaf")


def test_times_of_the_generator_have_the_stated_quantile() -> None:
    times, random = Times(100, 0.4), Random(1)
    drawn = sorted(times.draw(random) for _ in range(20_000))
    assert drawn[18_000] == pytest.approx(times.quantile_ms(0.9), rel=0.03)
