"""A producer that fills every in-flight slot of every broker still learns of new topics and of new leaders."""

from collections import deque

import pytest

from kctl.client.errors import MaxBlockTimeout
from kctl.client.producer import Producer, SendFuture
from kctl.sandbox import ClusterSettings, Fault
from kctl.sandbox.quotas import Quota
from tests.sim.kit import SimCluster, run
from tests.sim.virtual import LinkFault

ANSWER_MS = 50
PARTITIONS = 6
WAITING = 40
SATURATED = {"linger.ms": 0, "batch.size": 0, "metadata.max.age.ms": 300_000}
TOPICS = {"t": PARTITIONS}


class Load:
    """An application that keeps many batches of each partition waiting, until it is stopped."""

    def __init__(self, cluster: SimCluster, producer: Producer) -> None:
        self._world = cluster
        self._producer = producer
        self._is_stopped = False
        cluster.hub.spawn("load", self._fill)

    def _fill(self) -> None:
        waiting: dict[int, deque[SendFuture]] = {partition: deque() for partition in range(PARTITIONS)}
        while not self._is_stopped:
            for partition, futures in waiting.items():
                while futures and futures[0].done():
                    futures.popleft()
                while len(futures) < WAITING:
                    futures.append(self._producer.send("t", bytes(100), partition=partition))
            self._world.hub.sleep_ms(10)

    def stop(self, cluster: SimCluster) -> None:
        self._is_stopped = True
        cluster.sandbox.heal()
        cluster.hub.sleep_ms(1000)
        self._producer.flush()
        self._producer.close()


def saturate(cluster: SimCluster, properties: dict[str, object] | None = None) -> tuple[Producer, Load]:
    """Return a producer with five requests in flight to each broker; free slots are used immediately."""
    for node in (1, 2, 3):
        cluster.sandbox.start_fault(node, Fault.DELAY, ms=ANSWER_MS)
    producer = cluster.producer({**SATURATED, **(properties or {})})
    producer.partitions_for("t")
    load = Load(cluster, producer)
    cluster.hub.sleep_ms(2000)
    assert producer.metrics().batches_in_flight >= 15
    return producer, load


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("idempotent", ["true", "false"])
def test_metadata_of_a_new_topic_comes_within_a_second(seed: int, idempotent: str) -> None:
    def app(cluster: SimCluster) -> None:
        producer, load = saturate(cluster, {"enable.idempotence": idempotent})
        start_ms = cluster.hub.now_ms
        assert len(producer.partitions_for("new", 15)) == 2
        assert cluster.hub.now_ms - start_ms <= 1000
        load.stop(cluster)

    run(app, topics={**TOPICS, "new": 2}, seed=seed)


@pytest.mark.parametrize("seed", range(5))
def test_records_reach_the_new_leader_of_a_broker_that_died_within_two_seconds(seed: int) -> None:
    def app(cluster: SimCluster) -> None:
        _, load = saturate(cluster)
        dead = cluster.leader(0)
        for connection in cluster.network.connections_of(ip=f"10.0.0.{dead}"):
            connection.cut()
        cluster.network.faults.start(LinkFault.REFUSE, ip=f"10.0.0.{dead}")
        for partition in range(PARTITIONS):
            if cluster.leader(partition) == dead:
                cluster.sandbox.move_leader("t", partition, dead % 3 + 1)
        moved_ms = cluster.hub.now_ms
        before = len(cluster.records(0))
        while len(cluster.records(0)) == before:
            cluster.hub.sleep_ms(10)
            assert cluster.hub.now_ms - moved_ms <= 2000
        load.stop(cluster)

    run(app, topics=TOPICS, seed=seed, settings=ClusterSettings(default_replication_factor=3))


def test_throttled_brokers_are_asked_nothing_until_they_allow_it() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"linger.ms": 0, "request.timeout.ms": 5000})
        producer.send("t", b"first").result()
        cluster.sandbox.limit(Quota.PRODUCE, 1000)
        futures = [producer.send("t", bytes(1000)) for _ in range(20)]
        for future in futures[:2]:
            future.result()
        with pytest.raises(MaxBlockTimeout):
            producer.partitions_for("new", 0.5)
        producer.flush()
        producer.close()

    run(app, topics={"t": 1, "new": 1}, nodes=1)
