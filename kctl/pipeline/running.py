"""Execution of a job's tasks on Spark, watched from the caller's thread and stopped by Ctrl-C or the first error.

`task_rounds` and `connect_rounds` execute the tasks. Daemon threads call Spark, so that the main thread can handle
signals.
"""

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from kctl.client.clock import Clock, SystemClock
from kctl.client.errors import KafkaError
from kctl.pipeline.job_errors import SparkFailedError, SparkSetUpError
from kctl.pipeline.masters import check_master, check_server
from kctl.pipeline.session import (
    ClassicSession,
    Gateway,
    Session,
    SessionOptions,
    check_installed,
    is_connect,
    refuse_speculation,
)
from kctl.pipeline.session_folders import log_beside, session_folder
from kctl.pipeline.shipping import PythonDescription, check_alike, describe_python
from kctl.pipeline.spark_failures import explained, is_of_gateway
from kctl.pipeline.spark_noise import noise_to
from kctl.pipeline.task_rounds import Attempt, Done, Split

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kctl.pipeline.connect_session import ConnectGateway

Item = TypeVar("Item")
Result = TypeVar("Result")
T = TypeVar("T")

TICK_S = 0.1
TRACK_EVERY_MS = 1000
"""Interval in ms of queries for Spark's task counts, which take 10 ms."""
CANCEL_S = 5.0
"""Time in s for cancelled tasks to end. They need 0.1 to 0.3 s. Closing the JVM ends later ones."""


class JobProgress(NamedTuple):
    """Progress of a job, passed to callbacks in the caller's thread.

    Attributes:
        phase: `starting Spark`, `planning`, or a phase of the job.
        tasks_done, tasks_active, tasks: task counts of the current round. `tasks` is 0 while unknown.
        lost_tasks: number of attempts that failed with their worker and were repeated.
        records: number of processed records over all rounds.
        lag: number of records between the progress and the last known end. None if unknown.
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
    """Ignore progress."""


class TaskFailure(NamedTuple):
    """Error of an item.

    Attributes:
        position: index of the item in the input.
    """

    position: int
    error: KafkaError


class RoundResult(NamedTuple, Generic[Result]):
    """Outcome of a round.

    Attributes:
        results: dict from index of the item to result. Includes results of a round that failed.
        failures: errors that stopped the round, in order of arrival.
    """

    results: dict[int, Result]
    failures: list[TaskFailure]

    def raise_first(self) -> None:
        if self.failures:
            raise self.failures[0].error


# --- a session ------------------------------------------------------------------------------------------------------


def start_planning(
    session: Session | None, options: SessionOptions | None, on_progress: OnProgress = ignore_progress
) -> SessionOptions:
    """Report the phase `planning`, and return the options for the job's session.

    Raises: SparkMissingError: the job needs its own session, and Spark is not installed.
    """
    if session is None:
        check_installed(options)
    on_progress(JobProgress("planning"))
    return options or SessionOptions()


@contextmanager
def open_session(options: SessionOptions, name: str, on_progress: OnProgress = ignore_progress) -> Iterator[Session]:
    """Start Spark for the duration of the context. On a cluster, the workers are checked first.

    Spark's log is kept after an error of Spark, or if the options have a path for it.

    Raises:
        SparkMissingError, SparkSetUpError, ConfigError: Spark cannot start.
        Exception: any error of the body.
    """
    check_installed(options)
    gateway, launch = _gateway_of(options, name)
    with ExitStack() as stack:
        folder = stack.enter_context(session_folder())
        log_path = options.log_path or log_beside(folder)
        log = stack.enter_context(_opened(log_path))
        stack.enter_context(noise_to(log))
        try:
            starting = JobProgress("starting Spark")
            on_progress(starting)
            session = watch(lambda: launch(folder, log, log_path), tick=lambda: on_progress(starting))
            if not session.is_local:
                on_progress(JobProgress("checking the workers"))
                _check_workers(session)
            yield session
            is_well = True
        except BaseException as e:
            is_spark = isinstance(e, SparkSetUpError | SparkFailedError) or not isinstance(e, KafkaError)
            is_well = not (is_spark and isinstance(e, Exception))
            if isinstance(e, Exception) and is_of_gateway(e):  # a call between rounds failed
                raise explained(e, log_path) from e
            raise
        finally:
            gateway.close()
            if is_well and options.log_path is None:
                with suppress(OSError):
                    log_path.unlink()


def _gateway_of(
    options: SessionOptions, name: str
) -> "tuple[Gateway | ConnectGateway, Callable[[Path, IO[bytes], Path], Session]]":
    """Return the gateway to Spark and its function that starts a session, after checks of the master or server."""
    if options.remote is None:
        check_master(options)
        gateway = Gateway()
        return gateway, partial(gateway.launch, options, name)
    from kctl.pipeline.connect_session import ConnectGateway  # deferred import: most jobs use a classic session
    from kctl.pipeline.connect_url import parse_connect_url  # deferred import: see above

    url = parse_connect_url(options.remote)
    check_server(url)
    remote = ConnectGateway(url)
    return remote, lambda _folder, _log, log_path: remote.launch(options, log_path)


def session_over(spark: "SparkSession") -> Session:
    """Return a Session around a user's Spark session, which kctl does not stop. A Spark Connect session gets kctl's
    code.

    Raises:
        ConfigError: speculation is enabled.
        SparkSetUpError, SparkFailedError: a Spark Connect server rejects kctl's code, or does not respond.
    """
    if is_connect(spark):
        from kctl.pipeline.connect_session import ConnectSession  # deferred import: most jobs use a classic session

        try:
            return ConnectSession(spark)
        except Exception as e:
            raise explained(e, None) from e
    context = spark.sparkContext
    refuse_speculation(dict(context.getConf().getAll()))
    return ClassicSession(context, None, is_local=str(context.master).startswith("local"))


def _opened(log_path: Path) -> IO[bytes]:
    try:
        return log_path.open("ab")
    except OSError as e:
        raise SparkSetUpError(
            f"cannot open Spark's log {log_path}: {e.strerror}", "set another file with: --spark-log FILE"
        ) from None


def _check_workers(session: Session) -> None:
    ours = describe_python()
    found = run_tasks(session, "kctl: check the workers", [0], _describe)
    found.raise_first()
    check_alike(ours, found.results[0])


def _describe(_item: int, _attempt: Attempt) -> PythonDescription:
    return describe_python()


# --- waiting that signals can interrupt -------------------------------------------------------------------------------


def watch(
    action: Callable[[], T], *, tick: Callable[[], None] | None = None, cancel: Callable[[], None] | None = None
) -> T:
    """Execute an action in a daemon thread, and return its result or raise its error.

    Args:
        tick: called in the caller's thread every `TICK_S`. An exception of `tick` interrupts the caller, as a signal
            does.
        cancel: called if the caller is interrupted. The action then has `CANCEL_S` to end before it is abandoned.
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
    """Raised in the watching thread to cancel the remaining tasks after an error."""


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
    """Execute `work(item, attempt)` for each item in a Spark task, and return the outcome.

    The first client error cancels the other tasks.

    Args:
        name: name of the Spark job in its log.
        items: data that Spark pickles for the tasks. May contain references to secrets, never secrets.
        work: a function of a module that the workers can import.
        on_done: called in the caller's thread with the index and result of each item on arrival.
        on_tick: called in the caller's thread with the task counts, ten times a second.

    Raises:
        SparkFailedError: workers died repeatedly, or the work raised an unexpected error.
    """
    return run_split(session, name, _unsplit(items, work), on_done=on_done, on_tick=on_tick, clock=clock)


