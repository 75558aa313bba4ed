"""A Session whose tasks run one after the other in the test's process, for jobs without Java and Spark."""

import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pyspark

from kctl.pipeline.client_pool import TASK_CONSUMERS, TASK_PRODUCERS
from kctl.pipeline.session import ClassicSession, Session


class _Task:
    """The attempt that runs, as `pyspark.TaskContext` has it."""

    _numbers = itertools.count(1)

    def __init__(self) -> None:
        self._number = next(self._numbers)

    def attemptNumber(self) -> int:
        return 0

    def taskAttemptId(self) -> int:
        return self._number


class _Reports:
    """An accumulator of lists."""

    def __init__(self) -> None:
        self.value: list[Any] = []

    def add(self, more: list[Any]) -> None:
        self.value += pickle.loads(pickle.dumps(more))


class _Items:
    """What tasks are made of."""

    def __init__(self, items: Iterable[Any], work: Callable[[Iterator[Any]], Iterable[Any]] | None = None) -> None:
        self._items = list(items)
        self._work = work

    def mapPartitions(self, work: Callable[[Iterator[Any]], Iterable[Any]]) -> "_Items":
        return _Items(self._items, work)

    def collect(self) -> list[Any]:
        assert self._work is not None
        found: list[Any] = []
        before = pyspark.TaskContext._taskContext
        for item in self._items:
            task: Any = _Task()
            pyspark.TaskContext._taskContext = task
            try:
                found += self._work(iter([pickle.loads(pickle.dumps(item))]))
            finally:
                pyspark.TaskContext._taskContext = before
        return found


class _Tracker:
    def getJobIdsForGroup(self, _group: str) -> list[int]:
        return []


class _Context:
    """What `kctl.pipeline.task_rounds` uses of a SparkContext."""

    def __init__(self, parallelism: int) -> None:
        self.defaultParallelism = parallelism

    def setJobGroup(self, *_: object, **__: object) -> None:
        """Nothing can be cancelled."""

    def cancelJobGroup(self, _group: str) -> None:
        """Nothing can be cancelled."""

    def accumulator(self, _zero: object, _param: object) -> _Reports:
        return _Reports()

    def parallelize(self, items: Iterable[Any], _count: int) -> _Items:
        return _Items(items)

    def statusTracker(self) -> _Tracker:
        return _Tracker()


@contextmanager
def session_in_process(parallelism: int = 2) -> Iterator[Session]:
    """Yield a session for jobs whose tasks run in this process."""
    context: Any = _Context(parallelism)
    try:
        yield ClassicSession(context, None, is_local=True)
    finally:
        TASK_CONSUMERS.close()
        TASK_PRODUCERS.close()
