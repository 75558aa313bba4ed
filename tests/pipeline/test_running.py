"""Tasks on a local Spark: results and errors as they come, cancelling, and our one line for what Spark raises."""

import os
import signal
import threading
from functools import partial
from pathlib import Path

import pytest

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.errors import ApiTimeout, BrokerError
from kctl.pipeline.job_errors import SparkFailedError, SparkSetUpError
from kctl.pipeline.running import RoundResult, TaskCounts, open_session, run_tasks, session_over
from kctl.pipeline.session import Session, SessionOptions
from kctl.pipeline.task_rounds import Attempt
from tests.pipeline.processes import is_alive
from tests.support.bounds import bound
from tests.support.kafka.waiting import wait_until

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def squared(item: int, _attempt: Attempt) -> int:
    return item * item


def test_results_come_by_position_and_as_they_are_done(session: Session) -> None:
    seen: dict[int, int] = {}
    counts: list[TaskCounts] = []
    found = run_tasks(session, "squares", range(20), squared, on_done=seen.__setitem__, on_tick=counts.append)
    assert (found.results, found.failures) == ({n: n * n for n in range(20)}, [])
    assert seen == found.results
    assert all(each.total == 20 for each in counts)


def test_no_items_are_no_job(session: Session) -> None:
    assert run_tasks(session, "nothing", [], squared) == RoundResult({}, [])


def held(item: int, _attempt: Attempt, *, folder: Path) -> int:
    """Item 0 fails when another one runs; the others go on until somebody ends them."""
    (folder / f"{item}.{os.getpid()}").touch()
    if item == 0:
        wait_until(lambda: len(list(folder.iterdir())) > 1, bound(30_000), "another task")
        cause = broker_error(ErrorCode.NOT_ENOUGH_REPLICAS, "Produce")
        raise ApiTimeout("for the test", timeout_ms=5, elapsed_ms=6, cause=cause)
    threading.Event().wait(60)
    return item


def test_the_first_error_comes_whole_and_ends_the_others(session: Session, tmp_path: Path) -> None:
    found = run_tasks(session, "one fails", range(50), partial(held, folder=tmp_path))
    assert [failure.position for failure in found.failures] == [0]
    error = found.failures[0].error
    assert isinstance(error, ApiTimeout)
    assert isinstance(error.cause, BrokerError)
    assert (error.waiting_for, error.cause.name) == ("for the test", "NOT_ENOUGH_REPLICAS")
    assert found.results == {}
    begun = {path.name.split(".")[0] for path in tmp_path.iterdir()}
    assert len(begun) <= 4, "what waited was begun all the same"
    assert run_tasks(session, "afterwards", [3], squared).results == {0: 9}


def test_an_interrupted_wait_ends_the_tasks(session: Session, tmp_path: Path) -> None:
    class Interrupted(BaseException):
        pass

    def interrupt(_counts: TaskCounts) -> None:
        if list(tmp_path.iterdir()):
            raise Interrupted

    with pytest.raises(Interrupted):
        run_tasks(session, "interrupted", [1, 2], partial(held, folder=tmp_path), on_tick=interrupt)
    workers = {int(path.name.split(".")[1]) for path in tmp_path.iterdir()}
    wait_until(lambda: not any(map(is_alive, workers)), bound(30_000), "the end of the workers")


def broken(item: int, _attempt: Attempt) -> int:
    return [item][5]


def test_a_bug_in_a_task_is_one_line(session: Session) -> None:
    with pytest.raises(SparkFailedError) as caught:
        run_tasks(session, "broken", [1], broken)
    assert str(caught.value) == "a task failed because of a bug in kctl: IndexError: list index out of range"
    assert caught.value.hint.startswith("read the log of Spark: ")


def dying(_item: int, _attempt: Attempt) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def test_a_worker_that_dies_again_and_again_is_one_line(session: Session) -> None:
    with pytest.raises(SparkFailedError, match=r"^the workers exited repeatedly: a Python worker exited$"):
        run_tasks(session, "dying", [1], dying)


def test_a_second_session_in_a_process_is_refused(session: Session) -> None:
    with (
        pytest.raises(SparkSetUpError, match="already has a Spark session"),
        open_session(SessionOptions(master="local[1]"), "second"),
    ):
        pass
    assert session_over(session.spark()).parallelism == 2
