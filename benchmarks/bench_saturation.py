"""A producer whose brokers all have five requests in flight: metadata of a new topic, failover, and throughput.

    python benchmarks/bench_saturation.py [--rounds N] [--only sandbox|kafka] [--check]

The sandbox has three nodes that answer each request 50 ms late, real Kafka three brokers on loopback. One thread keeps
many small batches of each partition waiting. Measured are acknowledged records a second, the time of `partitions_for`
of a topic that nothing was sent to before, and the time from the moment another client sees the new leader of a
partition whose broker was killed until the first record that the saturated producer has in it.

Held to: metadata within 1 s; failover within 2 s of the new leader.
"""

import argparse
import statistics
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kctl.client.errors import KafkaError
from kctl.client.producer import Producer, SendFuture
from kctl.sandbox import ClusterSettings, Fault, Sandbox
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.toolchain import NEWEST_KAFKA
from tests.support.kafka.wire import fetch_view

PARTITIONS = 6
WAITING = 2000
"""Records of each partition that wait or are in flight."""
ANSWER_MS = 50
STEADY_S = 5
GIVE_UP_S = 40
METADATA_LIMIT_S, FAILOVER_LIMIT_S = 1.0, 2.0


class Figures(NamedTuple):
    """What one round has measured; seconds."""

    records_a_second: float
    metadata_s: float
    failover_s: float


class Place(NamedTuple):
    """A cluster, and how its brokers die."""

    bootstrap: str
    new_topic: str
    kill_leader: Callable[[], None]
    """Ends the broker that leads partition 0 of `load`."""
    leader: Callable[[], int]
    """Returns who leads that partition now, -1 for none."""
    topic: str


class Load:
    """Fills every slot: each partition always has records waiting."""

    def __init__(self, producer: Producer, topic: str) -> None:
        self.acknowledged = [0] * PARTITIONS
        self._producer = producer
        self._topic = topic
        self._is_stopped = False
        self._thread = threading.Thread(target=self._fill)
        self._thread.start()

    def _fill(self) -> None:
        waiting: list[deque[SendFuture]] = [deque() for _ in range(PARTITIONS)]
        value = bytes(100)
        while not self._is_stopped:
            for partition, futures in enumerate(waiting):
                while futures and futures[0].done():
                    self.acknowledged[partition] += futures.popleft().exception(0) is None
                while len(futures) < WAITING:
                    futures.append(self._producer.send(self._topic, value, partition=partition))
            time.sleep(0.001)

    def stop(self) -> None:
        self._is_stopped = True
        self._thread.join()


def measure(place: Place) -> Figures:
    """Measure one round; a cluster can be used once."""
    properties = {
        "bootstrap.servers": place.bootstrap,
        "linger.ms": 0,
        "batch.size": 1000,
        "metadata.max.age.ms": 300_000,
        "max.block.ms": GIVE_UP_S * 1000,
    }
    producer = Producer(properties)
    producer.partitions_for(place.topic, 30)
    load = Load(producer, place.topic)
    try:
        time.sleep(2)
        before, began = sum(load.acknowledged), time.perf_counter()
        time.sleep(STEADY_S)
        rate = (sum(load.acknowledged) - before) / (time.perf_counter() - began)
        began = time.perf_counter()
        try:
            producer.partitions_for(place.new_topic, GIVE_UP_S)
            metadata_s = time.perf_counter() - began
        except KafkaError:
            metadata_s = float("inf")
        old = place.leader()
        place.kill_leader()
        began = time.perf_counter()
        while place.leader() in (old, -1) and time.perf_counter() - began < GIVE_UP_S:
            time.sleep(0.01)
        elected = time.perf_counter()
        time.sleep(0.1)  # what the dead broker has acknowledged is counted by then
        had = load.acknowledged[0]
        while load.acknowledged[0] == had and time.perf_counter() - elected < GIVE_UP_S:
            time.sleep(0.005)
        failover_s = time.perf_counter() - elected
        return Figures(rate, metadata_s, float("inf") if failover_s >= GIVE_UP_S else failover_s)
    finally:
        load.stop()
        producer.close(0)


@contextmanager
def sandbox() -> Iterator[Place]:
    """Three nodes that answer late; a dead one refuses connections and resets those it had."""
    settings = ClusterSettings(default_replication_factor=3)
    with Sandbox(nodes=3, topics={"load": PARTITIONS, "new": 1}, settings=settings).serve() as served:
        box = served.sandbox
        for node in (1, 2, 3):
            box.start_fault(node, Fault.DELAY, ms=ANSWER_MS)
        partitions = box.cluster.topics["load"].partitions

        def kill() -> None:
            dead = partitions[0].leader_id
            box.start_fault(dead, Fault.REFUSE)
            box.start_fault(dead, Fault.RESET_ON_REQUEST)
            for number, partition in partitions.items():
                if partition.leader_id == dead:
                    box.move_leader("load", number, dead % 3 + 1)

        yield Place(served.bootstrap, "new", kill, lambda: partitions[0].leader_id, "load")


@contextmanager
def kafka() -> Iterator[Place]:
    """Three brokers, one of which is killed."""
    with KafkaCluster(NEWEST_KAFKA, 3) as cluster:
        cluster.create_topic("load", partitions=PARTITIONS)
        cluster.create_topic("new")

        def leader() -> int:
            alive = next(node for node in cluster.nodes if node.process.is_running)
            return fetch_view(alive.ports["PLAINTEXT"], "load").leaders["load"][0]

        yield Place(cluster.bootstrap(), "new", lambda: cluster.leader("load", 0).kill(), leader, "load")


PLACES = {"sandbox": sandbox, "kafka": kafka}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=list(PLACES))
    parser.add_argument("--check", action="store_true", help="exit with 1 when a limit is exceeded")
    given = parser.parse_args()
    is_good = True
    for name in [given.only] if given.only else PLACES:
        rounds = []
        for _ in range(given.rounds):
            with PLACES[name]() as place:
                rounds.append(measure(place))
            print(name, *(f"{field} {value:.3f}" for field, value in rounds[-1]._asdict().items()), flush=True)
        rate = statistics.median(each.records_a_second for each in rounds)
        metadata_s = max(each.metadata_s for each in rounds)
        failover_s = max(each.failover_s for each in rounds)
        print(f"{name}: median {rate:.0f} records/s, longest metadata {metadata_s:.3f} s, failover {failover_s:.3f} s")
        is_good &= metadata_s <= METADATA_LIMIT_S and failover_s <= FAILOVER_LIMIT_S
    return int(given.check and not is_good)


if __name__ == "__main__":
    sys.exit(main())
