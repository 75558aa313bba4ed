"""Latency statistics: the numbers, and tables that fit."""

import pytest

from kctl.cli.formats.rows import table_lines
from kctl.cli.probe.view.statistics import (
    COLUMNS,
    AddressKey,
    AddressLatencies,
    Statistics,
    add_round,
    badness,
    statistics_rows,
)
from kctl.cli.view.tables import fitting, fitting_table
from tests.unit.cli.probe.view.scenario import reports


def taken(*numbers: int | None) -> AddressLatencies:
    latencies = AddressLatencies()
    for number in numbers:
        latencies.add(number, "" if number is not None else "refused")
    return latencies


def test_nothing_yet() -> None:
    latencies = AddressLatencies()
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
    good = statistics[AddressKey("kafka-a.example", 9092, "10.0.0.1:9092")]
    assert (good.sent, good.ok, good.last_ms) == (2, 2, 740)
    silent = statistics[AddressKey("kafka-c.example", 9092, "10.0.0.3:9092")]
    assert (silent.ok, silent.last_reason) == (0, "unfinished in apiversions")


def test_row_of_an_address() -> None:
    statistics = {
        AddressKey("a.example", 9092, "10.0.0.1:9092"): taken(4, 2, 9),
        AddressKey("10.0.0.2", 9092, "10.0.0.2:9092"): taken(None, 120),
    }
    assert list(table_lines(COLUMNS, statistics_rows(statistics.items()), 80)) == [
        "ADDRESS                    SENT  OK  LOSS  LAST    AVG  BEST  WORST  P99",
        "a.example:9092 [10.0.0.1]     3   3  0%       9    5.0     2      9    9",
        "10.0.0.2:9092                 2   1  50%    120  120.0   120    120  120",
    ]


@pytest.mark.parametrize("columns", [30, 40, 60])
def test_narrow_table_keeps_the_losses(columns: int) -> None:
    statistics = {AddressKey("a-long-name.example", 9092, "10.0.0.1:9092"): taken(4, None, 9)}
    rows = statistics_rows(statistics.items())
    lines = [line.plain for line in fitting_table(COLUMNS, rows, columns, kept=COLUMNS[:5], shortened=COLUMNS[:1])]
    assert max(map(len, lines)) <= columns
    assert lines[0].split()[:5] == ["ADDRESS", "SENT", "OK", "LOSS", "LAST"]
    assert lines[1].split()[-(len(lines[0].split()) - 1) :][:4] == ["3", "2", "33%", "9"]


def test_of_many_the_worst_are_shown() -> None:
    statistics = {AddressKey(f"a{number}", 1, ""): taken(number) for number in range(100)}
    statistics[AddressKey("dead", 1, "")] = taken(None)
    shown, hidden = fitting(list(statistics.items()), 4, badness)  # a line counts those that are not shown
    assert ([row["address"] for row in statistics_rows(shown)], len(hidden)) == (["dead:1", "a99:1", "a98:1"], 98)
