"""A job's tasks on Spark: run, watched from the caller's thread, and ended at once by Ctrl-C or by the first error.

`run_tasks` gives one Spark task to each item; with `run_split` the work on an item has several results. What a task
returns comes back as soon as it is done, and so does an error of the client: as data, because an error that is raised
is tried again by Spark, and every attempt would spend the limits again. Spark tries again only what its user cannot
mean: a worker that died. Whatever waits here is a plain wait of the main thread, so that a signal gets through; the
calls into the JVM are made in daemon threads. Knows nothing of what tasks do.
"""

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, Generic, NamedTuple, TypeVar

from kctl.client.clock import Clock, SystemClock
from kctl.client.errors import KafkaError
from kctl.pipeline.job_errors import SparkFailedError, SparkSetUpError, worker_start_error
from kctl.pipeline.masters import check_master
from kctl.pipeline.session import Gateway, Session, SessionOptions, check_installed, last_log_line
from kctl.pipeline.session_folders import log_beside, session_folder
from kctl.pipeline.shipping import PythonDescription, check_alike, describe_python
from kctl.pipeline.spark_archive import keep_spark_archive
from kctl.pipeline.spark_noise import noise_to

Item = TypeVar("Item")
Result = TypeVar("Result")
T = TypeVar("T")

TICK_S = 0.1
TRACK_EVERY_MS = 1000
"""A look at Spark's own counts costs 10 ms."""
CANCEL_S = 5.0
"""Spark ends cancelled tasks in 0.1 to 0.3 s; what takes longer ends with the JVM."""

_round_numbers = itertools.count(1)


class Attempt(NamedTuple):
    """Which attempt at an item runs.

    Attributes:
        number: 0 for the first; more after a worker died.
        task_id: never the same twice within a session, for names of temporary files.
    """

    number: int
    task_id: int


class JobProgress(NamedTuple):
    """How far a job is; reported in the caller's thread.

    Attributes:
        phase: what is being done: `starting Spark`, `planning`, or the job's own word.
        tasks_done, tasks_active, tasks: of this round; `tasks` is 0 while it is unknown.
        lost_tasks: attempts that ended with their worker and were begun again.
        records: done so far, over all rounds.
        lag: records between what is done and the end that was seen last; None where it is unknown.
    """

    phase: str
    tasks_done: int = 0
    tasks_active: int = 0
    tasks: int = 0
    lost_tasks: int = 0
    records: int = 0
    lag: int | None = None


OnProgress = Callable[[JobProgress], None]


def ignore_progress(_progress: JobProgress) -> None:
    """Take no notice."""


class Done(NamedTuple, Generic[Result]):
    """What became of an item: a result, or the error that its task ended with."""

    position: int
    result: Result | None
    error: KafkaError | None


class TaskFailure(NamedTuple):
    """An item whose task ended with an error; `position` in the sequence that was given."""

    position: int
    error: KafkaError


class RoundResult(NamedTuple, Generic[Result]):
    """What a round came to.

    Attributes:
        results: by position of the item; those that were done are there though others failed.
        failures: what stopped the round, the first to happen first; empty when every item has its result.
    """

    results: dict[int, Result]
    failures: list[TaskFailure]

    def raise_first(self) -> None:
        """Raise the first error, if there was any."""
        if self.failures:
            raise self.failures[0].error


# --- a session ------------------------------------------------------------------------------------------------------


@contextmanager
def open_session(options: SessionOptions, name: str, on_progress: OnProgress = ignore_progress) -> Iterator[Session]:
    """A Spark of our own while the context lasts; on a cluster, its workers have been looked at.

    Its log is kept, and named in the error, only where something went wrong or a path was given.
    Raises: SparkMissingError, SparkSetUpError, ConfigError; what the body raises.
    """
    check_installed()
    check_master(options)
    gateway = Gateway()
    with ExitStack() as stack:
        folder = stack.enter_context(session_folder())
        log_path = options.log_path or log_beside(folder)
        log = stack.enter_context(_opened(log_path))
        stack.enter_context(noise_to(log))
        try:
            starting = JobProgress("starting Spark")
            on_progress(starting)
            launch = partial(gateway.launch, options, name, folder, log, log_path)
            session = watch(launch, tick=lambda: on_progress(starting))
            if not session.is_local:
                on_progress(JobProgress("checking the workers"))
                _check_workers(session)
            yield session
            is_well = True
        except BaseException as e:
            is_spark = isinstance(e, SparkSetUpError | SparkFailedError) or not isinstance(e, KafkaError)
            is_well = not (is_spark and isinstance(e, Exception))
            if isinstance(e, Exception) and _is_of_gateway(e):  # of a call between the rounds
                raise explained(e, log_path) from e
            raise
        finally:
            gateway.close()
            if is_well and options.log_path is None:
                with suppress(OSError):
                    log_path.unlink()


