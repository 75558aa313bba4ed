"""What every foreign client offers, and the one way in which their programs are run: with a deadline.

Owns `ForeignClient` and the process; the programs are RecordExchange.java and the *_exchange.py beside this file.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from tests.conformance.foreign.record import ForeignRecord, in_log_order

PROJECT = Path(__file__).parents[3]
DEADLINE_S = 60.0
Isolation = Literal["read_uncommitted", "read_committed"]


class ForeignClientError(Exception):
    """A foreign client failed, hung or returned too little; the message names it and ends with its own words."""


class ForeignClient(Protocol):
    """One foreign client. Properties have Kafka's (the Java client's) names; unknown ones are passed on.

    All calls end within `deadline_s`. Raises `ToolMissing` where the client is not installed.
    """

    @property
    def name(self) -> str: ...

    @property
    def codecs(self) -> Sequence[str]:
        """The compression types that it can produce."""
        ...

    @property
    def sends_null_headers(self) -> bool:
        """False: it refuses a header whose value is None (all can read them)."""
        ...

    def require(self) -> None:
        """Return when the client is installed; raise `ToolMissing` when not."""
        ...

    def produce(
        self,
        bootstrap: str,
        topic: str,
        records: Sequence[ForeignRecord],
        codec: str = "none",
        properties: Mapping[str, str] | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        """Return when every record is acknowledged by all replicas, in order within a partition."""
        ...

    def consume(
        self,
        bootstrap: str,
        topic: str,
        count: int,
        isolation: Isolation = "read_uncommitted",
        properties: Mapping[str, str] | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> list[ForeignRecord]:
        """Return all records up to the present end of all partitions, by partition and offset.

        Raises:
            ForeignClientError: there were not exactly `count`.
        """
        ...

    def list_topics(
        self, bootstrap: str, properties: Mapping[str, str] | None = None, deadline_s: float = DEADLINE_S
    ) -> list[str]:
        """Return the names of all topics but internal ones, sorted."""
        ...


class ExchangeClient:
    """A foreign client behind a program of ours that speaks JSON lines.

    Args:
        name: for messages.
        command: returns the start of the command line, raises `ToolMissing` where something is not installed. The rest
            is `produce|consume|list TOPIC key=value...`; `list` ignores the topic.
        sends_null_headers: see `ForeignClient`.
    """

    codecs = ("none", "gzip", "snappy", "lz4", "zstd")

    def __init__(self, name: str, command: Callable[[], list[str]], sends_null_headers: bool = True) -> None:
        self.name = name
        self.sends_null_headers = sends_null_headers
        self._command = command

    def require(self) -> None:
        """See `ForeignClient`."""
        self._command()

    def produce(
        self,
        bootstrap: str,
        topic: str,
        records: Sequence[ForeignRecord],
        codec: str = "none",
        properties: Mapping[str, str] | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        """See `ForeignClient`."""
        settings = {**(properties or {}), "bootstrap.servers": bootstrap, "compression.type": codec}
        self._run("produce", topic, settings, "".join(record.to_line() for record in records), deadline_s)

    def consume(
        self,
        bootstrap: str,
        topic: str,
        count: int,
        isolation: Isolation = "read_uncommitted",
        properties: Mapping[str, str] | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> list[ForeignRecord]:
        """See `ForeignClient`."""
        return checked_count(self.name, self.consume_all(bootstrap, topic, isolation, properties, deadline_s), count)

    def consume_all(
        self,
        bootstrap: str,
        topic: str,
        isolation: Isolation = "read_uncommitted",
        properties: Mapping[str, str] | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> list[ForeignRecord]:
        """As `consume`, however many there are."""
        settings = {**(properties or {}), "bootstrap.servers": bootstrap, "isolation.level": isolation}
        output = self._run("consume", topic, settings, "", deadline_s)
        return in_log_order(map(ForeignRecord.from_line, output.splitlines()))

    def list_topics(
        self, bootstrap: str, properties: Mapping[str, str] | None = None, deadline_s: float = DEADLINE_S
    ) -> list[str]:
        """See `ForeignClient`."""
        output = self._run("list", "-", {**(properties or {}), "bootstrap.servers": bootstrap}, "", deadline_s)
        return sorted(name for name in output.splitlines() if not name.startswith("__"))

    def _run(self, mode: str, topic: str, properties: Mapping[str, str], text: str, deadline_s: float) -> str:
        settings = [f"{key}={value}" for key, value in properties.items()]
        command = [*self._command(), mode, topic, *settings]
        return run_bounded(f"{self.name} {mode}", command, text.encode(), deadline_s).decode()


def checked_count(name: str, records: Iterable[ForeignRecord], count: int) -> list[ForeignRecord]:
    """Return records in log order; raise `ForeignClientError` when there are not `count`."""
    ordered = in_log_order(records)
    if len(ordered) != count:
        raise ForeignClientError(f"{name} consumed {len(ordered)} records, expected {count}: {str(ordered)[:1000]}")
    return ordered


def run_bounded(what: str, command: Sequence[str], data: bytes, deadline_s: float) -> bytes:
    """Return the standard output of a command that gets `data` and `deadline_s` seconds.

    Raises:
        ForeignClientError: it failed or was killed at the deadline; no process of its group is left.
    """
    environment = os.environ | {"PYTHONPATH": str(PROJECT)}
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(data, timeout=deadline_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            raise ForeignClientError(f"{what}: not done within {deadline_s} s:\n{_tail(errors)}") from None
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode != 0:
        raise ForeignClientError(f"{what} failed with status {process.returncode}:\n{_tail(errors)}")
    return output


def _tail(errors: bytes) -> str:
    return errors.decode(errors="replace")[-4000:]
