"""Python workers that connect too late, and a Java process that was killed: errors, and restarts of a query."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import explain
from kctl.pipeline.job_errors import SparkFailedError, WorkerStartError
from kctl.pipeline.jobs.sync import MOST_LATE_STARTS, _Queries
from kctl.pipeline.spark_failures import explained

SPARK_TEXTS = (
    "org.apache.spark.SparkException: Python worker failed to connect back.\n\tat PythonWorkerFactory.scala:302",
    "Traceback (most recent call last):\n  File worker.py\npyspark.errors.exceptions.base.PySparkRuntimeError: "
    "[CANNOT_OPEN_SOCKET] Can not open socket: tried to connect to a.sock: No such file or directory.",
)


@pytest.mark.parametrize("text", SPARK_TEXTS)
def test_late_worker_is_one_line_with_the_way_to_continue(text: str) -> None:
    failure = explain(explained(RuntimeError(text), Path("spark.log")))
    assert failure.code is ExitCode.API_TIMEOUT
    assert failure.lines() == [
        "a Python worker did not connect to Spark in time: the machine is overloaded",
        "hint: run the command again to continue, or read the log of Spark: spark.log",
    ]


@pytest.mark.parametrize(
    "error",
    [
        Py4JError("An error occurred while calling None.None"),
        Py4JNetworkError("Answer from Java side is empty"),
        ConnectionRefusedError(111, "Connection refused"),
    ],
)
def test_java_process_that_was_killed_is_named(error: Exception) -> None:
    failure = explain(explained(error, Path("spark.log")))
    assert failure.lines() == ["the Java process of Spark exited", "hint: read the log of Spark: spark.log"]


class Queries(_Queries):
    """Queries that end as a script says: with a batch (None) or with an error."""

    def __init__(self, *ends: SparkFailedError | None) -> None:
        self.ends = list(ends)
        self.batches = SimpleNamespace(result=SimpleNamespace(batches=0), failure=None, reaches=lambda _: not self.ends)
        request: Any = SimpleNamespace(trigger_ms=None)
        session: Any = SimpleNamespace(log_path=None)
        super().__init__(request, cast("Any", self.batches), session, dict, lambda _: None)

    def _run_query(self) -> None:
        self.batches.failure = end = self.ends.pop(0)
        if end is not None:
            raise end
        self.batches.result.batches += 1


LATE = WorkerStartError("late")


def test_query_whose_worker_is_late_is_started_again() -> None:
    queries = Queries(*[LATE] * (MOST_LATE_STARTS - 1), None, LATE, None)
    queries.run({})
    assert (queries.ends, queries.batches.result.batches, queries.batches.failure) == ([], 2, None)


def test_query_whose_worker_is_always_late_fails() -> None:
    queries = Queries(*[LATE] * MOST_LATE_STARTS, None)
    with pytest.raises(WorkerStartError):
        queries.run({})
    assert queries.ends == [None]


def test_query_that_fails_otherwise_is_not_started_again() -> None:
    with pytest.raises(SparkFailedError, match="out of memory"):
        Queries(SparkFailedError("out of memory"), None).run({})
