"""A timeout ends a task in whichever attempt it comes; an attempt after anything else has its own timeout."""

from pathlib import Path
from typing import NamedTuple

import pyspark
import pytest

from kctl.client.errors import ApiTimeout, DeliveryTimeout, KafkaError, UndeliveredError
from kctl.pipeline.source.failures import SourceError, one_timeout


class Task(NamedTuple):
    """Stands for Spark's TaskContext in a worker."""

    attempt: int
    partition: int = 0

    def stageId(self) -> int:
        return 3

    def partitionId(self) -> int:
        return self.partition

    def attemptNumber(self) -> int:
        return self.attempt


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of the executor."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/elsewhere")
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, task: Task | None, error: BaseException | None = None) -> None:
    monkeypatch.setattr(pyspark.TaskContext, "get", classmethod(lambda _: task))
    with one_timeout():
        if error is not None:
            raise error


def test_attempt_after_a_timeout_raises_the_first_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    timeout = ApiTimeout("waiting for offset 7 of t-0", timeout_ms=6000, elapsed_ms=6001)
    with pytest.raises(ApiTimeout):
        run(monkeypatch, Task(0), timeout)
    with pytest.raises(SourceError, match=r"KCTL: ApiTimeout: .*waiting for offset 7 of t-0"):
        run(monkeypatch, Task(1), AssertionError("the attempt was made"))
    run(monkeypatch, Task(1, partition=1))  # another task


def test_attempt_after_rows_that_were_not_acknowledged_in_time_raises_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    timeout = DeliveryTimeout("waiting for node 1", timeout_ms=6000, elapsed_ms=6001)
    with pytest.raises(UndeliveredError):
        run(monkeypatch, Task(0), UndeliveredError(3, timeout))
    with pytest.raises(SourceError, match=r"KCTL: UndeliveredError: 3 records not delivered.*waiting for node 1"):
        run(monkeypatch, Task(1), AssertionError("the attempt was made"))
    refused = UndeliveredError(1, KafkaError("too large"))
    with pytest.raises(UndeliveredError):
        run(monkeypatch, Task(0, partition=1), refused)
    run(monkeypatch, Task(1, partition=1))


def test_attempt_after_a_lost_worker_or_another_error_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    run(monkeypatch, Task(1))
    with pytest.raises(KafkaError):
        run(monkeypatch, Task(0), KafkaError("refused"))
    run(monkeypatch, Task(1))


def test_executor_without_a_folder_makes_every_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_DIRS")
    with pytest.raises(ApiTimeout):
        run(monkeypatch, Task(0), ApiTimeout("waiting", timeout_ms=1, elapsed_ms=1))
    run(monkeypatch, Task(1))
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/no/such/folder")
    with pytest.raises(ApiTimeout):
        run(monkeypatch, Task(0), ApiTimeout("waiting", timeout_ms=1, elapsed_ms=1))
    run(monkeypatch, None)
