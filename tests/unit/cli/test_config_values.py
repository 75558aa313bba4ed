"""Values of configs that brokers write otherwise than they were set."""

import pytest

from kctl.cli.config_values import has_value
from kctl.client.admin import CONFIG_SOURCES, ConfigEntry, ResourceType


def _entry(value: str | None, source: str) -> ConfigEntry:
    (number,) = (key for key, name in CONFIG_SOURCES.items() if name == source)
    return ConfigEntry("key", value, number, is_read_only=False, is_sensitive=value is None)


@pytest.mark.parametrize(
    ("wanted", "reported", "is_same"),
    [
        ("TRUE", "true", True),
        ("007", "7", True),
        ("a, b", "a,b", True),
        ("compact,compact", "compact", True),
        (" 0.50", "0.5", True),
        ("5e-1", "0.5", True),
        (".3d", "0.3", True),
        ("1", "2", False),
        ("a,b", "a", False),
        ("5e-1", "0.6", False),
    ],
)
def test_value_is_known_as_brokers_write_it(wanted: str, reported: str, is_same: bool) -> None:
    assert has_value(ResourceType.TOPIC, _entry(reported, "DYNAMIC_TOPIC_CONFIG"), wanted) is is_same


@pytest.mark.parametrize(
    ("kind", "source", "is_own"),
    [
        (ResourceType.TOPIC, "DYNAMIC_TOPIC_CONFIG", True),
        (ResourceType.TOPIC, "DYNAMIC_BROKER_CONFIG", False),
        (ResourceType.TOPIC, "DEFAULT_CONFIG", False),
        (ResourceType.BROKER, "DYNAMIC_DEFAULT_BROKER_CONFIG", True),
        (ResourceType.BROKER, "STATIC_BROKER_CONFIG", False),
    ],
)
def test_value_of_another_place_was_not_set_for_the_resource(kind: ResourceType, source: str, is_own: bool) -> None:
    assert has_value(kind, _entry("1", source), "1") is is_own
    assert has_value(kind, _entry("1", source), None) is not is_own
    assert has_value(kind, _entry(None, source), "secret") is is_own, "a secret has no value"


def test_value_that_is_not_reported_is_not_set() -> None:
    assert has_value(ResourceType.TOPIC, None, None)
    assert not has_value(ResourceType.TOPIC, None, "1")
