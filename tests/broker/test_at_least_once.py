"""`kctl consume -g` writes every record at least once while members and brokers are killed and frozen, one at a time.

Two groups, one of each protocol, read a numbered topic of three real brokers into files. What was written is held
against the offsets that were committed before each blow: whatever is read again lies behind them. `make soak` strikes
20 times, CI a few times; the plan follows from the seed (KCTL_SOAK_SEED), which is part of the test's name.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from random import Random
from threading import Event
from typing import NamedTuple

import pytest

from tests.cli.processes import ROOT
from tests.conformance.foreign.group_view import GroupView
from tests.conformance.foreign.numbered_topic import NumberedTopic
from tests.support.bounds import bound
from tests.support.freezing import freeze
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

BLOWS = int(os.environ.get("KCTL_SOAK_BLOWS", "4"))
SEED = int(os.environ.get("KCTL_SOAK_SEED", "1"))
PARTITIONS = 6
MEMBERS = 2
PROTOCOLS = ("classic", "consumer")
PATIENCE_MS = bound(120_000)
KINDS = ("kill member", "kill broker", "freeze member", "freeze broker")
SETTINGS = {
    "classic": ["-X", "session.timeout.ms=6000", "-X", "heartbeat.interval.ms=500"],
    "consumer": ["-X", "group.protocol=consumer"],
}


class Blow(NamedTuple):
    """What is done to whom: a member of each group, or a broker."""

    kind: str
    which: int
    after_ms: int
    lasts_ms: int


def make_plan(seed: int, count: int) -> list[Blow]:
    """Return the blows of a seed; every kind comes once before one comes again."""
    rng = Random(seed)
    plan: list[Blow] = []
    while len(plan) < count:
        for kind in rng.sample(KINDS, len(KINDS)):
            which = rng.randrange(MEMBERS) if kind.endswith("member") else rng.randrange(1, 4)
            plan.append(Blow(kind, which, rng.randint(1500, 4000), rng.randint(1000, 8000)))
    return plan[:count]


class Reader:
    """A member as a process that is started anew when it was killed; every start writes into a file of its own."""

    def __init__(self, folder: Path, bootstrap: str, topic: str, group: str, protocol: str, name: str) -> None:
        self.outputs: list[Path] = []
        self._folder, self._name = folder, f"{protocol}-{name}"
        self._command = [sys.executable, "-m", "kctl", "consume", topic, "-b", bootstrap, "-g", group]
        self._command += ["-f", "%p %o %v\\n", *SETTINGS[protocol]]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        output = self._folder / f"{self._name}-{len(self.outputs)}.out"
        self.outputs.append(output)
        with output.open("wb") as stdout, output.with_suffix(".err").open("wb") as stderr:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
            )

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def freeze(self) -> None:
        assert self._process is not None
        freeze(self._process.pid)

    def end(self, number: signal.Signals) -> int:
        """Signal it and return its exit status."""
        self.send(number)
        assert self._process is not None
        return self._process.wait(bound(60))

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.end(signal.SIGKILL)


class Group:
    """The readers of one group, and what is known of its commits."""

    def __init__(self, folder: Path, bootstrap: str, topic: str, protocol: str) -> None:
        self.name = f"{topic}-{protocol}"
        self.protocol = protocol
        self.readers = [Reader(folder, bootstrap, topic, self.name, protocol, str(each)) for each in range(MEMBERS)]
        self._topic = topic
        self._seen: list[tuple[dict[int, int], dict[Path, int]]] = []

    def look(self, view: GroupView) -> None:
        """Keep what is committed, and then how much has been written: what is written later starts behind that."""
        committed = view.committed(self.name, self._topic, PARTITIONS)
        self._seen.append((committed, {path: path.stat().st_size for one in self.readers for path in one.outputs}))

    def check(self, ends: dict[int, int]) -> int:
        """Hold what was written against what was committed; return how many records were written again."""
        written: set[tuple[int, int]] = set()
        total = 0
        for path in (path for one in self.readers for path in one.outputs):
            reads = list(_reads(path))
            total += len(reads)
            for at, partition, offset in _run_starts(reads):
                for committed, sizes in self._seen:
                    is_later = at >= sizes.get(path, 0)
                    least = committed.get(partition, 0) if is_later else 0
                    assert offset >= least, f"{path.name}: {partition} again from {offset}, committed was {least}"
            written |= {(partition, offset) for _, partition, offset in reads}
        missing = [(p, offset) for p, end in ends.items() for offset in range(end) if (p, offset) not in written]
        assert missing == [], f"{self.protocol}: never written: {missing[:20]} of {ends}"
        return total - len(written)


def _reads(path: Path) -> Iterator[tuple[int, int, int]]:
    """Yield where in the file each record is, its partition and its offset; what a kill cut off counts as not there."""
    at = 0
    for line in path.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n"):
            partition, offset, number = map(int, line.split())
            assert number == offset * PARTITIONS + partition, line
            yield at, partition, offset
        at += len(line)


def _run_starts(reads: list[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Yield the records that do not follow on the one before of their partition."""
    for partition in range(PARTITIONS):
        own = [(-1, partition, -2), *(read for read in reads if read[1] == partition)]
        yield from (after for before, after in pairwise(own) if after[2] != before[2] + 1)


