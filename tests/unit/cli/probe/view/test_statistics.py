"""Latency statistics: the numbers, and tables that fit."""

import pytest

from kctl.cli.probe.view.statistics import Latencies, Place, Statistics, add_round, table
from tests.unit.cli.probe.view.scenario import reports


def taken(*numbers: int | None) -> Latencies:
    latencies = Latencies()
    for number in numbers:
        latencies.add(number, "" if number is not None else "refused")
    return latencies


def test_nothing_yet() -> None:
    latencies = Latencies()
    assert (latencies.loss, latencies.average_ms, latencies.best_ms, latencies.worst_ms) == (0.0, None, None, None)
    assert latencies.percentile_ms(0.99) is None


def test_numbers() -> None:
    latencies = taken(4, None, 2, 9)
    assert (latencies.sent, latencies.ok, latencies.loss) == (4, 3, 0.25)
    assert (latencies.last_ms, latencies.average_ms, latencies.best_ms, latencies.worst_ms) == (9, 5.0, 2, 9)
    assert taken(1, None).last_ms is None
    assert taken(1, None).last_reason == "refused"


@pytest.mark.parametrize(
    ("part", "wanted"), [(0.0, 1), (0.01, 1), (0.5, 50), (0.51, 51), (0.99, 99), (0.991, 100), (1.0, 100)]
)
def test_percentiles_are_the_nearest_rank(part: float, wanted: int) -> None:
    assert taken(*range(100, 0, -1)).percentile_ms(part) == wanted


def test_memory_is_that_of_the_different_numbers() -> None:
    latencies = taken(*[7] * 10_000)
    assert latencies.percentile_ms(0.99) == 7
    assert len(latencies._counts) == 1


def test_rounds_are_added_address_by_address() -> None:
    statistics: Statistics = {}
    add_round(statistics, reports())
    add_round(statistics, reports())
    good = statistics[Place("kafka-a.example", 9092, "10.0.0.1:9092")]
    assert (good.sent, good.ok, good.last_ms) == (2, 2, 740)
    silent = statistics[Place("kafka-c.example", 9092, "10.0.0.3:9092")]
    assert (silent.ok, silent.last_reason) == (0, "unfinished in apiversions")


def test_a_table() -> None:
    statistics = {
        Place("a.example", 9092, "10.0.0.1:9092"): taken(4, 2, 9),
        Place("10.0.0.2", 9092, "10.0.0.2:9092"): taken(None, 120),
    }
    assert table(statistics, 80) == [
        "address                    sent  ok  loss  last    avg  best  worst  p99",
        "a.example:9092 [10.0.0.1]     3   3    0%     9    5.0     2      9    9",
        "10.0.0.2:9092                 2   1   50%   120  120.0   120    120  120",
    ]


@pytest.mark.parametrize("columns", [20, 40, 60])
def test_a_narrow_one(columns: int) -> None:
    statistics = {Place("a.example", 9092, "10.0.0.1:9092"): taken(4, 2, 9)}
    lines = table(statistics, columns)
    assert max(map(len, lines)) <= columns
    assert " ".join(" ".join(lines[1:]).split()) == "sent 3 ok 3 loss 0% last 9 avg 5.0 best 2 worst 9 p99 9"


def test_of_many_the_worst_are_shown() -> None:
    statistics = {Place(f"a{number}", 1, ""): taken(number) for number in range(100)}
    statistics[Place("dead", 1, "")] = taken(None)
    lines = table(statistics, 80, most=3)
    assert [line.split()[0] for line in lines] == ["address", "dead:1", "a99:1", "a98:1", "and"]
    assert lines[-1] == "and 98 more"
