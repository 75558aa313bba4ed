"""Memory test: an hour of one consumer group in virtual time, with light faults, must not accumulate objects.

Counts objects by type, which is exact, unlike bytes. Started by `python -m tests.sim memory`.
"""

import gc
from collections import Counter
from typing import NamedTuple

from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.group.application_side import RebalanceListener
from kctl.sandbox import Sandbox
from kctl.sandbox.settings import ClusterSettings
from tests.sim.chaos.consumer_cluster import BOOTSTRAP
from tests.sim.chaos.plan import NODES, SESSION_MS
from tests.sim.kit.nodes import SimNodes
from tests.sim.virtual import Hub, LinkFault, SimResolver, sim_runtime

MINUTE_MS = 60_000
MOST_GROWTH = 200
"""More objects of one type than this, between the two counts, are a leak: an hour has thousands of everything."""
KEPT_BATCHES = 50
SEGMENT_BYTES = 4096
"""Segment size of __consumer_offsets, so that commits are compacted soon."""
SLOW_MS = 20


class Growth(NamedTuple):
    """Number of objects of a growing type, early and at the end."""

    kind: str
    early: int
    late: int


class _Hour(SimNodes):
    """Members that read, a writer whose log is kept short, and faults that come and go."""

    def __init__(self, hub: Hub, minutes: int) -> None:
        self.end_ms = minutes * MINUTE_MS
        self.resolver = SimResolver(hub)
        settings = ClusterSettings(offsets_topic_segment_bytes=SEGMENT_BYTES)
        super().__init__(hub, Sandbox(nodes=NODES, topics={"t": 6}, settings=settings), self.resolver)
        self.read = 0

    def member(self, name: str, protocol: dict[str, object]) -> None:
        properties: dict[str, object] = {
            "bootstrap.servers": BOOTSTRAP,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "metadata.max.age.ms": 30_000,
            **protocol,
        }
        consumer = Consumer(properties, sim_runtime(self.hub, name, self.network, self.resolver))
        consumer.subscribe(["t"], RebalanceListener())
        while self.hub.now_ms < self.end_ms:
            self.read += len(consumer.poll(1))
            consumer.commit_async()
        consumer.close()

    def write(self) -> None:
        from kctl.client.records import RecordBatchBuilder

        rng = self.hub.rng("writer")
        while self.hub.now_ms < self.end_ms:
            partition = self.sandbox.cluster.topics["t"].partitions[rng.randrange(6)]
            builder = RecordBatchBuilder()
            builder.try_append(None, b"x" * 100, [], self.hub.now_ms)
            partition.log.append(builder.build(), partition.leader_epoch, self.hub.now_ms)
            partition.log.delete_records(max(0, partition.log.end_offset - KEPT_BATCHES))
            self.hub.sleep_ms(rng.randint(100, 2000))

    def disturb(self) -> None:
        rng = self.hub.rng("faults")
        while self.hub.now_ms < self.end_ms:
            self.hub.sleep_ms(rng.randint(5000, 40_000))
            number = self.network.faults.start(LinkFault.SLOW, value=SLOW_MS)
            for connection in self.network.connections_of(ip=f"10.0.0.{rng.randint(1, NODES)}"):
                connection.cut()
            self.sandbox.move_coordinator("g", rng.randint(1, NODES))
            self.hub.sleep_ms(rng.randint(1, 3000))
            self.network.faults.stop(number)


def count_objects(hub: Hub) -> Counter[str]:
    """Return how many objects there are of each type, after a collection.

    Without the list that the hub keeps for each name there ever was: every connection has two.
    """
    gc.collect()
    counts = Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects())
    counts["builtins.list"] -= len(hub._owners)
    return counts


def grown(*, minutes: int = 60, early_minute: int = 10, protocol: str = "classic") -> tuple[list[Growth], int]:
    """Run a group for so long; return which types have grown since the early minute, and how many records were read."""
    given: dict[str, object] = (
        {"group.protocol": "consumer"} if protocol == "consumer" else {"session.timeout.ms": SESSION_MS}
    )
    counts: list[Counter[str]] = []
    with Hub(seed=1) as hub:
        hour = _Hour(hub, minutes)
        for name in ("c1", "c2"):
            hub.spawn(name, lambda name=name: hour.member(name, given))  # type: ignore[misc]  # a bound default
        hub.spawn("writer", hour.write)
        hub.spawn("faults", hour.disturb)
        hub.run(until_ms=early_minute * MINUTE_MS)
        counts.append(count_objects(hub))
        hub.run(until_ms=(minutes - 1) * MINUTE_MS)
        counts.append(count_objects(hub))
        hub.run()
        early, late = counts
        growths = [Growth(kind, early[kind], late[kind]) for kind in late if late[kind] - early[kind] > MOST_GROWTH]
        return sorted(growths, key=lambda each: each.early - each.late), hour.read
