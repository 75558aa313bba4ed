"""Properties without effect are logged, what cannot be ignored is refused, and librdkafka's names lead to Kafka's."""

import json
import logging

import pytest

from kctl.client.config import LIBRDKAFKA_NAMES, ConsumerConfig, ProducerConfig
from kctl.client.errors import ConfigError

SERVERS = {"bootstrap.servers": "127.0.0.1:1"}


def test_properties_without_effect_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    foreign = {"value.deserializer": "org.acme.Json", "interceptor.classes": "org.acme.Spy"}
    config = ConsumerConfig.parse({**SERVERS, **foreign})
    ConsumerConfig.parse(config)
    assert [(each.name, each.getMessage()) for each in caplog.records] == [
        ("kctl.client.config", "consumer config: ignored properties: value.deserializer, interceptor.classes")
    ]


def test_config_whose_properties_all_count_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    ConsumerConfig.parse(SERVERS)
    assert caplog.records == []


@pytest.mark.parametrize("name", ["value.deserializer", "key.deserializer", "interceptor.classes", "metric.reporters"])
def test_function_for_a_property_without_effect_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be a string, not function"):
        ConsumerConfig.parse({**SERVERS, name: json.loads})


ALIASES = {declared.alias for kind in (ProducerConfig, ConsumerConfig) for declared in kind.PROPERTIES.values()}


@pytest.mark.parametrize("name", sorted(LIBRDKAFKA_NAMES.keys() - ALIASES))
def test_name_of_librdkafka_leads_to_the_name_of_kafka(name: str) -> None:
    for kind in (ProducerConfig, ConsumerConfig):
        if LIBRDKAFKA_NAMES[name] in kind.PROPERTIES:
            with pytest.raises(ConfigError, match=f"unknown property '{name}': use {LIBRDKAFKA_NAMES[name]}"):
                kind.parse({**SERVERS, name: "1"})


def test_name_of_librdkafka_without_an_equivalent_has_advice() -> None:
    with pytest.raises(
        ConfigError, match=r"unknown property 'statistics.interval.ms': use metrics\(\) of the client for statistics"
    ):
        ProducerConfig.parse({**SERVERS, "statistics.interval.ms": "1000"})