def _strike(kafka: KafkaCluster, groups: list[Group], blow: Blow) -> None:
    """Do it, and undo it before the next."""
    members = [group.readers[blow.which] for group in groups] if blow.kind.endswith("member") else []
    if blow.kind == "kill member":
        for member in members:
            member.end(signal.SIGKILL)
            member.start()
    elif blow.kind == "freeze member":
        for member in members:
            member.freeze()
        Event().wait(blow.lasts_ms / 1000)
        for member in members:
            member.send(signal.SIGCONT)
    elif blow.kind == "kill broker":
        kafka.node(blow.which).kill()
        Event().wait(blow.lasts_ms / 1000)
        kafka.node(blow.which).start()
    else:
        kafka.node(blow.which).freeze()
        Event().wait(blow.lasts_ms / 1000)
        kafka.node(blow.which).thaw()
        kafka.wait_ready()


@pytest.mark.parametrize(("seed", "blows"), [(SEED, BLOWS)], ids=lambda value: str(value))
def test_every_record_is_written(kafka_three: KafkaCluster, tmp_path: Path, seed: int, blows: int) -> None:
    topic = kafka_three.create_topic(partitions=PARTITIONS, configs={"min.insync.replicas": "2"})
    bootstrap = kafka_three.bootstrap()
    with ExitStack() as stack:
        groups = [Group(tmp_path, bootstrap, topic, protocol) for protocol in PROTOCOLS]
        for reader in (reader for group in groups for reader in group.readers):
            stack.callback(reader.kill)
            reader.start()
        view = stack.enter_context(GroupView(bootstrap))
        numbered = stack.enter_context(NumberedTopic(bootstrap, topic, PARTITIONS, every_ms=20))
        for blow in make_plan(seed, blows):
            Event().wait(blow.after_ms / 1000)
            for group in groups:
                group.look(view)
            _strike(kafka_three, groups, blow)
        ends = numbered.stop()
        for group in groups:
            wait_until(
                lambda name=group.name: view.committed(name, topic, PARTITIONS) == ends,  # type: ignore[misc]  # a default has no type for mypy
                PATIENCE_MS,
                f"{group.protocol}: everything to be committed",
                interval_ms=500,
            )
        statuses = [reader.end(signal.SIGINT) for group in groups for reader in group.readers]
        again = {group.protocol: group.check(ends) for group in groups}
    assert statuses == [130] * len(statuses)
    sys.stdout.write(f"\n{sum(ends.values())} records; written again: {again}\n")
