"""What a broker of the sandbox is configured to; the names are Kafka's broker and topic properties.

Shown by tests/unit/sandbox/test_topics.py.
"""

from typing import NamedTuple


class ClusterSettings(NamedTuple):
    """Broker properties that the sandbox knows; the defaults are Kafka's unless said."""

    auto_create_topics_enable: bool = True
    num_partitions: int = 1
    default_replication_factor: int = 1
    message_max_bytes: int = 1_048_588
    min_insync_replicas: int = 1
    replica_lag_time_max_ms: int = 30_000
    replication_delay_ms: int = 0
    """How much later than the leader followers have a record: the milliseconds that Kafka takes to copy it."""
    socket_request_max_bytes: int = 104_857_600
    cluster_id: str = "kctl-sandbox-000000000"
    group_initial_rebalance_delay_ms: int = 0
    """Kafka's default is 3000: time for more members to join a new classic group."""
    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_heartbeat_interval_ms: int = 5_000
    max_incremental_fetch_session_cache_slots: int = 1_000
    replica_selector_class: str = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    """Kafka's default is none: consumers are never sent to a follower. Any other text stands for that here."""
    offset_metadata_max_bytes: int = 4_096
    group_version: int = 1
    """The feature group.version: 0 switches the consumer protocol (KIP-848) off."""
    transaction_version: int = 2
    """The feature transaction.version: below 2 an epoch lasts longer than a transaction (before KIP-890)."""
    transaction_max_timeout_ms: int = 900_000
    transaction_marker_delay_ms: int = 0
    """How long a decided transaction stays incomplete: the milliseconds that Kafka takes to write its markers.

    They are written one after the other: records may count before the offsets that belong to them do."""
    connections_max_reauth_ms: int = 0
    """How long an authentication is good for (KIP-368); 0 means for as long as the connection."""


TOPIC_PROPERTIES = frozenset(
    {
        "cleanup.policy",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.type",
        "compression.zstd.level",
        "delete.retention.ms",
        "file.delete.delay.ms",
        "flush.messages",
        "flush.ms",
        "follower.replication.throttled.replicas",
        "index.interval.bytes",
        "leader.replication.throttled.replicas",
        "local.retention.bytes",
        "local.retention.ms",
        "max.compaction.lag.ms",
        "max.message.bytes",
        "message.timestamp.after.max.ms",
        "message.timestamp.before.max.ms",
        "message.timestamp.type",
        "min.cleanable.dirty.ratio",
        "min.compaction.lag.ms",
        "min.insync.replicas",
        "preallocate",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "remote.storage.enable",
        "retention.bytes",
        "retention.ms",
        "segment.bytes",
        "segment.index.bytes",
        "segment.jitter.ms",
        "segment.ms",
        "unclean.leader.election.enable",
    }
)
"""Every property a topic may be created with. Those that `TopicSettings` lacks are kept and have no effect."""


class TopicSettings(NamedTuple):
    """Topic properties that have an effect here."""

    max_message_bytes: int
    is_log_append_time: bool = False
    min_insync_replicas: int = 1
    timestamp_after_max_ms: int = 3_600_000
    """How far ahead of the broker's clock a record's timestamp may be."""


class InvalidSetting(Exception):
    """A topic property is unknown or has an impossible value; the text names it."""


def topic_settings(properties: dict[str, str], cluster: ClusterSettings) -> TopicSettings:
    """Return what `properties` of a topic amount to.

    Raises:
        InvalidSetting: unknown property, or a value it cannot have.
    """
    for name in properties:
        if name not in TOPIC_PROPERTIES:
            raise InvalidSetting(f"Unknown topic config name: {name}")
    kind = properties.get("message.timestamp.type", "CreateTime")
    if kind not in ("CreateTime", "LogAppendTime"):
        raise InvalidSetting(f"message.timestamp.type must be CreateTime or LogAppendTime, not {kind!r}")
    return TopicSettings(
        max_message_bytes=_whole(properties, "max.message.bytes", cluster.message_max_bytes),
        is_log_append_time=kind == "LogAppendTime",
        min_insync_replicas=_whole(properties, "min.insync.replicas", cluster.min_insync_replicas),
        timestamp_after_max_ms=_whole(properties, "message.timestamp.after.max.ms", 3_600_000),
    )


def _whole(properties: dict[str, str], name: str, default: int) -> int:
    text = properties.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        raise InvalidSetting(f"{name} must be a number of at least 0, not {text!r}")
    return int(text)
