"""Members of consumer groups that run as processes of their own: GroupMember.java and the *_member.py beside this file.

Owns the process, its lines and its end.

| line | what it tells |
|---|---|
| `takes AT_MS P...` | the listener was told that these partitions came |
| `gives AT_MS P...` | it was told that these go, and what was read is committed, if that was possible |
| `loses AT_MS P...` | it was told that these are gone |
| `read P OFFSET VALUE` | a record |
| `committed P=NEXT...` | the offsets of what was read before are confirmed |
| `uncommitted WHY` | they are not; tried again with the next ones |

Instants are of the machine's monotonic clock, so those of several processes compare.
"""

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from typing import NamedTuple, Self

from kctl.client.clock import SystemClock
from tests.conformance.foreign.client import PROJECT
from tests.support.freezing import freeze
from tests.support.kafka.toolchain import NEWEST_KAFKA, ToolMissing, compiled_class_path, java_command

SOURCE = Path(__file__).parents[1] / "java" / "GroupMember.java"
CLOSE_S = 20.0
_JAVA_ASSIGNORS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}
CLASSIC = ("range", "cooperative-sticky")
CHANGES = ("takes", "gives", "loses")


class MemberClient(NamedTuple):
    """A client that can be a member."""

    name: str

    def command(self) -> list[str]:
        """Return how it is started.

        Raises:
            ToolMissing: it is not installed.
        """
        if self.name == "java":
            return java_command(compiled_class_path(SOURCE, NEWEST_KAFKA), "GroupMember")
        if self.name == "kctl":
            return [sys.executable, "-m", "tests.conformance.foreign.kctl_member"]
        if importlib.util.find_spec("confluent_kafka") is None:
            raise ToolMissing("confluent-kafka is not installed (pip install confluent-kafka; it is in the dev extra)")
        return [sys.executable, "-m", "tests.conformance.foreign.confluent_member"]

    def properties(self, protocol: str) -> dict[str, str]:
        """Return what makes it speak `protocol`: an assignor of the classic one, or "consumer"."""
        if protocol not in CLASSIC:
            return {"group.protocol": "consumer"}
        assignor = _JAVA_ASSIGNORS[protocol] if self.name == "java" else protocol
        short = {"session.timeout.ms": "10000", "heartbeat.interval.ms": "200"}
        return {"partition.assignment.strategy": assignor, **short}


JAVA_MEMBER, CONFLUENT_MEMBER, KCTL_MEMBER = MemberClient("java"), MemberClient("confluent"), MemberClient("kctl")


class GroupMember:
    """One running member; leaving the block ends it."""

    def __init__(
        self, client: MemberClient, bootstrap: str, topic: str, protocol: str, group: str = "g", **more: str
    ) -> None:
        settings: Mapping[str, str] = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": "false",
            **client.properties(protocol),
            **{name.replace("_", "."): value for name, value in more.items()},
        }
        self.lines: list[str] = []
        """All it has said, errors too."""
        self.killed_at_ms: int | None = None
        """The last instant at which it was seen alive, when it was killed."""
        self._process = subprocess.Popen(
            [*client.command(), topic, *(f"{name}={value}" for name, value in settings.items())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"PYTHONPATH": str(PROJECT)},
            start_new_session=True,
        )
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.strip())

    @property
    def changes(self) -> list[str]:
        """Everything that its listener was told."""
        return [line for line in list(self.lines) if line.split(" ", 1)[0] in CHANGES]

    @property
    def assigned(self) -> list[int]:
        """The partitions it has now, as far as it has said."""
        has: dict[int, None] = {}
        for line in self.changes:
            what, _, *partitions = line.split()
            for partition in map(int, partitions):
                if what == "takes":
                    has[partition] = None
                else:
                    has.pop(partition, None)
        return sorted(has)

    @property
    def values(self) -> list[str]:
        """What it has read."""
        return [line.split()[3] for line in list(self.lines) if line.startswith("read ")]

    def close(self) -> None:
        """Let it leave and return when its process has ended.

        Raises:
            AssertionError: it failed, or did not end in time.
        """
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            status = self._process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"no end within {CLOSE_S} s: {self._tail()}") from None
        self._reader.join(CLOSE_S)
        assert status == 0, self._tail()

    def kill(self) -> int:
        """End it without a word to anybody; return the instant at which it was still alive."""
        killed_at_ms = SystemClock().now_ms()
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join(CLOSE_S)
        self.killed_at_ms = killed_at_ms
        return killed_at_ms

    def freeze(self) -> None:
        """Stop its clock, until `thaw()`."""
        freeze(self._process.pid)

    def thaw(self) -> None:
        os.killpg(self._process.pid, signal.SIGCONT)

    def _tail(self) -> str:
        return "\n".join(self.lines[-50:])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.kill()
        self._reader.join(CLOSE_S)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
