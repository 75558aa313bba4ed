"""What a broker of the sandbox is configured to; the names are Kafka's broker and topic properties.

Shown by tests/unit/sandbox/test_topics.py.
"""

import re
from collections.abc import Mapping
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
    reassignment_ms: int = 200
    """How long a moved partition is copied."""
    metadata_delay_ms: int = 0
    """How much later than the controller brokers know the replicas of a partition."""
    transaction_marker_delay_ms: int = 0
    """How long a decided transaction stays incomplete: the milliseconds that Kafka takes to write its markers.

    They are written one after the other: records may count before the offsets that belong to them do."""
    authorizer: bool = False
    """Whether ACL rules decide who may do what: authorizer.class.name is Kafka's StandardAuthorizer."""
    super_users: tuple[str, ...] = ()
    """Principals that may do everything, such as User:admin."""
    allow_everyone_if_no_acl_found: bool = False
    connections_max_reauth_ms: int = 0
    """How long an authentication is good for (KIP-368); 0 means for as long as the connection."""


NO_PROPERTIES = frozenset(
    {"cluster_id", "group_version", "transaction_version", "replication_delay_ms", "transaction_marker_delay_ms"}
)
"""Settings that no broker property of Kafka stands for."""


def with_properties(settings: ClusterSettings, properties: Mapping[str, str]) -> ClusterSettings:
    """Return settings with broker properties by Kafka's names.

    Raises:
        InvalidSetting: one is unknown here, or has an impossible value.
    """
    known = {name.replace("_", "."): name for name in settings._fields if name not in NO_PROPERTIES}
    changed: dict[str, object] = {}
    for key, text in properties.items():
        name = known.get(key)
        if name is None:
            raise InvalidSetting(f"no broker property {key} here; there are {', '.join(sorted(known))}")
        default = getattr(settings, name)
        if isinstance(default, bool):
            if text not in ("true", "false"):
                raise InvalidSetting(f"{key} must be true or false, not {text!r}")
            changed[name] = text == "true"
        elif isinstance(default, int):
            changed[name] = _whole({key: text}, key, 0)
        elif isinstance(default, str):
            changed[name] = text
        else:
            raise InvalidSetting(f"{key} is set by an option of its own")
    return settings._replace(**changed)  # type: ignore[arg-type]


TOPIC_PROPERTIES: dict[str, str] = {
    "cleanup.policy": "delete",
    "compression.gzip.level": "-1",
    "compression.lz4.level": "9",
    "compression.type": "producer",
    "compression.zstd.level": "3",
    "delete.retention.ms": "86400000",
    "file.delete.delay.ms": "60000",
    "flush.messages": "9223372036854775807",
    "flush.ms": "9223372036854775807",
    "follower.replication.throttled.replicas": "",
    "index.interval.bytes": "4096",
    "leader.replication.throttled.replicas": "",
    "local.retention.bytes": "-2",
    "local.retention.ms": "-2",
    "max.compaction.lag.ms": "9223372036854775807",
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": "9223372036854775807",
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "min.insync.replicas": "1",
    "preallocate": "false",
    "remote.log.copy.disable": "false",
    "remote.log.delete.on.disable": "false",
    "remote.storage.enable": "false",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.index.bytes": "10485760",
    "segment.jitter.ms": "0",
    "segment.ms": "604800000",
    "unclean.leader.election.enable": "false",
}
"""Every property a topic may have, with Kafka's default. Those that `TopicSettings` lacks have no effect."""


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
        check_number(name, properties[name], TOPIC_PROPERTIES[name])
    kind = properties.get("message.timestamp.type", "CreateTime")
    if kind not in ("CreateTime", "LogAppendTime"):
        raise InvalidSetting(f"message.timestamp.type must be CreateTime or LogAppendTime, not {kind!r}")
    return TopicSettings(
        max_message_bytes=_whole(properties, "max.message.bytes", cluster.message_max_bytes),
        is_log_append_time=kind == "LogAppendTime",
        min_insync_replicas=_whole(properties, "min.insync.replicas", cluster.min_insync_replicas),
        timestamp_after_max_ms=_whole(properties, "message.timestamp.after.max.ms", 3_600_000),
    )


def check_number(name: str, value: str, default: str) -> None:
    """Raise InvalidSetting where a property whose default is a whole number has another value than one."""
    if re.fullmatch(r"-?\d+", default) and not re.fullmatch(r"[-+]?\d{1,19}", value, re.ASCII):
        raise InvalidSetting(f"Invalid value {value} for configuration {name}: Not a number of type LONG")


def _whole(properties: dict[str, str], name: str, default: int) -> int:
    text = properties.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        raise InvalidSetting(f"{name} must be a number of at least 0, not {text!r}")
    return int(text)
