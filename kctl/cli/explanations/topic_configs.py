"""Descriptions of topic configs that are not client properties."""

from kctl.cli.explanations.page import Page
from kctl.client.config import TOPIC_PROPERTIES
from kctl.grammar.durations import show_duration
from kctl.grammar.sizes import show_size

_MOST = 2**63 - 1

TOPIC_CONFIGS: dict[str, str] = {
    "cleanup.policy": "What happens to old records: delete removes them by age and size, compact keeps the newest of "
    "each key, and both may be set.",
    "compression.type": "How the broker stores batches: producer keeps them as they arrive; with another value, such "
    "as zstd or uncompressed, it rewrites those that arrive otherwise.",
    "delete.retention.ms": "How long a compacted topic keeps tombstones, which show consumers that a key was deleted.",
    "file.delete.delay.ms": "How long the broker waits before it removes the file of a deleted segment.",
    "flush.messages": "Number of records after which the broker forces them to disk; Kafka relies on replicas instead.",
    "flush.ms": "Time after which the broker forces records to disk; Kafka relies on replicas instead.",
    "follower.replication.throttled.replicas": "Replicas that read from the leader throttled, as PARTITION:BROKER; set "
    "while partitions are moved.",
    "index.interval.bytes": "Bytes of records between two entries of the offset index.",
    "leader.replication.throttled.replicas": "Replicas that the leader serves throttled, as PARTITION:BROKER; set "
    "while partitions are moved.",
    "local.retention.bytes": "Size that stays on the broker's disk with tiered storage; -2 is retention.bytes.",
    "local.retention.ms": "Time that records stay on the broker's disk with tiered storage; -2 is retention.ms.",
    "max.compaction.lag.ms": "Longest time that a record may stay uncompacted.",
    "max.message.bytes": "Largest batch of records that the broker accepts, after compression. A larger one is refused "
    "with MESSAGE_TOO_LARGE.",
    "message.timestamp.after.max.ms": "How far ahead of the broker's clock the timestamp of a record may be.",
    "message.timestamp.before.max.ms": "How far behind the broker's clock the timestamp of a record may be.",
    "message.timestamp.type": "CreateTime keeps the producer's timestamp, LogAppendTime sets the broker's on arrival.",
    "min.cleanable.dirty.ratio": "Share of the log that must be uncompacted before compaction starts.",
    "min.compaction.lag.ms": "Shortest time that a record stays uncompacted.",
    "min.insync.replicas": "Replicas that must be in sync for acks=all to succeed; with fewer the broker refuses with "
    "NOT_ENOUGH_REPLICAS.",
    "preallocate": "Whether the broker allocates the file of a new segment immediately.",
    "remote.log.copy.disable": "Whether a topic with tiered storage copies no further segments.",
    "remote.log.delete.on.disable": "Whether segments in tiered storage are deleted when it is switched off.",
    "remote.storage.enable": "Whether the topic uses tiered storage.",
    "retention.bytes": "Size of a partition above which its oldest segments are deleted; -1 is unlimited.",
    "retention.ms": "Age at which records may be deleted; -1 keeps them for ever. A whole segment is deleted at a "
    "time, when its newest record is that old, so records often live longer.",
    "segment.bytes": "Size at which a new segment of the log is started.",
    "segment.index.bytes": "Size of the offset index of a segment.",
    "segment.jitter.ms": "Maximum random time subtracted from segment.ms, so that segments do not roll simultaneously.",
    "segment.ms": "Time after which a new segment is started even if it is not full.",
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