def _opened(log_path: Path) -> IO[bytes]:
    try:
        return log_path.open("ab")
    except OSError as e:
        raise SparkSetUpError(f"Spark's log {log_path}: {e.strerror}", "--spark-log FILE") from None


def _check_workers(session: Session) -> None:
    ours = describe_python()
    found = run_tasks(session, "kctl: look at the workers", [0], _describe)
    found.raise_first()
    check_alike(ours, found.results[0])


def _describe(_item: int, _attempt: Attempt) -> PythonDescription:
    return describe_python()


# --- waiting in a way that signals get through ----------------------------------------------------------------------


def watch(
    action: Callable[[], T], *, tick: Callable[[], None] | None = None, cancel: Callable[[], None] | None = None
) -> T:
    """Return what an action in a daemon thread returns, or raise what it raises.

    Args:
        tick: called in this thread every `TICK_S`; what it raises ends the action as a signal does.
        cancel: called when this thread is interrupted; the action then has `CANCEL_S` to end, and is left behind after.
    """
    done = threading.Event()
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(action())
        except BaseException as e:  # noqa: BLE001 - raised again in the thread that waits
            failure.append(e)
        finally:
            done.set()

    threading.Thread(target=run, name="kctl-job", daemon=True).start()
    try:
        while not done.wait(TICK_S):
            if tick is not None:
                tick()
    except BaseException:
        if cancel is not None:
            cancel()
            done.wait(CANCEL_S)
        raise
    if failure:
        raise failure[0]
    return outcome[0]


# --- tasks ----------------------------------------------------------------------------------------------------------


class _Stopped(Exception):
    """A task ended with an error, so the others are cancelled."""


def run_tasks(
    session: Session,
    name: str,
    items: Sequence[Item],
    work: Callable[[Item, Attempt], Result],
    *,
    on_done: Callable[[int, Result], None] | None = None,
    on_tick: Callable[["TaskCounts"], None] | None = None,
    clock: Clock | None = None,
) -> RoundResult[Result]:
    """Run `work(item, attempt)` for each item, a Spark task each, and return what came of it.

    The first error of the client cancels the tasks that still run and those that wait.

    Args:
        name: of the Spark job, for its log.
        items: what is pickled to the tasks: no secrets, only references to them.
        work: a function of a module that the workers can import.
        on_done, on_tick: called in this thread: with each result as it comes, and ten times a second.
    Raises:
        SparkFailedError: Spark failed the job: a worker died again and again, or the work raised what is a bug.
    """
    return run_split(session, name, _unsplit(items, work), on_done=on_done, on_tick=on_tick, clock=clock)


class Split(NamedTuple, Generic[Item, Result]):
    """Tasks with several results each, which are numbered through all of them.

    Attributes:
        items: what is pickled to the tasks, as of `run_tasks`.
        counts: how many results the work on each item has.
        work: a function of a module that the workers can import, which returns them one by one. The results before an
            error count; those of a worker that died do not.
    """

    items: Sequence[Item]
    counts: Sequence[int]
    work: Callable[[Item, Attempt], Iterable[Result]]


def run_split(
    session: Session,
    name: str,
    split: Split[Item, Result],
    *,
    on_done: Callable[[int, Result], None] | None = None,
    on_tick: Callable[["TaskCounts"], None] | None = None,
    clock: Clock | None = None,
) -> RoundResult[Result]:
    """Run tasks as `run_tasks` does; positions are those of results."""
    if not split.items:
        return RoundResult({}, [])
    watcher = _Watcher(session, name, split, on_done, on_tick, clock or SystemClock())
    try:
        collected: list[Done[Result]] = watch(watcher.act, tick=watcher.tick, cancel=watcher.cancel)
    except _Stopped:
        collected = []
    except KafkaError:
        raise
    except Exception as e:
        raise explained(e, session.log_path) from e
    watcher.on_reports(collected)
    return RoundResult(watcher.results, watcher.failures)


