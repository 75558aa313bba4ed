"""Typed config from Kafka property names.

    config = ConsumerConfig.parse({"bootstrap.servers": "a:9092,b:9092", "request.timeout.ms": "5000"})
    config.request_timeout_ms                 # 5000, an int for the type checker too
    ConsumerConfig.request_timeout_ms.doc     # on the class: the declaration

property.py owns the kinds of value, base.py the parsing, the others declare the properties of each kind of client.
Nothing here reads files, the environment or the clock. Shown by tests/unit/config/.
"""

from kctl.client.config.common import AdminConfig, ClientConfig
from kctl.client.config.consumer import ConsumerConfig
from kctl.client.config.endpoints import Endpoint
from kctl.client.config.producer import ProducerConfig
from kctl.client.config.property import Property

KINDS: tuple[type[ClientConfig], ...] = (ConsumerConfig, ProducerConfig, AdminConfig)
"""Every kind of client that a user can configure."""

__all__ = ["KINDS", "AdminConfig", "ClientConfig", "ConsumerConfig", "Endpoint", "ProducerConfig", "Property"]
