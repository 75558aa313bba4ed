"""Readers of the written records: one consumer during the run, and one of committed records after it."""

from collections.abc import Iterable
from typing import Any

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer, ConsumerRecord
from kctl.client.errors import KafkaError
from tests.sim.chaos_producer.actors import INPUT
from tests.sim.chaos_producer.producer_cluster import BOOTSTRAP, Phase, ProducerCluster, id_of
from tests.sim.virtual import sim_runtime

FRESH_LIMIT_MS = 60_000


def _properties(isolation: str) -> dict[str, object]:
    return {
        "bootstrap.servers": BOOTSTRAP,
        "auto.offset.reset": "earliest",
        "isolation.level": isolation,
        "metadata.max.age.ms": 1000,
        "request.timeout.ms": 1000,
    }


def read_along(world: ProducerCluster) -> None:
    """Read committed records during the run, and record each with its time."""
    consumer = Consumer(_properties("read_committed"), sim_runtime(world.hub, "reader", world.network, world.resolver))
    owned: list[TopicPartition] = []
    while world.phase is not Phase.OVER:
        try:
            if owned != world.partitions("t"):
                owned = world.partitions("t")
                consumer.assign(owned)
            records = consumer.poll(0.5)
        except KafkaError:
            world.hub.sleep_ms(100)
            continue
        if records:
            world.history.event("reader", "seen", _plain(records))
    consumer.close(5)


def read_at_the_end(world: ProducerCluster) -> None:
    """Read the entire log with a new consumer, and the committed offsets of groups."""
    for isolation in ("read_uncommitted", "read_committed"):
        runtime = sim_runtime(world.hub, "fresh", world.network, world.resolver)
        with Consumer(_properties(isolation), runtime) as consumer:
            limit_ms = world.hub.now_ms + FRESH_LIMIT_MS
            found: list[ConsumerRecord] = []
            partitions = world.partitions("t")
            why = ""
            try:
                consumer.assign(partitions)
                while any(consumer.position(tp) < world.end(tp) for tp in partitions):
                    if world.hub.now_ms >= limit_ms:
                        why = "the end is not reached"
                        break
                    found += consumer.poll(1)
            except KafkaError as error:
                why = repr(error)
            value = {"isolation": isolation, "records": _plain(found), "wrong": _wrong(world, found), "why_not": why}
            world.history.event("fresh", "read", value)
    for transactional_id in world.plan.transactional_ids:
        properties = {"bootstrap.servers": BOOTSTRAP, "group.id": transactional_id}
        with Consumer(properties, sim_runtime(world.hub, "fresh", world.network, world.resolver)) as consumer:
            committed = consumer.committed([INPUT], 20)[INPUT]
        offset = None if committed is None else committed.offset
        world.history.event("fresh", "committed", [transactional_id, offset])


def _plain(records: Iterable[ConsumerRecord]) -> list[list[Any]]:
    return [[record.partition, record.offset, id_of(record.value)] for record in records]


def _wrong(world: ProducerCluster, records: Iterable[ConsumerRecord]) -> list[str]:
    """Return records that differ from the arguments of `send`."""
    wrong: list[str] = []
    for record in records:
        sent = world.sent.get(id_of(record.value))
        if sent is None:
            wrong.append(f"{record.partition}:{record.offset} is {record.value!r}, which nobody sent")
            continue
        if sent.partition not in (None, record.partition):
            wrong.append(f"{id_of(record.value)}: partition {record.partition}, sent to {sent.partition}")
        given = (sent.key, list(sent.headers), sent.timestamp_ms)
        found = (record.key, list(record.headers), record.timestamp_ms)
        if given != found:
            wrong.append(f"{id_of(record.value)}: {found}, sent as {given}")
    return wrong[:5]
