"""Defaults of configs: a topic's are in milliseconds where the broker's may be in hours."""

import pytest

from kctl.cli.configs import default_of
from kctl.client.admin import ConfigEntry


@pytest.mark.parametrize(
    ("name", "synonym", "value", "default"),
    [
        ("retention.ms", "log.retention.hours", "168", "604800000"),
        ("retention.ms", "log.retention.minutes", "2", "120000"),
        ("retention.ms", "log.retention.ms", "7", "7"),
        ("max.message.bytes", "message.max.bytes", "9", "9"),
        ("flush.hours", "log.flush.hours", "3", "3"),
        ("retention.ms", "log.retention.hours", None, None),
        ("retention.ms", "log.retention.hours", "9" * 5000, "9" * 5000),
    ],
)
def test_default_is_in_the_unit_of_the_property(
    name: str, synonym: str, value: str | None, default: str | None
) -> None:
    entry = ConfigEntry(name, "1", 1, False, False, ((name, "1", 1), (synonym, value, 5)))
    assert default_of(entry) == default


def test_default_is_unknown_where_no_place_has_it() -> None:
    assert default_of(ConfigEntry("a", "1", 1, False, False, (("a", "1", 1),))) is None
