"""Where the cluster keeps a group: the partition of __consumer_offsets by the group's name, as Java computes it."""

from itertools import count

from tests.conformance.foreign.group_view import GroupView
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster, KafkaNode
from tests.support.kafka.waiting import wait_until

OFFSETS = "__consumer_offsets"
PARTITIONS = 10
"""How many the brokers of the tests have; see server_properties.py."""


def partition_of(group: str) -> int:
    """Return the partition of __consumer_offsets that has this group (Java's String.hashCode)."""
    digest = 0
    for letter in group:
        digest = (31 * digest + ord(letter)) & 0xFFFFFFFF
    return abs(digest - (1 << 32) if digest >= 1 << 31 else digest) % PARTITIONS


def group_in(partition: int, name: str) -> str:
    """Return a group whose name starts so and that is kept in that partition."""
    return next(group for each in count() if partition_of(group := f"{name}-{each}") == partition)


def coordinator(kafka: KafkaCluster, partition: int) -> KafkaNode:
    """Return the node that coordinates the groups of a partition, once there is one."""
    with GroupView(kafka.bootstrap()) as view:
        view.committed(group_in(partition, "any"), "none", 1)  # makes __consumer_offsets where there is none

    def is_led() -> bool:
        try:
            return kafka.leader(OFFSETS, partition) is not None
        except (KeyError, IndexError):
            return False

    wait_until(is_led, bound(30_000), f"a leader of {OFFSETS}-{partition}")
    return kafka.leader(OFFSETS, partition)
