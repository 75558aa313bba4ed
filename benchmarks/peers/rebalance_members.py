"""kctl's members of one group, a thread each: `rebalance_members PREFIX COUNT TOPIC key=value...`.

Lines of input: "add" starts one more, "leave" lets the newest leave; they all leave when the input ends. What it prints
is told in bench_rebalance.py; RebalanceMembers.java is the same with Kafka's own client.
"""

import sys
from collections.abc import Mapping, Sequence
from threading import Event, Thread
from time import monotonic

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.group.application_side import RebalanceListener

POLL_S = 0.1


class Telling(RebalanceListener):
    """Says what it is told, with the instant."""

    def __init__(self, name: str) -> None:
        self._name = name

    def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._report("takes", topic_partitions)

    def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._report("gives", topic_partitions)

    def on_partitions_lost(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._report("gives", topic_partitions)

    def _report(self, what: str, partitions: Sequence[TopicPartition]) -> None:
        if partitions:
            numbers = " ".join(str(tp.partition) for tp in partitions)
            sys.stdout.write(f"{what} {self._name} {int(monotonic() * 1000)} {numbers}\n")
            sys.stdout.flush()


class Member:
    """One member on its own thread."""

    def __init__(self, name: str, topic: str, properties: Mapping[str, str]) -> None:
        self.ends = Event()
        self._name = name
        self._topic = topic
        self._properties = properties
        Thread(target=self._run).start()

    def _run(self) -> None:
        with Consumer({**self._properties, "client.id": self._name}) as consumer:
            consumer.subscribe([self._topic], Telling(self._name))
            while not self.ends.is_set():
                consumer.poll(POLL_S)


def main() -> None:
    """Be the members until the input ends."""
    prefix, count, topic, *pairs = sys.argv[1:]
    properties = dict(pair.split("=", 1) for pair in pairs)
    members = [Member(f"{prefix}{number}", topic, properties) for number in range(int(count))]
    for line in sys.stdin:
        if line.strip() == "add":
            members.append(Member(f"{prefix}{len(members)}", topic, properties))
        elif line.strip() == "leave":
            members.pop().ends.set()
    for member in members:
        member.ends.set()


if __name__ == "__main__":
    main()
