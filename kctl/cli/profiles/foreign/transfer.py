"""What the formats share: what was read and written, what was left out and why, and logins as user and password.

Shown by tests/unit/cli/profiles/foreign/test_transfer.py.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from kctl.cli.profiles.references import JAAS, Reference, escape, references, split_references, unescape
from kctl.cli.settings import KNOWN, is_secret
from kctl.client.config.foreign import REFUSED, is_harmless, why_ignored
from kctl.client.errors import ConfigError
from kctl.client.security.jaas import JaasEntry, read_jaas

LARGEST_FILE_BYTES = 1 << 20
MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
"""Login modules that take a user and a password, by SASL mechanism."""
CHAIN, KEY = "ssl.keystore.certificate.chain", "ssl.keystore.key"
_FIRST_MARK = 0xF0000
"""Characters of a private plane: what stands for references while a login is read."""
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
        user: of a login that may not be told, the user's name where that is no secret.
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
            notes.append(f"{name[:80]!r} is no property that kctl knows, and was left out")
    return properties


def make_jaas(mechanism: str, user: str, password: str) -> str:
    """Return the sasl.jaas.config of a user, as Kafka's clients read it.

    Raises: ConfigError: the mechanism takes no password.
    """
    module = MODULES.get(mechanism.upper())
    if module is None:
        known = ", ".join(MODULES)
        raise ConfigError(f"sasl.mechanism {mechanism[:40]!r} takes no user and password: {known} do")
    return f'{module} required username="{_in_quotes(user)}" password="{_in_quotes(password)}";'


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


def read_written_login(value: str) -> JaasEntry | None:
    """Return a sasl.jaas.config as a profile has it, its references in place; None where it cannot be read.

    The references are put aside first: a command may have quotes of its own.
    """
    try:
        pieces = list(split_references(value))
        aside = [piece for piece in pieces if isinstance(piece, Reference)]
        marks = iter(range(len(aside)))
        text = "".join(escape(piece) if isinstance(piece, str) else chr(_FIRST_MARK + next(marks)) for piece in pieces)
        entry = read_jaas(text)
    except (ValueError, ConfigError):
        return None
    back = {_FIRST_MARK + at: str(reference) for at, reference in enumerate(aside)}
    return JaasEntry(entry.module, {name: option.translate(back) for name, option in entry.options.items()})


def header(notes: Iterable[str]) -> str:
    """Return the comment that a written file begins with."""
    return "".join(f"# {line}\n" for line in ("Written by kctl profile export.", *notes))


def _in_quotes(text: str) -> str:
    return "".join(_ESCAPES.get(letter, letter) for letter in text)


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
