"""Equality of config values, which brokers report in another notation than they were set."""

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
    """Return whether a broker reports `value` as set; None: as not set for the resource itself."""
    is_set = entry is not None and CONFIG_SOURCES.get(entry.source) in _OWN_SOURCES.get(kind, ())
    if value is None or not is_set or entry is None:
        return is_set is (value is not None)
    return entry.value is None or _plain(entry.value) == _plain(value)  # a secret has no value


def _plain(value: str) -> str:
    """Return a value in a normal form: brokers rewrite booleans, lists and numbers."""
    text = ",".join(dict.fromkeys(map(str.strip, value.lower().split(","))))
    try:
        return str(float(re.sub(r"[df]$", "", text))) if re.search(r"[.edf]", text) else str(int(text))
    except ValueError:
        return text
