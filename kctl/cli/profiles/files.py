"""Reader of profile files."""

import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kctl.cli.profiles.locations import project_file, user_file, working_folder
from kctl.client.config import read_input
from kctl.client.errors import ConfigError

LARGEST_FILE_BYTES = 1 << 18
MOST_DOTS = 500
"""Maximum dots of a line: tomllib needs quadratic time for keys with many parts, and project files are untrusted."""
TOP_LEVEL = ("current", "profiles")
_AT_END = "(at end of document)"
_POSITION = re.compile(r"^(?P<reason>.*) \(at line (?P<line>\d+), column (?P<column>\d+)\)$", re.DOTALL)
DEEPEST = 32
"""Maximum parts of a property name; the longest of Kafka has seven."""

Properties = Mapping[str, str]
"""Values by property name, with unresolved references."""


class Content(NamedTuple):
    """Content of a profile file."""

    current: str | None = None
    profiles: Mapping[str, Properties] = {}


class ProfileFile(NamedTuple):
    """Profile file of a project or user, with its content. `mode`: permissions."""

    path: Path
    raw: bytes
    mode: int
    content: Content
    is_project: bool = False


def read_profile_file(path: Path, *, is_project: bool = False) -> ProfileFile | None:
    """Return a profile file, or None if it does not exist.

    Raises: ConfigError: the file cannot be read, is not TOML, or has content that is not allowed.
    """
    found = read_bytes(path)
    if found is None:
        return None
    raw, mode = found
    return ProfileFile(path, raw, mode, read_content(raw, str(path)), is_project)


def read_bytes(path: Path) -> tuple[bytes, int] | None:
    """Return the bytes and permissions of a file, or None if it does not exist. Raises: ConfigError."""
    try:
        raw, mode = read_input(path, LARGEST_FILE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as e:
        raise ConfigError(f"cannot read {path}: {e.strerror}") from None
    if len(raw) > LARGEST_FILE_BYTES:
        raise ConfigError(f"cannot read {path}: the file is larger than {LARGEST_FILE_BYTES} bytes")
    return raw, stat.S_IMODE(mode)


def read_content(raw: bytes, name: str) -> Content:
    """Parse a profile file. Raises: ConfigError: the message contains line and column, or the invalid key."""
    document = _parse(raw, name)
    for key in document:
        if key not in TOP_LEVEL:
            raise ConfigError(f"{name}: invalid key {key[:80]!r}: use current or [profiles.NAME]")
    current = document.get("current")
    if current is not None and not isinstance(current, str):
        raise ConfigError(f"{name}: current must be the name of a profile, in quotes")
    tables = document.get("profiles", {})
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise ConfigError(f"{name}: profiles must be tables: use [profiles.NAME]")
    return Content(current or None, {profile: _flat(table, name, profile) for profile, table in tables.items()})


def profile_names(environ: Mapping[str, str]) -> list[str]:
    """Return the names of all profiles for completion, sorted. Invalid files are skipped."""
    names: set[str] = set()
    for path in (user_file(environ), project_file(working_folder())):
        try:
            found = None if path is None else read_profile_file(path)
        except ConfigError:  # completion cannot show errors
            continue
        if found is not None:
            names.update(found.content.profiles)
    return sorted(names)


def decode(raw: bytes, name: str) -> str:
    """Decode a file. Raises: ConfigError: the file is not UTF-8. The message contains line and column."""
    try:
        return raw.decode()
    except UnicodeDecodeError as e:
        line = raw.count(b"\n", 0, e.start) + 1
        column = e.start - (raw.rfind(b"\n", 0, e.start) + 1) + 1
        raise ConfigError(f"{name} line {line}, column {column}: the file is not UTF-8") from None


def _parse(raw: bytes, name: str) -> dict[str, Any]:
    import tomllib  # deferred import: takes 4ms

    text = decode(raw, name)
    for number, each in enumerate(text.split("\n"), start=1):
        if each.count(".") > MOST_DOTS:
            raise ConfigError(f"{name} line {number}: the line has more than {MOST_DOTS} dots")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise ConfigError(f"{name} {_where(str(e), text)}") from None
    except RecursionError:
        raise ConfigError(f"{name}: tables are nested too deeply") from None


def _where(message: str, text: str) -> str:
    """Return `line 3, column 5: REASON` for a message of tomllib."""
    match = _POSITION.match(message)
    if match is not None:
        return f"line {match['line']}, column {match['column']}: {match['reason']}"
    last = text.rsplit("\n", 1)[-1]
    return f"line {text.count(chr(10)) + 1}, column {len(last) + 1}: {message.removesuffix(_AT_END).strip()}"


def _flat(table: Mapping[str, Any], name: str, profile: str) -> Properties:
    """Return the properties of a profile. Unquoted keys with dots are nested tables in TOML."""
    properties: dict[str, str] = {}
    for key, value in _leaves(table, f"{name}: profile {profile}"):
        if key in properties:
            raise ConfigError(f"{name}: profile {profile}: {key} appears twice", key=key)
        properties[key] = _text(value, f"{name}: profile {profile}: {key}", key)
    return properties


def _leaves(table: Mapping[str, Any], where: str, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    if depth > DEEPEST:
        raise ConfigError(f"{where}: tables are nested too deeply")
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, where, f"{prefix}{key}.", depth + 1)
        else:
            yield prefix + key, value


def _text(value: Any, where: str, key: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ",".join(value)
    raise ConfigError(f"{where} must be a string, an integer, true, false, or a list of strings", key=key)
