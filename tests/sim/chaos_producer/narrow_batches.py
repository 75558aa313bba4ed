"""Narrow batches: after a run a topic refuses the batches of a producer for a moment, and then takes them again.

The limit is in no response, so the producer learns it, and has to learn as well that it is gone.
"""

from random import Random

from kctl.client.producer import Producer
from kctl.sandbox.cluster import Topic
from tests.sim.chaos.history import CLUSTER
from tests.sim.chaos_producer.producer_cluster import BOOTSTRAP, ProducerCluster
from tests.sim.virtual import sim_runtime

NARROW = "narrow"
RECORD_BYTES = 90
FEW, MANY = 60, 2000
MOST_BATCHES = 64
"""Maximum batches for MANY records, with a minimum of 16: the learned limit of a producer grows with success."""


def narrow(world: ProducerCluster) -> None:
    """Play it, and write down how many batches carry the records that are sent afterwards."""
    rng = world.hub.rng("narrow batches")
    topic = world.sandbox.cluster.create_topic(NARROW, 1)
    producer = Producer(_properties(rng), sim_runtime(world.hub, "narrow", world.network, world.resolver))
    _send(producer, FEW)
    before_bytes = _allow(topic, rng.choice([200, 400, 1200]))
    _send(producer, FEW)
    _allow(topic, before_bytes)
    before = producer.metrics()
    _send(producer, MANY)
    after = producer.metrics()
    producer.close(60)
    sent = {
        "records": after.records_delivered - before.records_delivered,
        "batches": after.batches_sent - before.batches_sent,
    }
    world.history.event(CLUSTER, "narrow", sent | {"wanted": MANY, "most": MOST_BATCHES})


def _properties(rng: Random) -> dict[str, object]:
    return {
        "bootstrap.servers": BOOTSTRAP,
        "linger.ms": 5,
        "enable.idempotence": rng.choice(["true", "false"]),
        "max.in.flight.requests.per.connection": rng.choice([1, 2, 5]),
    }


def _send(producer: Producer, count: int) -> None:
    for _ in range(count):
        producer.send(NARROW, bytes(RECORD_BYTES), partition=0)
    producer.flush(60)


def _allow(topic: Topic, most_bytes: int) -> int:
    """Let the topic take batches of so many bytes at most; return how many it took before."""
    log = topic.partitions[0].log
    before_bytes = log.settings.max_message_bytes
    log.settings = log.settings._replace(max_message_bytes=most_bytes)
    return before_bytes
