"""Kafka's own .properties: the names are those of a profile, and a login is a sasl.jaas.config.

Shown by tests/unit/cli/profiles/foreign/test_java.py.
"""

from collections.abc import Mapping

from kctl.cli.profiles.foreign.transfer import LEFT_OUT, Item, Read, Written, header, taken
from kctl.grammar.properties import read_properties, write_properties


def read_java(raw: bytes, name: str) -> Read:
    """Return the properties of a file; ConfigError names the line or the property that cannot be taken."""
    notes: list[str] = []
    return Read(taken(read_properties(raw, name), notes), notes)


def write_java(items: Mapping[str, Item]) -> Written:
    """Return a file from which Kafka's clients, or `read_java`, have the same properties."""
    given = {name: each.value for name, each in items.items() if each.value is not None}
    notes = [f"{name}: left out, {LEFT_OUT}" for name in items if name not in given]
    return Written(header(notes) + write_properties(given), notes)