class TaskCounts(NamedTuple):
    """Counts of a round's tasks; those that are active and have failed as Spark counts."""

    done: int
    active: int
    failed: int
    total: int


def run_counted(
    session: Session,
    name: str,
    phase: str,
    items: Sequence[Item],
    work: Callable[[Item, Attempt], Result],
    size_of: Callable[[Item], int],
    on_progress: OnProgress,
) -> list[Result]:
    """Run the work as `run_tasks` does, report how much of the items is done, and return the results in their order.

    Args: phase: what is being done. size_of: what an item counts: its offsets, or 1.
    Raises: SparkFailedError: as `run_tasks`. KafkaError: the first error of a task.
    """
    sizes = [size_of(item) for item in items]
    return run_split_counted(session, name, phase, _unsplit(items, work), sizes, on_progress)


def run_split_counted(
    session: Session,
    name: str,
    phase: str,
    split: Split[Item, Result],
    sizes: Sequence[int],
    on_progress: OnProgress,
) -> list[Result]:
    """Run tasks as `run_counted` does. Args: sizes: what the part of each result counts."""
    total, done = sum(sizes), 0

    def count(position: int, _result: Result) -> None:
        nonlocal done
        done += sizes[position]

    def report(counts: TaskCounts) -> None:
        on_progress(JobProgress(phase, counts.done, counts.active, counts.total, counts.failed, done, total - done))

    found = run_split(session, name, split, on_done=count, on_tick=report)
    found.raise_first()
    return [found.results[position] for position in range(len(sizes))]


class _Watcher(Generic[Item, Result]):
    """One round of tasks."""

    def __init__(
        self,
        session: Session,
        name: str,
        split: Split[Item, Result],
        on_done: Callable[[int, Result], None] | None,
        on_tick: Callable[[TaskCounts], None] | None,
        clock: Clock,
    ) -> None:
        self._context = session.context
        self._group = f"kctl-round-{next(_round_numbers)}"
        self._name = name
        self._split = split
        self._last_of_task = {end - 1 for end in itertools.accumulate(split.counts)}
        self._tasks_done = 0
        self._on_done = on_done
        self._on_tick = on_tick
        self._clock = clock
        self._reports = self._context.accumulator([], _reports_param())
        self._taken = 0
        self._track_at_ms = 0
        self._active = self._failed = 0
        self.results: dict[int, Result] = {}
        self.failures: list[TaskFailure] = []

    def act(self) -> list[Done[Result]]:
        """Run the round; in a thread of its own, because the job group belongs to the thread."""
        context = self._context
        context.setJobGroup(self._group, self._name, interruptOnCancel=True)
        split = self._split
        numbered = list(zip(itertools.accumulate(split.counts, initial=0), split.items, strict=False))
        return context.parallelize(numbered, len(numbered)).mapPartitions(_Task(split.work, self._reports)).collect()

    def tick(self) -> None:
        """Take what has come, and stop at the first error."""
        reports: list[Done[Result]] = self._reports.value
        new = reports[self._taken :]
        self._taken += len(new)
        self.on_reports(new)
        if self.failures:
            raise _Stopped
        if self._on_tick is not None:
            self._look()
            self._on_tick(TaskCounts(self._tasks_done, self._active, self._failed, len(self._split.items)))

    def on_reports(self, reports: Sequence[Done[Result]]) -> None:
        """Take results and errors; what was taken before is left out."""
        for done in reports:
            if done.error is not None:
                if all(done.position != failure.position for failure in self.failures):
                    self.failures.append(TaskFailure(done.position, done.error))
            elif done.position not in self.results:
                result: Any = done.result
                self.results[done.position] = result
                self._tasks_done += done.position in self._last_of_task
                if self._on_done is not None:
                    self._on_done(done.position, result)

    def cancel(self) -> None:
        """End the tasks; the JVM is asked in a further thread, for it may not answer."""
        threading.Thread(target=self._cancel, name="kctl-cancel", daemon=True).start()

    def _cancel(self) -> None:
        with suppress(Exception):  # the JVM may be on its way out; the session's end kills what is left
            self._context.cancelJobGroup(self._group)

    def _look(self) -> None:
        now_ms = self._clock.now_ms()
        if now_ms < self._track_at_ms:
            return
        self._track_at_ms = now_ms + TRACK_EVERY_MS
        tracker = self._context.statusTracker()
        stages = [
            tracker.getStageInfo(stage)
            for job in tracker.getJobIdsForGroup(self._group)
            for stage in getattr(tracker.getJobInfo(job), "stageIds", ())
        ]
        self._active = sum(stage.numActiveTasks for stage in stages if stage is not None)
        self._failed = sum(stage.numFailedTasks for stage in stages if stage is not None)


