"""Groups on a sandbox for the tests of `kctl groups`: what was committed, who is in them, what is in the topics."""

from collections.abc import Mapping

from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.producer import Producer
from tests.support.kafka.waiting import wait_until

WAIT_MS = 20_000


def fill(bootstrap: str, topic: str, counts: Mapping[int, int], first_ms: int = 1_700_000_000_000) -> None:
    """Put so many records into each partition, a second apart."""
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        for partition, count in counts.items():
            for number in range(count):
                producer.send(topic, b"%d" % number, partition=partition, timestamp_ms=first_ms + number * 1000)


def commit(bootstrap: str, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
    """Leave a group that has committed these offsets and has no members."""
    with Admin({"bootstrap.servers": bootstrap}) as admin:
        admin.alter_group_offsets(
            group, {TopicPartition(*key): offset for key, offset in offsets.items()}
        ).raise_first()


def committed(bootstrap: str, group: str) -> dict[tuple[str, int], int]:
    """Return what a group has committed."""
    with Admin({"bootstrap.servers": bootstrap}) as admin:
        found = admin.list_group_offsets(group)
    return {(tp.topic, tp.partition): offset.offset for tp, offset in found.done.items() if offset is not None}


def join(bootstrap: str, group: str, topic: str, **properties: object) -> Consumer:
    """Return a member that has its share."""
    given = {name.replace("_", "."): value for name, value in properties.items()}
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False, **given})
    consumer.subscribe([topic])

    def has_share() -> bool:
        consumer.poll(0.05)
        return bool(consumer.assignment)

    wait_until(has_share, WAIT_MS, "a share")
    return consumer
