"""Comparison of config values, which brokers may return in a different notation than was set."""

import re
from collections.abc import Collection, Mapping

from kctl.client.admin import CONFIG_SOURCES, ConfigEntry, ResourceType

_OWN_SOURCES: Mapping[ResourceType, Collection[str]] = {
    ResourceType.TOPIC: ("DYNAMIC_TOPIC_CONFIG",),
    ResourceType.BROKER: ("DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
    ResourceType.GROUP: ("DYNAMIC_GROUP_CONFIG",),
    ResourceType.CLIENT_METRICS: ("DYNAMIC_CLIENT_METRICS_CONFIG",),
}
"""Sources of values that were set for a resource itself, by type."""


def has_value(kind: ResourceType, entry: ConfigEntry | None, value: str | None) -> bool:
    """Return whether the broker reports `value` as set on the resource.

    Args: value: expected value; None if the config must not be set on the resource.
    """
    is_set = entry is not None and CONFIG_SOURCES.get(entry.source) in _OWN_SOURCES.get(kind, ())
    if value is None or not is_set or entry is None:
        return is_set is (value is not None)
    return entry.value is None or _plain(entry.value) == _plain(value)  # a secret has no value


def _plain(value: str) -> str:
    text = ",".join(dict.fromkeys(map(str.strip, value.lower().split(","))))
    try:
        return str(float(re.sub(r"[df]$", "", text))) if re.search(r"[.edf]", text) else str(int(text))
    except ValueError:
        return text
