"""What the formats share: what was read and written, what was left out and why, and logins as user and password."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from kctl.cli.login import MODULES, read_written_login
from kctl.cli.profiles.references import JAAS, Reference, escape, references, split_references, unescape
from kctl.cli.settings import KNOWN, has_password, is_secret
from kctl.client.config import REFUSED, is_harmless, why_ignored
from kctl.client.errors import ConfigError
from kctl.client.security import read_jaas

LARGEST_FILE_BYTES = 1 << 20
CHAIN, KEY = "ssl.keystore.certificate.chain", "ssl.keystore.key"
LEFT_OUT = "a secret, which --with-secrets writes"


class Read(NamedTuple):
    """What a file came to.

    Attributes:
        properties: as a profile writes them.
        notes: what was left out or changed, and why; never with a value.
    """

    properties: dict[str, str]
    notes: list[str]


class Item(NamedTuple):
    """One property to write.

    Attributes:
        value: with its references fetched, or None where that would tell a secret.
        file: the file that its value comes from, whole.
        user: of a login that is left out, the user's name where that is no secret.
    """

    value: str | None
    file: Path | None = None
    user: str | None = None


class Written(NamedTuple):
    """A file's text, and what was left out of it."""

    text: str
    notes: list[str]


def taken(found: Mapping[str, str], notes: list[str]) -> dict[str, str]:
    """Return the properties of Kafka's own names that a profile can have, as a profile writes them.

    Raises: ConfigError: one changes the meaning of the rest, or has a value that cannot be read.
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
            notes.append(f"{name[:80]!r} is not a property that kctl knows, and was skipped")
    return properties


def login_of(jaas: str) -> tuple[str, str] | None:
    """Return user and password of a sasl.jaas.config, or None where it is of another kind."""
    try:
        entry = read_jaas(jaas)
    except ConfigError:
        return None
    if f".{entry.module}" not in {module[module.rindex(".") :] for module in MODULES.values()}:
        return None
    if set(entry.options) != {"username", "password"}:
        return None
    return entry.options["username"], entry.options["password"]


def item(name: str, written: str, fetched: str | None, file: Path | None) -> Item:
    """Return a property of a profile as something to write.

    Args: written: its value as the profile has it; fetched: with its references fetched, None where that is not to be.
    """
    user = None
    if fetched is None and name == JAAS:
        login = read_written_login(written)
        named = "" if login is None else login.options.get("username", "")
        user = unescape(named) if named and not references(named) else None
    return Item(fetched, file, user)


def count_secrets(properties: Mapping[str, str]) -> int:
    """Return how many secrets are written out in a profile, where a reference could stand."""
    return sum(1 for name, value in properties.items() if is_literal_secret(name, value))


def is_literal_secret(name: str, value: str) -> bool:
    """Whether a property's value holds a secret, or a part of one, and not only references to it."""
    if has_password(value):
        return True
    if not value or not is_secret(name) or name in (CHAIN, "ssl.truststore.certificates"):
        return False
    if name != JAAS or is_reference(value):
        return not is_reference(value)
    login = read_written_login(value)
    return login is None or any(not is_reference(option) for named, option in login.options.items() if is_secret(named))


def is_reference(value: str) -> bool:
    """Whether a value is made of references and nothing else, so that it tells no secret."""
    try:
        return all(isinstance(piece, Reference) for piece in split_references(value))
    except ValueError:
        return False


def header(notes: Iterable[str]) -> str:
    """Return the comment that a written file begins with."""
    return "".join(f"# {line}\n" for line in ("Written by kctl profile export.", *notes))
