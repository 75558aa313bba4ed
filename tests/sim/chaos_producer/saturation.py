"""Saturation: after a run, a producer uses every in-flight slot; then a topic appears, or a leader dies or freezes.

All brokers are healthy but slow, so the bounds are exact. A dead or frozen leader cannot return the new leader
(KIP-951): only metadata does.
"""

from collections import deque
from random import Random

from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.producer import Producer, SendFuture
from kctl.sandbox import Fault
from tests.sim.chaos.history import CLUSTER
from tests.sim.chaos.plan import NODES
from tests.sim.chaos_producer.producer_cluster import BOOTSTRAP, ProducerCluster
from tests.sim.virtual import LinkFault, sim_runtime

STORIES = ("topic", "died", "frozen")
METADATA_LIMIT_MS = 1000
FAILOVER_LIMIT_MS = 2000
REQUEST_MS = 1000
"""request.timeout.ms: what a frozen leader costs at most."""
BUSY, NEW = "busy", "new"
PARTITIONS = 6
WAITING = 30
FULL_MS = 1500


class Load:
    """Keeps records of each partition waiting until it is stopped; which brokers take them does not matter."""

    def __init__(self, world: ProducerCluster, producer: Producer) -> None:
        self._world = world
        self._producer = producer
        self.is_stopped = False
        self.refused: KafkaError | None = None
        """Why a record was not delivered."""

    def __call__(self) -> None:
        waiting: list[deque[SendFuture]] = [deque() for _ in range(PARTITIONS)]
        while not self.is_stopped:
            for partition, futures in enumerate(waiting):
                while futures and futures[0].done():
                    error = futures.popleft().exception(0)
                    self.refused = self.refused or error
                while len(futures) < WAITING and not self.is_stopped:
                    futures.append(self._producer.send(BUSY, bytes(50), partition=partition))
            self._world.hub.sleep_ms(10)


def saturate(world: ProducerCluster) -> None:
    """Play one of the stories and write down how long the producer took."""
    hub, rng = world.hub, world.hub.rng("saturation")
    story = rng.choice(STORIES)
    for topic, count in ((BUSY, PARTITIONS), (NEW, 1)):
        world.sandbox.cluster.create_topic(topic, count)
    for node in range(1, NODES + 1):
        world.sandbox.start_fault(node, Fault.DELAY, ms=rng.choice([5, 20, 50]))
    properties = _properties(rng)
    if story == "frozen":  # with acks=all, every leader waits for the frozen follower
        properties |= {"acks": "1", "enable.idempotence": "false"}
    producer = Producer(properties, sim_runtime(hub, "busy", world.network, world.resolver))
    producer.partitions_for(BUSY, 10)
    load = Load(world, producer)
    hub.spawn("load", load)
    hub.sleep_ms(FULL_MS)
    if story == "topic":
        limit_ms = METADATA_LIMIT_MS
        took_ms = _learn_topic(world, producer)
    else:
        limit_ms = FAILOVER_LIMIT_MS + (REQUEST_MS if story == "frozen" else 0)
        took_ms = _fail_over(world, rng.randint(1, NODES), limit_ms, is_frozen=story == "frozen")
    world.history.event(CLUSTER, "saturated", {"story": story, "took_ms": took_ms, "limit_ms": limit_ms})
    load.is_stopped = True
    world.network.faults.heal()
    world.sandbox.heal()
    producer.close(60)
    if load.refused is not None:
        world.history.event(CLUSTER, "saturated", {"story": story, "error": repr(load.refused)})


def _properties(rng: Random) -> dict[str, object]:
    return {
        "bootstrap.servers": BOOTSTRAP,
        "batch.size": 0,
        "enable.idempotence": rng.choice(["true", "false"]),
        "max.in.flight.requests.per.connection": rng.choice([1, 2, 5, 5]),
        "request.timeout.ms": REQUEST_MS,
        "metadata.max.age.ms": 300_000,
    }


def _learn_topic(world: ProducerCluster, producer: Producer) -> int:
    began_ms = world.hub.now_ms
    try:
        producer.partitions_for(NEW, 10)
    except KafkaError:
        return 10_000
    return world.hub.now_ms - began_ms


def _fail_over(world: ProducerCluster, node: int, limit_ms: int, *, is_frozen: bool) -> int:
    """Stop or freeze a broker. Return the time at which each of its partitions has grown under a new leader."""
    ip = f"10.0.0.{node}"
    if is_frozen:
        world.sandbox.start_fault(node, Fault.FREEZE)
    else:
        for connection in world.network.connections_of(ip=ip):
            connection.cut()
        world.network.faults.start(LinkFault.REFUSE, ip=ip)
    moved = [tp for tp in world.partitions(BUSY) if world.partition(tp).leader_id == node]
    for tp in moved:
        world.elect(tp, node % NODES + 1)
    ends = {tp: world.end(tp) for tp in moved}
    began_ms = world.hub.now_ms

    def has_grown(tp: TopicPartition) -> bool:
        return world.end(tp) > ends[tp]

    while not all(map(has_grown, moved)) and world.hub.now_ms - began_ms <= 2 * limit_ms:
        world.hub.sleep_ms(10)
    return world.hub.now_ms - began_ms
