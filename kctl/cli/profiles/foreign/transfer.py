"""Shared parts of the file formats: accepted properties, notes and secrets."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from kctl.cli.login import read_written_login
from kctl.cli.profiles.references import JAAS, Reference, escape, split_references
from kctl.cli.settings import KNOWN, has_password, is_secret
from kctl.client.config import REFUSED, is_harmless, why_ignored
from kctl.client.errors import ConfigError

LARGEST_FILE_BYTES = 1 << 20
CHAIN, KEY = "ssl.keystore.certificate.chain", "ssl.keystore.key"


class Read(NamedTuple):
    """Result of reading a file.

    Attributes:
        properties: properties, as written in a profile.
        notes: omitted or changed properties with reasons. Notes never contain values.
    """

    properties: dict[str, str]
    notes: list[str]


def taken(found: Mapping[str, str], notes: list[str]) -> dict[str, str]:
    """Return the supported properties, as written in a profile. Notes about other properties are added to `notes`.

    Raises: ConfigError: a value is invalid, or a property that kctl rejects is set.
    """
    properties: dict[str, str] = {}
    for name, value in found.items():
        declared = KNOWN.get(name)
        if declared is not None:
            declared.read(value, written_as=name)
            properties[name] = escape(value)
        elif name in REFUSED:
            if not is_harmless(name, value):
                raise ConfigError(f"{name}: {REFUSED[name]}", key=name)
        elif why_ignored(name) is not None:
            properties[name] = escape(value)
        else:
            notes.append(f"unknown property {name[:80]!r} omitted")
    return properties


def file_reference(name: str, path: str) -> str:
    """Return a reference to a file, as written in a profile.

    Args: name: property of the file format, for errors.
    Raises: ConfigError: the path could end the reference or begin another one.
    """
    absolute = os.path.abspath(path)
    if set(absolute) & set("${}"):
        raise ConfigError(f"invalid {name} {absolute[:200]!r}: use a path without $, {{, and }}", key=name)
    return str(Reference("file", absolute))


def checked(read: Read) -> Read:
    """Return the result of reading a file, whose values may only be literal text or a reference to one file.

    Raises: ConfigError: a value has other references, which could run commands.
    """
    for name, value in read.properties.items():
        try:
            pieces = list(split_references(value))
        except ValueError as e:
            raise ConfigError(f"{name}: {e}", key=name) from None
        found = [piece for piece in pieces if isinstance(piece, Reference)]
        if found and (len(pieces) > 1 or found[0].kind != "file"):
            raise ConfigError(f"{name}: references are not imported", key=name)
    return read


def count_secrets(properties: Mapping[str, str]) -> int:
    return sum(1 for name, value in properties.items() if is_literal_secret(name, value))


def is_literal_secret(name: str, value: str) -> bool:
    """Return whether a value is or contains a literal secret."""
    if has_password(value):
        return True
    if not value or not is_secret(name) or name in (CHAIN, "ssl.truststore.certificates"):
        return False
    if name != JAAS or is_reference(value):
        return not is_reference(value)
    login = read_written_login(value)
    return login is None or any(not is_reference(option) for named, option in login.options.items() if is_secret(named))


def is_reference(value: str) -> bool:
    """Return whether a value consists of references only."""
    try:
        return all(isinstance(piece, Reference) for piece in split_references(value))
    except ValueError:
        return False
