"""Configs of brokers, groups, and client metrics subscriptions. Topic configs are in settings.py."""

from collections.abc import Mapping
from enum import IntEnum

from kctl.client.config import TOPIC_PROPERTIES


class Kind(IntEnum):
    """Resource type of a config, with Kafka's numbers."""

    TOPIC = 2
    BROKER = 4
    CLIENT_METRICS = 16
    GROUP = 32


MIN_INSYNC_REPLICAS = "min.insync.replicas"
"""Cluster-wide default of a new cluster, which eligible leader replicas (KIP-966) need."""
BROKER_PROPERTIES: dict[str, str] = {
    "background.threads": "10",
    "follower.replication.throttled.rate": "9223372036854775807",
    "leader.replication.throttled.rate": "9223372036854775807",
    "log.cleaner.threads": "1",
    "log.retention.ms": "604800000",
    "log.segment.bytes": "1073741824",
    "max.connections": "2147483647",
    "message.max.bytes": "1048588",
    MIN_INSYNC_REPLICAS: "1",
    "num.io.threads": "8",
    "num.network.threads": "3",
    "num.replica.fetchers": "1",
    "sasl.kerberos.min.time.before.relogin": "60000",
    "unclean.leader.election.enable": "false",
}
"""Dynamic broker properties, without effect in the sandbox."""
GROUP_PROPERTIES: dict[str, str] = {
    "consumer.heartbeat.interval.ms": "5000",
    "consumer.session.timeout.ms": "45000",
    "share.auto.offset.reset": "latest",
    "share.heartbeat.interval.ms": "5000",
    "share.record.lock.duration.ms": "30000",
    "share.session.timeout.ms": "45000",
    "streams.heartbeat.interval.ms": "5000",
    "streams.num.standby.replicas": "0",
    "streams.session.timeout.ms": "45000",
}
CLIENT_METRICS_PROPERTIES: dict[str, str] = {"interval.ms": "300000", "match": "", "metrics": ""}

DEFAULTS: dict[Kind, Mapping[str, str]] = {
    Kind.TOPIC: TOPIC_PROPERTIES,
    Kind.BROKER: BROKER_PROPERTIES,
    Kind.GROUP: GROUP_PROPERTIES,
    Kind.CLIENT_METRICS: CLIENT_METRICS_PROPERTIES,
}


class ResourceConfigs:
    """Properties of all resources except topics. The broker "" is the default of all brokers."""

    def __init__(self) -> None:
        self._set: dict[tuple[Kind, str], dict[str, str]] = {}

    def of(self, kind: Kind, name: str) -> dict[str, str]:
        return dict(self._set.get((kind, name), {}))

    def replace(self, kind: Kind, name: str, properties: dict[str, str]) -> None:
        if properties:
            self._set[kind, name] = properties
        else:
            self._set.pop((kind, name), None)

    def names(self, kind: Kind) -> list[str]:
        return sorted(name for each, name in self._set if each is kind)
