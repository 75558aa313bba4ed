"""Settings of a sandbox cluster and of topics, named after Kafka's broker and topic properties."""

import re
from collections.abc import Container, Mapping
from typing import NamedTuple

from kctl.client.config import TOPIC_PROPERTIES


class ClusterSettings(NamedTuple):
    """Supported broker properties, with Kafka's defaults unless noted."""

    auto_create_topics_enable: bool = True
    num_partitions: int = 1
    default_replication_factor: int = 1
    message_max_bytes: int = 1_048_588
    min_insync_replicas: int = 1
    replica_lag_time_max_ms: int = 30_000
    replication_delay_ms: int = 0
    """Replication delay of followers in ms."""
    socket_request_max_bytes: int = 104_857_600
    cluster_id: str = "kctl-sandbox-000000000"
    group_initial_rebalance_delay_ms: int = 0
    """Time for more members to join a new classic group, in ms. Kafka's default is 3000."""
    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_heartbeat_interval_ms: int = 5_000
    max_incremental_fetch_session_cache_slots: int = 1_000
    replica_selector_class: str = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    """Only the default redirects consumers to followers. Kafka's default is none, which never redirects."""
    offset_metadata_max_bytes: int = 4_096
    group_version: int = 1
    """Level of the feature group.version. 0 disables the consumer protocol (KIP-848)."""
    transaction_version: int = 2
    """Level of the feature transaction.version. Below 2, transactions share an epoch (before KIP-890)."""
    transaction_max_timeout_ms: int = 900_000
    reassignment_ms: int = 200
    """Duration of a reassignment in ms."""
    metadata_delay_ms: int = 0
    """Delay until brokers learn of changed replicas, in ms."""
    transaction_marker_delay_ms: int = 0
    """Time to write the markers of a transaction, in ms.

    Markers are written one after another, so records may become visible before the transaction's offsets.
    """
    authorizer: bool = False
    """True enables ACLs, as authorizer.class.name with Kafka's StandardAuthorizer does."""
    super_users: tuple[str, ...] = ()
    """Principals with all permissions, such as User:admin."""
    allow_everyone_if_no_acl_found: bool = False
    offsets_topic_num_partitions: int = 50
    """Partition count of __consumer_offsets, created at the first request for a group coordinator. 0 disables the
    topic.
    """
    offsets_topic_replication_factor: int = 3
    """Replication factor of __consumer_offsets, at most the number of nodes."""
    offsets_topic_segment_bytes: int = 1_048_576
    """Segment size of __consumer_offsets, less than Kafka's 104857600 to limit the memory for superseded commits."""
    log_cleaner_backoff_ms: int = 15_000
    """Interval between checks for compaction, in ms."""
    log_retention_check_interval_ms: int = 300_000
    connections_max_reauth_ms: int = 0
    """Maximum session lifetime (KIP-368), in ms. 0 means no limit."""


NO_PROPERTIES = frozenset(
    {"cluster_id", "group_version", "transaction_version", "replication_delay_ms", "transaction_marker_delay_ms"}
)
"""Settings without a Kafka broker property."""


def with_properties(settings: ClusterSettings, properties: Mapping[str, str]) -> ClusterSettings:
    """Return settings changed by broker properties with Kafka's names, or raise InvalidSetting."""
    known = {name.replace("_", "."): name for name in settings._fields if name not in NO_PROPERTIES}
    changed: dict[str, object] = {}
    for key, text in properties.items():
        name = known.get(key)
        if name is None:
            raise InvalidSetting(f"unknown broker property {key}: use one of {', '.join(sorted(known))}")
        changed[name] = _parsed(key, text, getattr(settings, name))
    return settings._replace(**changed)  # type: ignore[arg-type]


def _parsed(key: str, text: str, default: object) -> bool | int | str:
    if isinstance(default, bool):
        if text not in ("true", "false"):
            raise InvalidSetting(f"{key} must be true or false, not {text!r}")
        return text == "true"
    if isinstance(default, int):
        return _whole({key: text}, key, 0)
    if isinstance(default, str):
        return text
    raise InvalidSetting(f"{key} is set by a separate option")


_POLICIES = ("compact", "delete")


