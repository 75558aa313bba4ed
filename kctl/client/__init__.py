"""The client, by the names that it promises: Consumer, Producer, Admin, their records, TopicPartition, errors.

Each name is imported when it is first used, so that a program pays only for what it uses.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kctl.client import errors
    from kctl.client.admin import Admin
    from kctl.client.cluster import TopicPartition
    from kctl.client.consumer.consumer import Consumer, ConsumerRecord
    from kctl.client.producer import Producer, ProducerRecord

__all__ = ["Admin", "Consumer", "ConsumerRecord", "Producer", "ProducerRecord", "TopicPartition", "errors"]

_HOMES = {
    "Admin": "kctl.client.admin",
    "Consumer": "kctl.client.consumer.consumer",
    "ConsumerRecord": "kctl.client.consumer.consumer",
    "Producer": "kctl.client.producer",
    "ProducerRecord": "kctl.client.producer",
    "TopicPartition": "kctl.client.cluster",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "errors":
        return import_module("kctl.client.errors")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)
