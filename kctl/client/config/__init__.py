"""Typed config from Kafka property names.

config = ConsumerConfig.parse({"bootstrap.servers": "a:9092,b:9092", "request.timeout.ms": "5000"})
config.request_timeout_ms                 # 5000, an int for the type checker too
ConsumerConfig.request_timeout_ms.doc     # on the class: the declaration
"""

from kctl.client.config.base import BaseConfig, nearest_name
from kctl.client.config.common import AdminConfig, ClientConfig
from kctl.client.config.consumer import ConsumerConfig, iso_duration_ms
from kctl.client.config.endpoints import DEFAULT_PORT, HIGHEST_PORT, Endpoint, has_no_port, read_bootstrap
from kctl.client.config.foreign import IGNORED, LIBRDKAFKA_NAMES, REFUSED, is_harmless, why_ignored
from kctl.client.config.input_file import open_input, open_regular, read_input
from kctl.client.config.producer import Acks, ProducerConfig
from kctl.client.config.property import (
    INT_MAX,
    LONGEST_NUMBER,
    AnyProperty,
    Choice,
    Property,
    mask_urls,
    passwords_in_urls,
    shown,
)
from kctl.client.config.registry import RegistryConfig
from kctl.client.config.topic_properties import TOPIC_PROPERTIES

KINDS: tuple[type[ClientConfig], ...] = (ConsumerConfig, ProducerConfig, AdminConfig)
"""Kinds of clients that users can configure."""

__all__ = [
    "DEFAULT_PORT",
    "HIGHEST_PORT",
    "IGNORED",
    "INT_MAX",
    "KINDS",
    "LIBRDKAFKA_NAMES",
    "LONGEST_NUMBER",
    "REFUSED",
    "TOPIC_PROPERTIES",
    "Acks",
    "AdminConfig",
    "AnyProperty",
    "BaseConfig",
    "Choice",
    "ClientConfig",
    "ConsumerConfig",
    "Endpoint",
    "ProducerConfig",
    "Property",
    "RegistryConfig",
    "has_no_port",
    "is_harmless",
    "iso_duration_ms",
    "mask_urls",
    "nearest_name",
    "open_input",
    "open_regular",
    "passwords_in_urls",
    "read_bootstrap",
    "read_input",
    "shown",
    "why_ignored",
]
