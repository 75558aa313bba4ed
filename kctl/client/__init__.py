"""Kafka client: Consumer, Producer, Admin, their arguments and results, and errors. Names are imported on first use."""

import atexit
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kctl.client import errors as errors
    from kctl.client.admin import AclFilter as AclFilter
    from kctl.client.admin import AclRule as AclRule
    from kctl.client.admin import Admin as Admin
    from kctl.client.admin import ConfigResource as ConfigResource
    from kctl.client.admin import NewTopic as NewTopic
    from kctl.client.admin import OffsetAndTimestamp as OffsetAndTimestamp
    from kctl.client.admin import ResourceType as ResourceType
    from kctl.client.admin import Results as Results
    from kctl.client.cluster import TopicPartition as TopicPartition
    from kctl.client.config import AdminConfig as AdminConfig
    from kctl.client.config import ConsumerConfig as ConsumerConfig
    from kctl.client.config import ProducerConfig as ProducerConfig
    from kctl.client.consumer import Consumer as Consumer
    from kctl.client.consumer import ConsumerRecord as ConsumerRecord
    from kctl.client.consumer import GroupMetadata as GroupMetadata
    from kctl.client.consumer import OffsetTracker as OffsetTracker
    from kctl.client.consumer import RebalanceListener as RebalanceListener
    from kctl.client.consumer import WaitReason as WaitReason
    from kctl.client.loop.close import CloseResult as CloseResult
    from kctl.client.producer import ColumnsFuture as ColumnsFuture
    from kctl.client.producer import Producer as Producer
    from kctl.client.producer import ProducerMetrics as ProducerMetrics
    from kctl.client.producer import ProducerRecord as ProducerRecord
    from kctl.client.producer import RecordMetadata as RecordMetadata
    from kctl.client.producer import SendFuture as SendFuture
    from kctl.client.requests.group_offsets import OffsetAndMetadata as OffsetAndMetadata

_HOMES = {
    "AclFilter": "kctl.client.admin",
    "AclRule": "kctl.client.admin",
    "Admin": "kctl.client.admin",
    "AdminConfig": "kctl.client.config",
    "CloseResult": "kctl.client.loop.close",
    "ColumnsFuture": "kctl.client.producer",
    "ConfigResource": "kctl.client.admin",
    "Consumer": "kctl.client.consumer.consumer",
    "ConsumerConfig": "kctl.client.config",
    "ConsumerRecord": "kctl.client.consumer.consumer",
    "GroupMetadata": "kctl.client.consumer",
    "NewTopic": "kctl.client.admin",
    "OffsetAndMetadata": "kctl.client.requests.group_offsets",
    "OffsetAndTimestamp": "kctl.client.admin",
    "OffsetTracker": "kctl.client.consumer.offset_tracker",
    "Producer": "kctl.client.producer",
    "ProducerConfig": "kctl.client.config",
    "ProducerMetrics": "kctl.client.producer",
    "ProducerRecord": "kctl.client.producer",
    "RebalanceListener": "kctl.client.consumer",
    "RecordMetadata": "kctl.client.producer",
    "ResourceType": "kctl.client.admin",
    "Results": "kctl.client.admin",
    "SendFuture": "kctl.client.producer",
    "TopicPartition": "kctl.client.cluster",
    "WaitReason": "kctl.client.consumer",
}
"""Module of each name."""

__all__ = [
    "AclFilter",
    "AclRule",
    "Admin",
    "AdminConfig",
    "CloseResult",
    "ColumnsFuture",
    "ConfigResource",
    "Consumer",
    "ConsumerConfig",
    "ConsumerRecord",
    "GroupMetadata",
    "NewTopic",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OffsetTracker",
    "Producer",
    "ProducerConfig",
    "ProducerMetrics",
    "ProducerRecord",
    "RebalanceListener",
    "RecordMetadata",
    "ResourceType",
    "Results",
    "SendFuture",
    "TopicPartition",
    "WaitReason",
    "errors",
]


def _is_in_handler() -> bool:
    """Return whether an atexit handler imports this module: Python does not call handlers registered then."""
    threading = sys.modules.get("threading")
    if threading is None:
        return False
    main = threading.main_thread()
    return threading.get_ident() == main.ident and not main.is_alive()


_has_ended = _is_in_handler()
"""True if nothing waits for network threads started from now on."""


@atexit.register
def _end() -> None:
    """Wait for clients of handlers that were registered after this import, and used the names first."""
    global _has_ended
    _has_ended = True
    at_exit = sys.modules.get("kctl.client.loop.at_exit")
    if at_exit is not None:
        at_exit.finish_all()


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "errors":
        return import_module("kctl.client.errors")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
