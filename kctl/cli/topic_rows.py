"""Rows and filters of `kctl topics list` and `describe`.

Under-replicated partitions have fewer in-sync replicas than replicas. Offline partitions have no leader.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kctl.cli.formats.listing import Listing
from kctl.cli.formats.rows import Row
from kctl.client.admin import LogDir, TopicListing
from kctl.client.cluster import NO_NODE, PartitionInfo, TopicId, TopicInfo

LIST_COLUMNS = (
    "topic", "partitions", "replication_factor", "under_replicated", "offline", "internal", "topic_id",
)  # fmt: skip
DESCRIBE_COLUMNS = (
    "topic", "partition", "leader", "leader_epoch", "replicas", "in_sync", "offline_replicas", "error",
)  # fmt: skip


class Health(NamedTuple):
    """Filter of partitions. Without a flag, it selects all."""

    under_replicated: bool = False
    offline: bool = False

    @property
    def is_any(self) -> bool:
        return self.under_replicated or self.offline

    def holds_for(self, partition: PartitionInfo) -> bool:
        return (
            not self.is_any
            or (self.under_replicated and is_under_replicated(partition))
            or (self.offline and is_offline(partition))
        )


def is_under_replicated(partition: PartitionInfo) -> bool:
    return len(partition.isr) < len(partition.replicas)


def is_offline(partition: PartitionInfo) -> bool:
    return partition.leader_id == NO_NODE


def topic_sizes(folders: Iterable[Sequence[LogDir]]) -> Counter[str]:
    """Return the size of all replicas of each topic, from the log directories of brokers."""
    sizes: Counter[str] = Counter()
    for of_broker in folders:
        for folder in of_broker:
            for tp, size in folder.replica_bytes.items():
                sizes[tp.topic] += size
    return sizes


def _list_row(topic: TopicListing) -> Row:
    partitions = topic.partitions.values()
    return {
        "topic": topic.name,
        "partitions": len(partitions),
        "replication_factor": max((len(each.replicas) for each in partitions), default=None),
        "under_replicated": sum(map(is_under_replicated, partitions)),
        "offline": sum(map(is_offline, partitions)),
        "internal": topic.is_internal,
        "topic_id": id_text(topic.topic_id),
    }


def list_listing(
    topics: Iterable[TopicListing], health: Health, *, internal: bool, sizes: Mapping[str, int] | None = None
) -> Listing:
    """Return a row for each topic that has a selected partition, with its size if `sizes` is given."""
    rows: list[Row] = []
    for topic in topics:
        if health.is_any and not any(map(health.holds_for, topic.partitions.values())):
            continue
        row = _list_row(topic)
        rows.append(row if sizes is None else {**row, "size_bytes": sizes.get(topic.name, 0)})
    shown = [name for name in LIST_COLUMNS if name != "topic_id" and (internal or name != "internal")]
    if sizes is None:
        return Listing("topics", LIST_COLUMNS, rows, shown=shown)
    return Listing("topics", (*LIST_COLUMNS, "size_bytes"), rows, shown=[*shown, "size_bytes"])


def describe_listing(topics: Iterable[TopicInfo], health: Health) -> Listing:
    rows = [row for topic in topics for row in _partition_rows(topic, health)]
    return Listing("partitions", DESCRIBE_COLUMNS, rows)


def _partition_rows(topic: TopicInfo, health: Health) -> Iterator[Row]:
    for info in topic.partitions.values():
        if health.holds_for(info):
            yield {
                "topic": topic.name,
                "partition": info.partition,
                "leader": None if is_offline(info) else info.leader_id,
                "leader_epoch": count_of(info.leader_epoch),
                "replicas": list(info.replicas),
                "in_sync": list(info.isr),
                "offline_replicas": list(info.offline_replicas),
                "error": None if info.error is None else info.error.name,
            }


def id_text(topic_id: bytes) -> str | None:
    """Return a topic ID in the notation of Kafka's tools, or None if the broker does not report an ID."""
    return str(TopicId(topic_id)) or None


def count_of(number: int) -> int | None:
    return None if number < 0 else number