def _unsplit(items: Sequence[Item], work: Callable[[Item, Attempt], Result]) -> Split[Item, Result]:
    """Return tasks with one result each."""
    return Split(items, [1] * len(items), _One(work))


class _One(Generic[Item, Result]):
    """Work with one result."""

    def __init__(self, work: Callable[[Item, Attempt], Result]) -> None:
        self._work = work

    def __call__(self, item: Item, attempt: Attempt) -> Iterator[Result]:
        yield self._work(item, attempt)


class _Task(Generic[Item, Result]):
    """What runs on a worker: one item, and the reports about it."""

    def __init__(self, work: Callable[[Item, Attempt], Iterable[Result]], reports: Any) -> None:
        self._work = work
        self._reports = reports

    def __call__(self, items: Iterable[tuple[int, Item]]) -> Iterator[Done[Result]]:
        from pyspark import TaskContext

        keep_spark_archive()
        context = TaskContext.get()
        assert context is not None
        attempt = Attempt(context.attemptNumber(), context.taskAttemptId())
        for first, item in items:
            for done in _outcomes(first, item, attempt, self._work):
                self._reports.add([done])
                yield done


def _outcomes(
    position: int, item: Item, attempt: Attempt, work: Callable[[Item, Attempt], Iterable[Result]]
) -> Iterator[Done[Result]]:
    """Yield what becomes of each part of an item, up to the first error."""
    try:
        for result in work(item, attempt):
            yield Done(position, result, None)
            position += 1
    except KafkaError as e:
        yield Done(position, None, e)


def _reports_param() -> Any:
    from pyspark.accumulators import AccumulatorParam

    class Reports(AccumulatorParam[list[Any]]):
        """Lists that grow: of a worker into the driver's."""

        def zero(self, value: list[Any]) -> list[Any]:  # noqa: ARG002 - Spark's signature
            return []

        def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:
            value1.extend(value2)
            return value1

    return Reports()


_NO_JVM = (
    "An error occurred while calling None.None",
    "Answer from Java side is empty",
    "Error while sending or receiving",
)
"""Words of py4j if it has no connection to Java."""


def _is_of_gateway(error: Exception) -> bool:
    """Return whether a call into Java failed."""
    return isinstance(error, ConnectionError) or type(error).__module__.startswith("py4j.")


def explained(error: Exception, log_path: Path | None) -> SparkFailedError:
    """Return one line for what Spark raised; the trace is in its log."""
    text = str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    where = f"its log: {log_path}" if log_path is not None else ""
    if isinstance(error, ConnectionError) or any(words in text for words in _NO_JVM):
        return SparkFailedError("the Java process of Spark exited", where)
    if "Cannot run program" in text:
        return SparkFailedError(f"workers cannot start Python: {_told(lines, 'Cannot run program')}", where)
    if (late := worker_start_error(text, where)) is not None:
        return late
    if "Python worker exited unexpectedly" in text or "ExecutorLostFailure" in text:
        return SparkFailedError(f"workers exited repeatedly: {_told(lines, 'ExecutorLostFailure')}", where)
    python = [line for line in lines if _is_python_error(line)]
    if python:
        return SparkFailedError(f"a task failed, which is a bug: {python[0][:500]}", where)
    reason = last_log_line(log_path) or (lines or [type(error).__name__])[0][:500]
    return SparkFailedError(f"Spark failed the job: {reason}", where)


def _told(lines: Sequence[str], word: str) -> str:
    return next((line[line.index(word) :][:300] for line in lines if word in line), "a Python worker exited")


def _is_python_error(line: str) -> bool:
    """Whether a line is the last one of a Python traceback: `Name: text`, and not a Java class with its package."""
    name = line.partition(":")[0]
    return (
        name.replace("_", "").replace(".", "").isalnum()
        and name.endswith(("Error", "Exception"))
        and not name.startswith(("org.", "java.", "scala.", "py4j.", "pyspark."))
    )
