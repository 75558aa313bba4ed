"""`kctl bench`: percentiles against the sorted list, the figures, and mistakes on its command lines."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.bench.latencies import LatencyHistogram
from kctl.cli.bench.run import Figures, Kind, as_lines, as_row
from kctl.cli.exit_codes import ExitCode
from tests.support.in_process import run_in_process


@given(
    st.lists(st.integers(0, 5_000) | st.integers(0, 2**43), min_size=1, max_size=50),
    st.sampled_from([0.1, 50, 95, 99, 99.9, 100]),
)
def test_percentiles_are_those_of_the_sorted_list_to_a_thousandth(durations: list[int], percent: float) -> None:
    latencies = LatencyHistogram()
    for duration_us in durations:
        latencies.add(duration_us)
    exact = sorted(durations)[max(1, math.ceil(len(durations) * percent / 100)) - 1]
    found = latencies.percentile_us(percent)
    assert found is not None
    assert exact <= found <= exact * 1.001
    assert (latencies.count, latencies.longest_us) == (len(durations), max(durations))


def test_nothing_and_too_much() -> None:
    latencies = LatencyHistogram()
    assert latencies.percentile_us(50) is None
    latencies.add(-5)
    assert latencies.percentile_us(50) == 0
    latencies.add(2**60)
    assert latencies.percentile_us(100) == 2**44 - 1


def _figures(*durations_us: int, failed: int = 0, elapsed_us: int = 2_000_000) -> Figures:
    latencies = LatencyHistogram()
    for duration_us in durations_us:
        latencies.add(duration_us)
    return Figures(Kind.PRODUCE, "t", len(durations_us), 1_000_000, elapsed_us, failed, latencies)


def test_lines() -> None:
    lines = list(as_lines(_figures(1000, 2000, 2500, failed=1)))
    assert lines == [
        "records     3",
        "failed      1",
        "bytes       1000000",
        "time        2.000 s",
        "records/s   1.5",
        "MB/s        0.500",
        "latency",
        "  time from send() to the acknowledgment",
        "  p50       2.000 ms",
        "  p95       2.500 ms",
        "  p99       2.500 ms",
        "  p99.9     2.500 ms",
        "  max       2.500 ms",
    ]
    assert max(map(len, lines)) <= 40


def test_figures_as_a_row() -> None:
    assert as_row(_figures(1000)) == {
        "test": "produce", "topic": "t", "records": 1, "failed": 0, "bytes": 1_000_000, "elapsed_ms": 2000.0,
        "records_per_s": 0.5, "mb_per_s": 0.5,
        "p50_ms": 1.0, "p95_ms": 1.0, "p99_ms": 1.0, "p999_ms": 1.0, "max_ms": 1.0,
    }  # fmt: skip
    nothing = as_row(_figures(elapsed_us=0))
    assert (nothing["records_per_s"], nothing["max_ms"]) == (0.0, None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("produce", "--records", "0"), "--max-records"),
        (("produce", "--record-size", "100"), "or 100MiB for mebibytes"),
        (("produce", "--rate", "5"), "5/s for records per second"),
        (("produce", "--output", "raw", "-b", "a:1"), "this command offers table, json"),
        (("produce", "--acks", "3", "-b", "a:1"), "--acks: invalid acks '3': use one of"),
        (("end-to-end", "--record-size", "8B"), "use a size of 24 B"),
        (("consume", "--rate", "5/s"), "No such option"),
        (("prodce",), "No such command 'prodce'"),
    ],
)
def test_mistakes(options: tuple[str, ...], words: str) -> None:
    ended = run_in_process("bench", *options)
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert words in ended.stderr
