"""How many partitions each broker leads, for the report about a broker that cannot be used."""

from collections import Counter
from collections.abc import Mapping

from kctl.client.admin import Admin
from kctl.client.clock import Timer
from kctl.client.config import AdminConfig
from kctl.client.errors import KafkaError
from kctl.client.runtime import Runtime

LONGEST_MS = 5000
"""The report does not wait longer for what is only a part of one sentence."""


def partitions_led(config: AdminConfig, runtime: Runtime, timer: Timer) -> Mapping[int, int] | None:
    """Return the number of partitions by leader; None where the cluster does not report it in time."""
    left_ms = min(LONGEST_MS, timer.remaining_ms)
    if not left_ms:
        return None
    try:
        with Admin(config, runtime=runtime) as admin:
            topics = admin.list_topics(include_internal=True, timeout=left_ms / 1000)
    except KafkaError:
        return None
    return Counter(partition.leader_id for topic in topics.values() for partition in topic.partitions.values())
