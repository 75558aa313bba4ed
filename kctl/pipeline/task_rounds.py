"""Rounds of tasks: what a session executes, and the execution in a classic session by an RDD.

Tasks return client errors as data, because Spark would repeat a task that raises, with the full timeouts. Spark
therefore repeats a task only if its worker died. docs/decisions/0022-two-ways-to-run-tasks.md has the reasons for the
second implementation, `connect_rounds`.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from kctl.client.errors import KafkaError
from kctl.pipeline.spark_archive import keep_spark_archive

if TYPE_CHECKING:
    from pyspark import SparkContext

Item = TypeVar("Item")
Result = TypeVar("Result")

_round_numbers = itertools.count(1)


class Attempt(NamedTuple):
    """Attempt at an item.

    Attributes:
        number: 0 for the first attempt. Spark counts up after a worker died.
        task_id: unique within a session, for names of temporary files.
    """

    number: int
    task_id: int

    @classmethod
    def current(cls) -> "Attempt":
        """Return the attempt that executes in this process."""
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        return cls(context.attemptNumber(), context.taskAttemptId())


class Done(NamedTuple, Generic[Result]):
    """Result or error of an item.

    Attributes:
        position: index of the result in the round.
    """

    position: int
    result: Result | None
    error: KafkaError | None


class Split(NamedTuple, Generic[Item, Result]):
    """Tasks with several results each. Results are numbered across all tasks.

    Attributes:
        counts: number of results of each item.
        work: a function of a module that the workers can import, which yields the results. Results before an error
            count. Results of a worker that died do not count.
    """

    items: Sequence[Item]
    counts: Sequence[int]
    work: Callable[[Item, Attempt], Iterable[Result]]

    def numbered(self) -> list[tuple[int, Item]]:
        """Return the items, each with the position of its first result."""
        return list(zip(itertools.accumulate(self.counts, initial=0), self.items, strict=False))


class Round(ABC, Generic[Result]):
    """Execution of the tasks of a Split."""

    @abstractmethod
    def act(self) -> list[Done[Result]]:
        """Execute the tasks, and return all outcomes. Call it in a separate thread."""

    @abstractmethod
    def reports(self) -> list[Done[Result]]:
        """Return the outcomes that arrived since the last call. They may come again from `act`."""

    @abstractmethod
    def counts(self) -> tuple[int, int]:
        """Return the numbers of active tasks and of attempts that failed with their worker."""

    @abstractmethod
    def cancel(self) -> None:
        """Cancel the tasks. Blocks, and raises the errors of Spark."""


def round_tag() -> str:
    """Return a name for a new round, by which its tasks can be cancelled."""
    return f"kctl-round-{next(_round_numbers)}"


def outcomes(
    first: int, item: Item, attempt: Attempt, work: Callable[[Item, Attempt], Iterable[Result]]
) -> Iterator[Done[Result]]:
    """Yield the results of an item up to the first client error. Executes on a worker."""
    position = first
    try:
        for result in work(item, attempt):
            yield Done(position, result, None)
            position += 1
    except KafkaError as e:
        yield Done(position, None, e)


class RddRound(Round[Result]):
    """One Spark job with a task for each item. An accumulator brings the outcome of each task when it ends."""

    def __init__(self, context: "SparkContext", name: str, split: Split[Any, Result]) -> None:
        self._context = context
        self._name = name
        self._split = split
        self._group = round_tag()
        self._reports = context.accumulator([], _reports_param())
        self._taken = 0

    def act(self) -> list[Done[Result]]:
        context = self._context
        context.setJobGroup(self._group, self._name, interruptOnCancel=True)  # belongs to the thread
        numbered = self._split.numbered()
        task = _Task(self._split.work, self._reports)
        return context.parallelize(numbered, len(numbered)).mapPartitions(task).collect()

    def reports(self) -> list[Done[Result]]:
        arrived: list[Done[Result]] = self._reports.value
        new = arrived[self._taken :]
        self._taken += len(new)
        return new

    def counts(self) -> tuple[int, int]:
        tracker = self._context.statusTracker()
        stages = [
            tracker.getStageInfo(stage)
            for job in tracker.getJobIdsForGroup(self._group)
            for stage in getattr(tracker.getJobInfo(job), "stageIds", ())
        ]
        active = sum(stage.numActiveTasks for stage in stages if stage is not None)
        return active, sum(stage.numFailedTasks for stage in stages if stage is not None)

    def cancel(self) -> None:
        self._context.cancelJobGroup(self._group)


class _Task(Generic[Item, Result]):
    def __init__(self, work: Callable[[Item, Attempt], Iterable[Result]], reports: Any) -> None:
        self._work = work
        self._reports = reports

    def __call__(self, items: Iterable[tuple[int, Item]]) -> Iterator[Done[Result]]:
        keep_spark_archive()
        attempt = Attempt.current()
        for first, item in items:
            for done in outcomes(first, item, attempt, self._work):
                self._reports.add([done])
                yield done


def _reports_param() -> Any:
    from pyspark.accumulators import AccumulatorParam

    class Reports(AccumulatorParam[list[Any]]):
        """Accumulator that merges the lists of the workers into one list in the driver."""

        def zero(self, value: list[Any]) -> list[Any]:  # noqa: ARG002 - Spark's signature
            return []

        def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:
            value1.extend(value2)
            return value1

    return Reports()
