"""Execution of tasks through Spark Connect: a query with `mapInArrow` for each task.

A server returns the results of a query in the order of its tasks, so that a slow task would delay the outcomes of all
later tasks. A query with one task returns its outcome when the task ends.
"""

import pickle
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kctl.pipeline.spark_archive import keep_spark_archive
from kctl.pipeline.task_rounds import Attempt, Done, Round, Split, outcomes, round_tag

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_QUERIES = 128
"""Maximum number of parallel queries, each of which needs a thread here and on the server. On clusters with more slots,
queries have several tasks."""
SPARE = 4
"""Queries for each slot beyond the slots, as a divisor: waiting queries keep the slots busy between two queries."""
CANCELS = 20
CANCEL_EVERY_S = 0.25
COLUMN = "done"


class ConnectRound(Round[Result]):
    """Queries in separate threads. Spark's scheduler lets more queries wait than there are slots."""

    def __init__(self, spark: "SparkSession", parallelism: int, name: str, split: Split[Any, Result]) -> None:
        self._spark = spark
        self._slots = parallelism
        self._tags = (round_tag(), name.replace(",", ""))  # Spark rejects commas in tags
        numbered = split.numbered()
        size = -(-parallelism // MOST_QUERIES)
        self._work = split.work
        self._waiting = deque(numbered[at : at + size] for at in range(0, len(numbered), size))
        slots = -(-parallelism // size)
        self._count = min(len(self._waiting), slots + -(-slots // SPARE))
        self._lock = threading.Lock()
        self._active = self._failed = 0
        self._ranges: dict[int, DataFrame] = {}
        self._all: list[Done[Result]] = []
        self._taken = 0
        self._error: Exception | None = None
        self._threads = self._count
        self._ended = threading.Event()
        self._is_over = False
        self._idle = threading.Event()
        self._idle.set()

    def act(self) -> list[Done[Result]]:
        for _ in range(self._count):
            threading.Thread(target=self._query_all, name="kctl-query", daemon=True).start()
        self._ended.wait()
        if self._error is not None:
            self._idle.wait(CANCELS * CANCEL_EVERY_S)  # the other queries are being cancelled
            raise self._error
        return self._all

    def reports(self) -> list[Done[Result]]:
        with self._lock:
            new = self._all[self._taken :]
            self._taken += len(new)
        return new

    def counts(self) -> tuple[int, int]:
        return min(self._active, self._slots), self._failed

    def cancel(self) -> None:
        with self._lock:
            self._is_over = True
        for _ in range(CANCELS):  # a query that is being sent is not there yet
            self._spark.interruptTag(self._tags[0])
            if self._idle.wait(CANCEL_EVERY_S):
                return

    def _query_all(self) -> None:
        while True:
            with self._lock:
                if self._is_over or not self._waiting:
                    self._threads -= 1
                    if not self._threads:
                        self._ended.set()
                    return
                items = self._waiting.popleft()
                self._active += len(items)
                self._idle.clear()
            error, found = None, []
            try:
                found = self._query(items)
            except Exception as e:  # noqa: BLE001 - raised again in `act`
                error = e
            with self._lock:
                self._active -= len(items)
                if not self._active:
                    self._idle.set()
                for attempt, done in found:
                    self._failed += attempt
                    self._all += done
            if error is not None:
                self._stop(error)

    def _query(self, items: Sequence[tuple[int, Any]]) -> list[tuple[int, list[Done[Result]]]]:
        from pyspark.sql.types import BinaryType, StructType

        for tag in self._tags:
            self._spark.addTag(tag)  # belongs to the thread
        count = len(items)
        task = _Task(items, self._work)
        schema = StructType().add(COLUMN, BinaryType())  # the server parses text, in a separate request
        rows = self._range(count).mapInArrow(task, schema).collect()
        return [pickle.loads(row[0]) for row in rows]

    def _range(self, count: int) -> "DataFrame":
        """Return a DataFrame of the numbers of items. It is kept, because a new one requests its schema."""
        with self._lock:
            if count not in self._ranges:
                self._ranges[count] = self._spark.range(0, count, 1, count)
            return self._ranges[count]

    def _stop(self, error: Exception) -> None:
        with self._lock:
            is_first, self._error = self._error is None, self._error or error
            is_cancelled, self._is_over = self._is_over, True
        if is_first and not is_cancelled:
            threading.Thread(target=self._try_cancel, name="kctl-cancel", daemon=True).start()
        self._ended.set()

    def _try_cancel(self) -> None:
        with suppress(Exception):  # the server may be the reason
            self.cancel()


class _Task(Generic[Item, Result]):
    """Function of a query, which gets the numbers of items."""

    def __init__(self, items: Sequence[tuple[int, Item]], work: Callable[[Item, Attempt], Iterable[Result]]) -> None:
        self._items = items
        self._work = work

    def __call__(self, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        keep_spark_archive()
        attempt = Attempt.current()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                first, item = self._items[number]
                done = list(outcomes(first, item, attempt, self._work))
                column = pa.array([pickle.dumps((attempt.number, done))], pa.binary())
                yield pa.RecordBatch.from_arrays([column], [COLUMN])
