"""How long partitions have no owner while a group changes: kctl's members beside Java's, on the same broker.

    python benchmarks/bench_rebalance.py [--members 20] [--partitions 200] [--rounds 1] [--protocols range ...]

A group of so many members shares the topic; then one more joins, it leaves again, and one is killed. For each partition
that changes hands, the time from its owner's word that it is gone (or from the kill) to the next owner's word that it
has it. A partition that two members have at the same time is counted, and must never be. Kafka is the newest of the
tests, one node; members are threads of one process of each client, the one that is killed has a process of its own.
Needs Java and Maven as the tests do. Where a change falls between two heartbeats decides a single round, so the longest
times of all rounds are compared: exits with 1 where kctl's is more than 1.2 times Java's and 100 ms longer, or where a
partition had two owners.

Lines of the members: `takes NAME AT_MS P...` and `gives NAME AT_MS P...`, on the machine's monotonic clock.
"""

import argparse
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.kafka.cluster import KafkaCluster  # noqa: E402 - the tests are beside us, not installed
from tests.support.kafka.toolchain import NEWEST_KAFKA, compiled_class_path, java_command  # noqa: E402

PROTOCOLS = ("range", "cooperative-sticky", "consumer")
JAVA_ASSIGNORS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}
BROKER = {
    "group.initial.rebalance.delay.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
}
CLASSIC = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "1000"}
PATIENCE_S = 90.0
STEADY_S = 3.0
MOST_RATIO = 1.2
NOISE_MS = 100


class Change(NamedTuple):
    """One line of a member."""

    at_ms: int
    name: str
    takes: bool
    partitions: tuple[int, ...]


