"""Other people's transactional producers, each a process that is given steps and answers each with a word.

A step is `NAME VERB WORD...`: a producer (the part of its name before "/" is its transactional.id) and what it does:
init, begin, send TOPIC PARTITION VALUE, offsets GROUP TOPIC PARTITION OFFSET, commit, abort. The answer is `ok` or the
client's own word for what went wrong.
"""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from tests.conformance.foreign.client import PROJECT, ForeignClientError
from tests.support.bounds import bound
from tests.support.kafka.toolchain import NEWEST_KAFKA, ToolMissing, compiled_class_path, java_command

SOURCE = Path(__file__).parents[1] / "java" / "TransactionSteps.java"
PATIENCE_S = bound(60.0)


class StepsClient(NamedTuple):
    """One foreign client."""

    name: str
    command: Callable[[], list[str]]
    """Raises `ToolMissing` where something is not installed."""


def _java() -> list[str]:
    return java_command(compiled_class_path(SOURCE, NEWEST_KAFKA), "TransactionSteps")


def _confluent() -> list[str]:
    if importlib.util.find_spec("confluent_kafka") is None:
        raise ToolMissing("confluent-kafka is not installed (it is in the dev extra)")
    return [sys.executable, "-m", "tests.conformance.foreign.confluent_transactions"]


JAVA_STEPS = StepsClient("java", _java)
CONFLUENT_STEPS = StepsClient("confluent-kafka", _confluent)


class TransactionSteps:
    """One process with any number of producers; a context manager."""

    def __init__(self, client: StepsClient, bootstrap: str, **properties: str) -> None:
        """Start it; underscores in the names of properties stand for dots."""
        settings = {"bootstrap.servers": bootstrap} | {name.replace("_", "."): one for name, one in properties.items()}
        self._process = subprocess.Popen(
            [*client.command(), *(f"{name}={value}" for name, value in settings.items())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"PYTHONPATH": str(PROJECT)},
        )

    def __call__(self, step: str) -> str:
        """Do one step and return its outcome."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(step + "\n")
        self._process.stdin.flush()
        outcome = self._process.stdout.readline().strip()
        if not outcome:
            raise ForeignClientError(f"the process ended at step {step!r}")
        return outcome

    def all(self, *steps: str) -> None:
        """Do steps that have to succeed."""
        for step in steps:
            outcome = self(step)
            assert outcome == "ok", f"{step}: {outcome}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate(timeout=PATIENCE_S)
