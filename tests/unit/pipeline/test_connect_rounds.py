"""Queries of a round: one for each task, several at a time, and none after a cancellation."""

import threading
from collections.abc import Iterable
from typing import Any

import pytest

from kctl.client.errors import ApiTimeout
from kctl.pipeline import connect_rounds
from kctl.pipeline.connect_rounds import MOST_QUERIES, ConnectRound
from kctl.pipeline.task_rounds import Attempt, Split
from tests.support.bounds import bound
from tests.support.kafka.waiting import wait_until

WAIT_MS = bound(30_000)


class _Query:
    def __init__(self, spark: "_Spark", count: int) -> None:
        self._spark = spark
        self._count = count
        self._task: Any = None

    def mapInArrow(self, task: Any, schema: Any) -> "_Query":
        assert schema.simpleString() == "struct<done:binary>"
        query = _Query(self._spark, self._count)
        query._task = task
        return query

    def collect(self) -> list[tuple[bytes]]:
        import pyarrow as pa

        self._spark.enter(self._count)
        batch = pa.RecordBatch.from_arrays([pa.array(range(self._count))], ["id"])
        return [(row,) for found in self._task([batch]) for row in found.column(0).to_pylist()]


class _Spark:
    """What a round uses of a session, whose queries wait for `go`."""

    def __init__(self, *, is_held: bool = False) -> None:
        self.ranges: list[int] = []
        self.sizes: list[int] = []
        self.tags: set[str] = set()
        self.interrupted: list[str] = []
        self.go = threading.Event()
        if not is_held:
            self.go.set()

    def range(self, start: int, end: int, step: int, partitions: int) -> _Query:
        assert (start, step, partitions) == (0, 1, end)
        self.ranges.append(end)
        return _Query(self, end)

    def addTag(self, tag: str) -> None:
        assert "," not in tag
        self.tags.add(tag)

    def interruptTag(self, tag: str) -> None:
        self.interrupted.append(tag)
        self.go.set()

    def enter(self, size: int) -> None:
        self.sizes.append(size)
        assert self.go.wait(WAIT_MS / 1000)
        if self.interrupted:
            raise RuntimeError("OPERATION_CANCELED")


@pytest.fixture(autouse=True)
def _attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Attempt, "current", classmethod(lambda cls: cls(1, 5)))


def listed(item: int, attempt: Attempt) -> Iterable[tuple[int, int]]:
    if item == 9:
        raise ApiTimeout("for the test", timeout_ms=5, elapsed_ms=6)
    return [(item, attempt.task_id)] * item


def round_of(spark: Any, items: list[int], parallelism: int = 2, work: Any = listed) -> ConnectRound[tuple[int, int]]:
    return ConnectRound(spark, parallelism, "kctl test, all", Split(items, items, work))


def test_each_task_is_a_query_and_its_results_have_their_positions() -> None:
    spark = _Spark()
    found = round_of(spark, [1, 2, 1])
    done = sorted((each.position, each.result) for each in found.act())
    assert done == [(0, (1, 5)), (1, (2, 5)), (2, (2, 5)), (3, (1, 5))]
    assert spark.sizes == [1, 1, 1]
    assert spark.ranges == [1], "a new range would request its schema"
    assert sorted(each.position for each in found.reports()) == [0, 1, 2, 3]
    assert found.reports() == []
    assert found.counts() == (0, 3), "each attempt is the second one"


def test_client_error_is_an_outcome() -> None:
    done = round_of(_Spark(), [9]).act()
    assert [(each.position, type(each.error)) for each in done] == [(0, ApiTimeout)]


def test_large_cluster_gets_several_tasks_in_a_query() -> None:
    spark = _Spark()
    assert len(round_of(spark, [1] * 1000, parallelism=3 * MOST_QUERIES).act()) == 1000
    assert max(spark.sizes) == 3
    assert sum(spark.sizes) == 1000


def test_cancel_ends_the_queries_and_starts_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect_rounds, "CANCEL_EVERY_S", 5)
    spark = _Spark(is_held=True)
    found = round_of(spark, [1] * 50)
    failed: list[BaseException] = []

    def act() -> None:
        try:
            found.act()
        except RuntimeError as e:
            failed.append(e)

    thread = threading.Thread(target=act)
    thread.start()
    wait_until(lambda: len(spark.sizes) == 3, WAIT_MS, "three queries")
    assert found.counts()[0] == 2
    found.cancel()
    thread.join(WAIT_MS / 1000)
    assert not thread.is_alive()
    assert len(failed) == 1
    assert len(spark.sizes) == 3, "two slots and a spare query"
    assert spark.interrupted[0] in spark.tags


def test_failure_of_spark_cancels_the_other_queries() -> None:
    def break_it(_item: int, _attempt: Attempt) -> Iterable[tuple[int, int]]:
        raise IndexError("a bug")

    spark = _Spark()
    with pytest.raises(IndexError, match="a bug"):
        round_of(spark, [1] * 20, work=break_it).act()
    assert len(spark.sizes) < 20
    wait_until(lambda: bool(spark.interrupted), WAIT_MS, "the cancellation")
