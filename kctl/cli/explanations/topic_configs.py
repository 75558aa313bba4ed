"""Descriptions of topic configs that are not client properties."""

from kctl.cli.explanations.page import Page
from kctl.client.config import TOPIC_PROPERTIES
from kctl.grammar.durations import show_duration
from kctl.grammar.sizes import show_size

_MOST = 2**63 - 1

TOPIC_CONFIGS: dict[str, str] = {
    "cleanup.policy": (
        "Policy for old records: delete removes them by age and size, compact keeps the newest record of each "
        "key. Both can be set."
    ),
    "compression.type": (
        "Compression codec of stored batches. With 'producer', brokers keep batches unchanged. With other values, such "
        "as zstd or uncompressed, the broker recompresses batches that have another codec."
    ),
    "delete.retention.ms": "Time that a compacted topic keeps tombstones, which show consumers that a key was deleted.",
    "file.delete.delay.ms": "Time that the broker waits before it removes the file of a deleted segment.",
    "flush.messages": (
        "Number of records after which the broker flushes the log to disk. By default, Kafka relies on replication "
        "instead."
    ),
    "flush.ms": "Time after which the broker flushes the log to disk. By default, Kafka relies on replication instead.",
    "follower.replication.throttled.replicas": (
        "Follower replicas with throttled replication, as PARTITION:BROKER. Tools set this config while they move "
        "partitions."
    ),
    "index.interval.bytes": "Bytes of records between two entries of the offset index.",
    "leader.replication.throttled.replicas": (
        "Leader replicas with throttled replication, as PARTITION:BROKER. Tools set this config while they move "
        "partitions."
    ),
    "local.retention.bytes": (
        "Maximum size of a partition on the broker's disk with tiered storage. -2 uses retention.bytes."
    ),
    "local.retention.ms": "Time that records stay on the broker's disk with tiered storage. -2 uses retention.ms.",
    "max.compaction.lag.ms": "Maximum time that a record may stay uncompacted.",
    "max.message.bytes": (
        "Maximum size of a record batch after compression. The broker rejects larger batches with MESSAGE_TOO_LARGE."
    ),
    "message.timestamp.after.max.ms": "Maximum time that the timestamp of a record may be ahead of the broker's clock.",
    "message.timestamp.before.max.ms": "Maximum time that the timestamp of a record may be behind the broker's clock.",
    "message.timestamp.type": (
        "Type of record timestamps: CreateTime keeps the producer's timestamp, and LogAppendTime sets the broker's "
        "time of arrival."
    ),
    "min.cleanable.dirty.ratio": "Minimum ratio of uncompacted records to the log size for compaction to start.",
    "min.compaction.lag.ms": "Minimum time that a record stays uncompacted.",
    "min.insync.replicas": (
        "Minimum number of in-sync replicas for acks=all. With fewer, the broker rejects records with "
        "NOT_ENOUGH_REPLICAS."
    ),
    "preallocate": "Whether the broker allocates the full size of new segment files in advance.",
    "remote.log.copy.disable": "Whether a topic with tiered storage stops copying segments to tiered storage.",
    "remote.log.delete.on.disable": (
        "Whether segments in tiered storage are deleted when tiered storage is disabled for the topic."
    ),
    "remote.storage.enable": "Whether the topic uses tiered storage.",
    "retention.bytes": "Size of a partition above which its oldest segments are deleted. -1 sets no limit.",
    "retention.ms": (
        "Age at which records may be deleted. -1 keeps records forever. Kafka deletes a whole segment when its "
        "newest record reaches this age, so records often live longer."
    ),
    "segment.bytes": "Size at which a new log segment is started.",
    "segment.index.bytes": "Size of the offset index of a segment.",
    "segment.jitter.ms": "Maximum random time subtracted from segment.ms, so that segments do not roll simultaneously.",
    "segment.ms": "Time after which a new segment is started, even if the current segment is not full.",
    "unclean.leader.election.enable": "Whether a replica that is not in sync may become leader, which loses records.",
}


def topic_config_page(name: str) -> Page:
    default = TOPIC_PROPERTIES[name]
    readable = _readable(name, default)
    shown = f"{default} ({readable})" if readable else default or "none"
    facts = (
        ("default", shown),
        ("see it", "kctl topics describe TOPIC --configs"),
        ("set it", f"kctl topics alter TOPIC --config {name}=VALUE"),
    )
    return Page("topic config", name, f"topic config {name}", (TOPIC_CONFIGS[name],), facts=facts)


def _readable(name: str, default: str) -> str:
    number = int(default) if default.isdecimal() else 0
    if number == _MOST:
        return "unlimited"
    if number and name.endswith(".ms"):
        return show_duration(number)
    return show_size(number) if number and name.endswith(".bytes") else ""