class Members:
    """One process of members."""

    def __init__(self, command: Sequence[str], changes: list[Change]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
        )
        self._changes = changes
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            words = line.split()
            if len(words) > 3 and words[0] in ("takes", "gives"):
                partitions = tuple(map(int, words[3:]))
                self._changes.append(Change(int(words[2]), words[1], words[0] == "takes", partitions))

    def tell(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def kill(self) -> int:
        """End it at once and return when."""
        at_ms = round(monotonic() * 1000)
        self.process.kill()
        self.process.wait()
        self._reader.join()
        return at_ms

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def command_of(client: str, prefix: str, count: int, topic: str, properties: dict[str, str]) -> list[str]:
    """Return how members are started."""
    arguments = [prefix, str(count), topic, *(f"{name}={value}" for name, value in properties.items())]
    if client == "kctl":
        return [sys.executable, "-m", "benchmarks.peers.rebalance_members", *arguments]
    class_path = compiled_class_path(Path(__file__).parent / "peers" / "RebalanceMembers.java", NEWEST_KAFKA)
    return java_command(class_path, "RebalanceMembers", *arguments)


class Account:
    """Who has what, by the lines of all members in the order of their instants."""

    def __init__(self, changes: Sequence[Change], killed: tuple[str, int] | None) -> None:
        self.owners: dict[int, str] = {}
        self.doubles = 0
        self.gaps: list[tuple[int, int]] = []
        """When a partition lost its owner, and for how long it had none."""
        self.lost_at: dict[int, int] = {}
        lines = sorted(changes, key=lambda change: (change.at_ms, change.takes))
        for change in lines:
            if killed is not None and killed[1] <= change.at_ms:
                self._bury(*killed)
            for partition in change.partitions:
                self._take(partition, change) if change.takes else self._give(partition, change.name, change.at_ms)
        if killed is not None:
            self._bury(*killed)

    def _bury(self, prefix: str, at_ms: int) -> None:
        for partition, owner in list(self.owners.items()):
            if owner.startswith(prefix):
                self._give(partition, owner, at_ms)

    def _give(self, partition: int, name: str, at_ms: int) -> None:
        if self.owners.get(partition) == name:
            del self.owners[partition]
            self.lost_at[partition] = at_ms

    def _take(self, partition: int, change: Change) -> None:
        present = self.owners.get(partition)
        if present is not None and present != change.name:
            self.doubles += 1
        if partition in self.lost_at:
            lost_at = self.lost_at.pop(partition)
            self.gaps.append((lost_at, change.at_ms - lost_at))
        self.owners[partition] = change.name


class Phase(NamedTuple):
    """What one change of the group cost."""

    name: str
    moved: int
    median_ms: float
    longest_ms: int


def settle(account: Callable[[], Account], changes: list[Change], members: int, partitions: int) -> None:
    """Wait until so many members own all partitions, and nothing has changed for a while.

    Raises: TimeoutError: they do not settle.
    """
    deadline_s = monotonic() + PATIENCE_S
    while monotonic() < deadline_s:
        seen = len(changes)
        sleep(STEADY_S)
        now = account()
        if seen == len(changes) and len(now.owners) == partitions and len(set(now.owners.values())) == members:
            return
    now = account()
    raise TimeoutError(f"{len(set(now.owners.values()))} members own {len(now.owners)} partitions")


@contextmanager
def started(command: Sequence[str], changes: list[Change]) -> Iterator[Members]:
    members = Members(command, changes)
    try:
        yield members
    finally:
        members.close()


def measure(kafka: KafkaCluster, client: str, protocol: str, args: argparse.Namespace, number: int) -> list[Phase]:
    """Let a group of one client grow, shrink and lose a member; return what each cost.

    Raises: AssertionError: a partition had two owners.
    """
    properties = {
        "bootstrap.servers": kafka.bootstrap(),
        "group.id": f"{client}-{protocol}-{number}",
        "auto.offset.reset": "earliest",
    }
    if protocol == "consumer":
        properties["group.protocol"] = "consumer"
    else:
        strategy = JAVA_ASSIGNORS[protocol] if client == "java" else protocol
        properties |= {"partition.assignment.strategy": strategy, **CLASSIC}
    changes: list[Change] = []
    phases: list[Phase] = []
    killed: list[tuple[str, int]] = []

    def account() -> Account:
        return Account(list(changes), killed[0] if killed else None)

    def done(name: str, started_at_ms: int, members: int) -> None:
        settle(account, changes, members, args.partitions)
        gaps = [gap for lost_at, gap in account().gaps if lost_at >= started_at_ms]
        phases.append(Phase(name, len(gaps), statistics.median(gaps), max(gaps)))

    with (
        started(command_of(client, "m", args.members - 1, args.topic, properties), changes) as members,
        started(command_of(client, "victim", 1, args.topic, properties), changes) as victim,
    ):
        settle(account, changes, args.members, args.partitions)
        at_ms = round(monotonic() * 1000)
        members.tell("add")
        done("one joins", at_ms, args.members + 1)
        at_ms = round(monotonic() * 1000)
        members.tell("leave")
        done("it leaves", at_ms, args.members)
        killed.append(("victim", victim.kill()))
        done("one is killed", killed[0][1], args.members - 1)
        doubles = account().doubles
    assert doubles == 0, f"{client} {protocol}: {doubles} times a partition had two owners"
    return phases


def main() -> int:
    """Measure each client with each protocol and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=20)
    parser.add_argument("--partitions", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--protocols", nargs="+", choices=PROTOCOLS, default=PROTOCOLS)
    args = parser.parse_args()
    args.topic = "rebalance"
    is_slower = False
    with KafkaCluster(NEWEST_KAFKA, 1, BROKER) as kafka:
        kafka.create_topic(args.topic, partitions=args.partitions)
        columns = f"{'moved':>11}{'median':>8}{'longest':>9}"
        print(f"{'':36}{columns}{columns}   (kctl, then java; ms without an owner)")
        for protocol in args.protocols:
            worst: dict[str, tuple[int, int]] = {}
            for number in range(args.rounds):
                ours = measure(kafka, "kctl", protocol, args, number)
                theirs = measure(kafka, "java", protocol, args, number)
                for our, their in zip(ours, theirs, strict=True):
                    before = worst.get(our.name, (0, 0))
                    worst[our.name] = (max(before[0], our.longest_ms), max(before[1], their.longest_ms))
                    print(
                        f"{protocol:20}{our.name:16}{our.moved:11}{our.median_ms:8.0f}{our.longest_ms:9}"
                        f"{their.moved:11}{their.median_ms:8.0f}{their.longest_ms:9}"
                        f"  x{our.longest_ms / max(1, their.longest_ms):.2f}",
                        flush=True,
                    )
            for name, (our_ms, their_ms) in worst.items():
                is_worse = our_ms > max(their_ms * MOST_RATIO, their_ms + NOISE_MS)
                is_slower = is_slower or is_worse
                verdict = f"x{our_ms / max(1, their_ms):.2f}{'  slower' if is_worse else ''}"
                print(f"{protocol:20}{name:16}longest of all rounds: {our_ms} ms, Java {their_ms} ms  {verdict}")
    return 1 if is_slower else 0


if __name__ == "__main__":
    sys.exit(main())