class TopicSettings(NamedTuple):
    """Topic properties with an effect in the sandbox."""

    max_message_bytes: int
    is_log_append_time: bool = False
    min_insync_replicas: int = 1
    timestamp_after_max_ms: int = 3_600_000
    """Maximum distance of record timestamps ahead of the broker's clock, in ms."""
    is_compacted: bool = False
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = 2**63 - 1
    delete_retention_ms: int = 86_400_000
    segment_bytes: int = 1_073_741_824
    segment_ms: int = 604_800_000
    retention_ms: int = -1
    """Retention in ms. -1, which means no limit, is the default unless cleanup.policy is compact,delete."""
    retention_bytes: int = -1

    @property
    def roll_ms(self) -> int:
        """Maximum age of the active segment in record time, in ms."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.is_compacted else self.segment_ms


class InvalidSetting(Exception):
    """Unknown topic or broker property, or an invalid value; the text has its name."""


def topic_settings(properties: dict[str, str], cluster: ClusterSettings) -> TopicSettings:
    """Return the settings of a topic, or raise InvalidSetting."""
    for name in properties:
        if name not in TOPIC_PROPERTIES:
            raise InvalidSetting(f"Unknown topic config name: {name}")
        check_number(name, properties[name], TOPIC_PROPERTIES[name])
    settings = TopicSettings(
        max_message_bytes=_whole(properties, "max.message.bytes", cluster.message_max_bytes),
        is_log_append_time=_is_log_append_time(properties),
        min_insync_replicas=_whole(properties, "min.insync.replicas", cluster.min_insync_replicas),
        timestamp_after_max_ms=_whole(properties, "message.timestamp.after.max.ms", 3_600_000),
    )
    return _with_cleanup(settings, properties)


def _is_log_append_time(properties: dict[str, str]) -> bool:
    kind = properties.get("message.timestamp.type", "CreateTime")
    if kind not in ("CreateTime", "LogAppendTime"):
        raise InvalidSetting(f"message.timestamp.type must be CreateTime or LogAppendTime, not {kind!r}")
    return kind == "LogAppendTime"


def _with_cleanup(settings: TopicSettings, properties: dict[str, str]) -> TopicSettings:
    policies = _policies(properties.get("cleanup.policy", "delete"))
    settings = settings._replace(
        is_compacted="compact" in policies,
        min_cleanable_dirty_ratio=_ratio(properties.get("min.cleanable.dirty.ratio", "0.5")),
        min_compaction_lag_ms=_whole(properties, "min.compaction.lag.ms", settings.min_compaction_lag_ms),
        max_compaction_lag_ms=_whole(properties, "max.compaction.lag.ms", settings.max_compaction_lag_ms),
        delete_retention_ms=_whole(properties, "delete.retention.ms", settings.delete_retention_ms),
        segment_bytes=_whole(properties, "segment.bytes", settings.segment_bytes),
        segment_ms=_whole(properties, "segment.ms", settings.segment_ms),
        retention_ms=_retention_ms(policies, properties),
        retention_bytes=int(properties.get("retention.bytes", "-1")) if "delete" in policies else -1,
    )
    _check_lags(settings.min_compaction_lag_ms, settings.max_compaction_lag_ms)
    return settings


def _retention_ms(policies: Container[str], properties: dict[str, str]) -> int:
    if "delete" in policies and ("retention.ms" in properties or "compact" in policies):
        return int(properties.get("retention.ms", TOPIC_PROPERTIES["retention.ms"]))
    return -1


def _check_lags(least_ms: int, most_ms: int) -> None:
    if least_ms > most_ms:
        raise InvalidSetting(
            f"conflict topic config setting min.compaction.lag.ms ({least_ms}) > max.compaction.lag.ms ({most_ms})"
        )


def _policies(text: str) -> set[str]:
    policies = {one.strip() for one in text.split(",")} if text else set()
    if "" in policies:
        raise InvalidSetting("Configuration 'cleanup.policy' values must not be empty.")
    if not policies <= set(_POLICIES):
        wrong = next(one for one in sorted(policies) if one not in _POLICIES)
        raise InvalidSetting(
            f"Invalid value {wrong} for configuration cleanup.policy: String must be one of: {', '.join(_POLICIES)}"
        )
    return policies


def _ratio(text: str) -> float:
    name = "min.cleanable.dirty.ratio"
    try:
        ratio = float(text)
    except ValueError:
        raise InvalidSetting(f"Invalid value {text} for configuration {name}: Not a number of type DOUBLE") from None
    if not 0 <= ratio <= 1:
        raise InvalidSetting(f"Invalid value {text} for configuration {name}: Value must be between 0 and 1")
    return ratio


def check_number(name: str, value: str, default: str) -> None:
    if re.fullmatch(r"-?\d+", default) and not re.fullmatch(r"[-+]?\d{1,19}", value, re.ASCII):
        raise InvalidSetting(f"Invalid value {value} for configuration {name}: Not a number of type LONG")


def _whole(properties: dict[str, str], name: str, default: int) -> int:
    text = properties.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        raise InvalidSetting(f"{name} must be a number of 0 or more, not {text!r}")
    return int(text)
