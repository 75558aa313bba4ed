"""Jobs through a Spark Connect server: tasks behave as in a classic session, and the token stays secret.

The workers' Python sees pyarrow and nothing else, so what runs there of kctl and its dependencies was sent. The server
wants a token, and has no TLS.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.errors import ApiTimeout
from kctl.pipeline.export_files.manifests import read_manifests
from kctl.pipeline.job_errors import SparkFailedError, SparkSetUpError
from kctl.pipeline.running import TaskCounts, open_session, run_tasks
from kctl.pipeline.session import Session, SessionOptions
from kctl.sandbox import Sandbox
from tests.cli.groups_scene import fill
from tests.pipeline import connect_work
from tests.pipeline.bare_python import bare_interpreter
from tests.pipeline.conftest import LocalSpark
from tests.pipeline.connect_server import ConnectServer
from tests.pipeline.connect_work import always_dying, broken, dying, failing_or_held, held, squared
from tests.pipeline.exports import in_export, on_topic
from tests.pipeline.processes import JobProcess
from tests.pipeline.spark_classes import spark_java

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

TOKEN = "canary-3f9c1b"
PARTITIONS, EACH = 4, 250
SILENT = "the Spark Connect server does not respond"


@pytest.fixture(scope="module")
def server(local_spark: LocalSpark, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    local_spark.close()  # one JVM at a time
    python = bare_interpreter(tmp_path_factory.mktemp("python"), "pyarrow")
    with ConnectServer(python, java=spark_java(), token=TOKEN) as server:
        yield server


@pytest.fixture(scope="module")
def remote(server: ConnectServer) -> str:
    return f"{server.remote}/;token={TOKEN}"


@pytest.fixture(scope="module")
def connected(remote: str) -> Iterator[Session]:
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(connect_work)  # type: ignore[no-untyped-call]
    with open_session(SessionOptions(remote=remote), "kctl tests") as session:
        yield session
    cloudpickle.unregister_pickle_by_value(connect_work)  # type: ignore[no-untyped-call]


def test_results_come_by_position_and_as_they_are_done(connected: Session) -> None:
    seen: dict[int, int] = {}
    counts: list[TaskCounts] = []
    found = run_tasks(connected, "squares, all", range(8), squared, on_done=seen.__setitem__, on_tick=counts.append)
    assert (found.results, found.failures) == ({n: n * n for n in range(8)}, [])
    assert (seen, connected.parallelism) == (found.results, 2)
    assert all(each.total == 8 and each.active <= 2 for each in counts)


def test_first_error_ends_the_tasks_that_would_run_for_minutes(connected: Session) -> None:
    found = run_tasks(connected, "some fail", range(8), failing_or_held)
    assert {failure.position for failure in found.failures} <= {0, 1, 2}
    error = found.failures[0].error
    assert isinstance(error, ApiTimeout)
    assert (error.waiting_for, found.results) == ("for the test", {})
    assert run_tasks(connected, "afterwards", [3], squared).results == {0: 9}


def test_interrupted_wait_ends_the_tasks(connected: Session) -> None:
    class Interrupted(BaseException):
        pass

    def interrupt(counts: TaskCounts) -> None:
        if counts.active:
            raise Interrupted

    with pytest.raises(Interrupted):
        run_tasks(connected, "interrupted", [1, 2], held, on_tick=interrupt)
    assert run_tasks(connected, "afterwards", [3, 4], squared).results == {0: 9, 1: 16}


def test_worker_that_dies_once_is_repeated_and_counted(connected: Session) -> None:
    counts: list[TaskCounts] = []
    found = run_tasks(connected, "dying", [1], dying, on_tick=counts.append)
    assert (found.results, found.failures) == ({0: 1}, [])


@pytest.mark.parametrize(
    ("work", "text"),
    [
        (broken, "a task failed because of a bug in kctl: IndexError: list index out of range"),
        (always_dying, "the workers exited repeatedly: a Python worker exited"),
    ],
)
def test_failure_of_spark_is_one_line(connected: Session, work: object, text: str) -> None:
    with pytest.raises(SparkFailedError) as caught:
        run_tasks(connected, "failing", [1], work)  # type: ignore[arg-type]  # of two functions
    assert str(caught.value) == text


def test_export_writes_each_record_once_and_keeps_the_token_secret(
    server: ConnectServer, remote: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONNECT_URL", remote)
    log = tmp_path / "spark.log"
    with Sandbox(nodes=1, topics={"t": PARTITIONS}).serve() as served:
        fill(served.bootstrap, "t", dict.fromkeys(range(PARTITIONS), EACH))
        where = ("--to", str(tmp_path / "x"), "-b", served.bootstrap, "--remote", "env:CONNECT_URL")
        job = JobProcess(tmp_path / "job", "export", "t", *where, "--spark-log", str(log))
        try:
            code, out = job.ended()
            assert code == ExitCode.OK, job.said()
        finally:
            job.close()
        expected = on_topic({"bootstrap.servers": served.bootstrap}, "t")
    assert len(expected) == PARTITIONS * EACH
    assert in_export(tmp_path / "x") == expected
    for text in (out, job.said(), log.read_text()):
        assert TOKEN not in text
        assert "Warning" not in text or text == log.read_text()


def test_wrong_token_is_one_line_without_it(server: ConnectServer) -> None:
    with (
        pytest.raises(SparkSetUpError) as caught,
        open_session(SessionOptions(remote=f"{server.remote}/;token=wrong-7c31"), "kctl tests"),
    ):
        pass
    assert "wrong-7c31" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_server_that_dies_ends_jobs_in_one_line(
    server: ConnectServer, remote: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Last: the server is not there afterwards."""
    monkeypatch.setenv("CONNECT_URL", remote)
    log, folder = tmp_path / "log", tmp_path / "x"
    is_killed = False

    def kill(counts: TaskCounts) -> None:
        nonlocal is_killed
        if counts.active and not is_killed:
            is_killed = True
            server.process.kill()

    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        fill(served.bootstrap, "t", {0: EACH})
        where = ("--to", str(folder), "-b", served.bootstrap, "--remote", "env:CONNECT_URL", "--spark-log", str(log))
        job = JobProcess(tmp_path / "job", "export", "t", *where, "--continuous", "--interval", "200ms")
        try:
            job.wait_for(lambda: bool(read_manifests(folder)), "the first round")
            with (
                pytest.raises(SparkFailedError, match=f"^{SILENT}$"),
                open_session(SessionOptions(remote=remote), "kctl tests") as session,
            ):
                run_tasks(session, "killed", [1, 2], connect_work.held, on_tick=kill)
            fill(served.bootstrap, "t", {0: EACH})  # a job without records has no query
            assert job.ended()[0] == ExitCode.UNEXPECTED
        finally:
            job.close()
    said = job.said().splitlines()
    assert said[-2:] == [f"kctl pipeline: {SILENT}", f"hint: read the log of Spark: {log}"]
    assert all(line.startswith("kctl pipeline: ") for line in said[:-1]), said