def run_split(
    session: Session,
    name: str,
    split: Split[Item, Result],
    *,
    on_done: Callable[[int, Result], None] | None = None,
    on_tick: Callable[["TaskCounts"], None] | None = None,
    clock: Clock | None = None,
) -> RoundResult[Result]:
    """Execute tasks as `run_tasks` does. Indexes count results instead of items."""
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
    """Task counts of a round. `active` and `failed` come from Spark."""

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
    """Execute the work as `run_tasks` does, report the progress, and return the results in the order of the items.

    Args:
        size_of: returns the number of records of an item, for the progress.
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
    """Execute tasks as `run_counted` does.

    Args:
        sizes: number of records of each result.
    """
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
    def __init__(
        self,
        session: Session,
        name: str,
        split: Split[Item, Result],
        on_done: Callable[[int, Result], None] | None,
        on_tick: Callable[[TaskCounts], None] | None,
        clock: Clock,
    ) -> None:
        self._round = session.round(name, split)
        self._total = len(split.items)
        self._last_of_task = {end - 1 for end in itertools.accumulate(split.counts)}
        self._tasks_done = 0
        self._on_done = on_done
        self._on_tick = on_tick
        self._clock = clock
        self._track_at_ms = 0
        self._active = self._failed = 0
        self.results: dict[int, Result] = {}
        self.failures: list[TaskFailure] = []

    def act(self) -> list[Done[Result]]:
        return self._round.act()

    def tick(self) -> None:
        self.on_reports(self._round.reports())
        if self.failures:
            raise _Stopped
        if self._on_tick is not None:
            self._look()
            self._on_tick(TaskCounts(self._tasks_done, self._active, self._failed, self._total))

    def on_reports(self, reports: Sequence[Done[Result]]) -> None:
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
        """Cancel the tasks in another thread, because the JVM may not respond."""
        threading.Thread(target=self._cancel, name="kctl-cancel", daemon=True).start()

    def _cancel(self) -> None:
        with suppress(Exception):  # the JVM may be exiting; closing the session kills it
            self._round.cancel()

    def _look(self) -> None:
        now_ms = self._clock.now_ms()
        if now_ms < self._track_at_ms:
            return
        self._track_at_ms = now_ms + TRACK_EVERY_MS
        self._active, self._failed = self._round.counts()


def _unsplit(items: Sequence[Item], work: Callable[[Item, Attempt], Result]) -> Split[Item, Result]:
    return Split(items, [1] * len(items), _One(work))


class _One(Generic[Item, Result]):
    def __init__(self, work: Callable[[Item, Attempt], Result]) -> None:
        self._work = work

    def __call__(self, item: Item, attempt: Attempt) -> Iterator[Result]:
        yield self._work(item, attempt)
