"""Command `kctl __complete KIND LINE`: prints names for a shell, one per line, within a time limit.

A forked process requests the names, even after the limit, and caches them (last_names.py). If the cluster does not
respond in time, the cached names are printed. Other completions wait for a request in progress.

Errors print nothing, and the exit code is 0. An alarm enforces the limit. typer is not imported, because that takes a
third of the limit.
"""

import gc
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Never

from kctl.cli.alarms import Alarm, cancel_all
from kctl.posix import HAS_FORK

if TYPE_CHECKING:
    from kctl.cli.completion.last_names import LastNames
    from kctl.cli.profiles.references import Fetched, Sources
    from kctl.cli.setting import Setting
    from kctl.client.admin import Admin

LIMIT_MS = 300
LIMIT_VARIABLE = "KCTL_COMPLETION_TIMEOUT_MS"
LONGEST_LIMIT_MS = 60_000
STARTED_MS = 40
"""Estimated time since the start of the interpreter."""
LEFT_MS = 30
"""Time to print and exit after a call timed out."""
LOOK_UP_MS = 10_000
"""Timeout of the second process."""
MOST_NAMES = 20_000
LONGEST_LINE = 64 * 1024

_LEADING = {
    "-b": "--bootstrap",
    "--bootstrap": "--bootstrap",
    "-C": "--profile",
    "--profile": "--profile",
    "-X": "-X",
    "--command-config": "--command-config",
    "--security-protocol": "--security-protocol",
}
"""Options that select the cluster and the connection."""

QUIET_SOURCES = ("env", "file")

Given = Mapping[str, Sequence[str]]
"""Values of these options by their long names, in order."""


def main(arguments: Sequence[str]) -> Never:
    """Print the requested names and exit."""
    gc.disable()  # large clusters create many objects, and the process exits soon
    limit_ms = _limit_ms() - STARTED_MS
    _end_after(limit_ms, b"")
    try:
        kind, line = arguments
        given = _given(line)
        text = _remembered(kind, given, limit_ms) if kind in _REMEMBERED and HAS_FORK else b""
        text = text or lines_of(kind, given, limit_ms - LEFT_MS)
    except BaseException:  # noqa: BLE001 - errors must not disturb the shell
        text = b""
    _leave(text)


def _remembered(kind: str, given: "Given", limit_ms: int) -> Never:
    """Print cached names if they are fresh or if the cluster does not respond in time, otherwise print new names."""
    from kctl.cli.completion.last_names import FRESH_MS, LastNames
    from kctl.client.clock import SystemClock

    names = LastNames(kind, given, {name: value for name, value in os.environ.items() if name != LIMIT_VARIABLE})
    known, age_ms = names.read(SystemClock().wall_ms())
    if known and age_ms < FRESH_MS:
        _leave(known)
    _end_after(limit_ms, known)
    if names.wait_for_others():  # another process already requested the names
        _leave(names.read(SystemClock().wall_ms())[0])
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        _look_up(kind, given, names, writing)
    os.close(writing)
    with open(reading, "rb") as pipe:
        _leave(pipe.read() or known)


def _look_up(kind: str, given: "Given", names: "LastNames", writing: int) -> Never:
    """Request and cache the names in a new session, so that the shell does not kill the process."""
    cancel_all()
    _end_after(LOOK_UP_MS, b"")
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(nothing, descriptor)
        text = lines_of(kind, given, LOOK_UP_MS)
        names.write(text.decode("utf-8", "surrogateescape"))
        with open(writing, "wb") as pipe:
            pipe.write(text)
    finally:
        os._exit(0)


def _limit_ms() -> int:
    text = os.environ.get(LIMIT_VARIABLE, "")
    limit_ms = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else LIMIT_MS
    return min(max(limit_ms, STARTED_MS + LEFT_MS + 1), LONGEST_LIMIT_MS)


def _end_after(limit_ms: int, text: bytes) -> None:
    """Set an alarm that prints the text and exits. On Windows, only the timeout of the request applies."""
    cancel_all()
    Alarm(limit_ms, lambda _: _leave(text))


def _leave(data: bytes) -> Never:
    """Print the names and exit immediately, since closing connections takes time."""
    try:
        while data:
            data = data[os.write(1, data) :]
    except OSError:  # the shell closed the pipe
        pass
    os._exit(0)


def lines_of(kind: str, given: "Given", call_ms: int) -> bytes:
    """Return the names of a kind, one per line.

    Names that start with - or ~ are omitted: - starts options, and fish expands ~.

    Args: call_ms: timeout of the request to the cluster.
    Raises: any error of the request.
    """
    found = _FINDERS[kind](given, call_ms)
    names = sorted(name for name in found if name and name.isprintable() and not name.startswith(("-", "~")))[
        :MOST_NAMES
    ]
    return "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")


def _given(line: str) -> "Given":
    given: dict[str, list[str]] = {}
    for option, value in read_leading(line):
        given.setdefault(option, []).append(value)
    return given


def read_leading(line: str) -> Iterator[tuple[str, str]]:
    """Yield the long name and value of each option in an unfinished command line that selects the cluster.

    `~` and `$NAME` are expanded as in a shell.
    """
    words = iter(_words(line[:LONGEST_LINE]))
    for word in words:
        name, equals, value = word.partition("=")
        if word in _LEADING:
            value = next(words, "")
        elif name in _LEADING and equals and name.startswith("--"):
            pass
        elif word[:2] in _LEADING and not word.startswith("--"):
            name, value = word[:2], word[2:]
        else:
            continue
        yield _LEADING[word if word in _LEADING else name], os.path.expanduser(os.path.expandvars(value))


def _words(line: str) -> list[str]:
    for end in ("", "'", '"'):
        try:
            return shlex.split(line + end)
        except ValueError:  # unclosed quote
            continue
    return line.split()


# --- what can be asked for ------------------------------------------------------------------------------------------


def _topics(given: Given, call_ms: int) -> Iterable[str]:
    with _admin(given, call_ms) as admin:
        return admin.list_topic_names()


def _groups(given: Given, call_ms: int) -> Iterable[str]:
    with _admin(given, call_ms) as admin:
        return list(admin.list_groups().groups)


def _profiles(given: Given, call_ms: int) -> Iterable[str]:  # noqa: ARG001 - signature of finders
    from kctl.cli.profiles.files import profile_names

    return profile_names(os.environ)


def _flags(given: Given, call_ms: int) -> "dict[str, Setting]":
    from kctl.cli.setting import Setting

    joined = {"bootstrap.servers": ",".join(given.get("--bootstrap", ()))}
    joined["security.protocol"] = "".join(given.get("--security-protocol", ())[-1:])
    flags = {name: Setting(value, "") for name, value in joined.items() if value}
    return flags | {"default.api.timeout.ms": Setting(call_ms, "--api-timeout")}


def _admin(given: Given, call_ms: int) -> "AbstractContextManager[Admin]":
    from kctl.cli.profiles.choice import choose_profile
    from kctl.cli.profiles.references import Sources
    from kctl.cli.setting import Setting  # the client: not before it is known to be wanted
    from kctl.cli.settings import merge_settings  # the client: not before it is known to be wanted
    from kctl.client.admin import Admin
    from kctl.client.clock import SystemClock
    from kctl.client.config import AdminConfig
    from kctl.client.events import keep_off_stderr

    keep_off_stderr()
    file = given.get("--command-config", ())
    chosen = choose_profile(given["--profile"][-1] if "--profile" in given else None, os.environ)
    own = {} if chosen is None else chosen.properties
    written = {name: Setting(value, "profile", of_profile=True) for name, value in own.items()}
    path = Path(file[-1]) if file else None
    settings = merge_settings(_flags(given, call_ms), given.get("-X", ()), os.environ, path, written)
    if chosen is not None:
        sources = Sources(os.environ, chosen.file.path.parent, SystemClock())
        settings = settings.with_references(lambda name, setting: _fetch_quietly(name, setting, sources))
    return Admin(settings.parse(AdminConfig))


def _fetch_quietly(name: str, setting: "Setting", sources: "Sources") -> "Fetched":
    """Resolve a value of a profile. Raises: LookupError: the value needs a command or a prompt."""
    from kctl.cli.profiles.references import fetch, references

    if any(each.kind not in QUIET_SOURCES for each in references(setting.text)):
        raise LookupError(name)
    return fetch(name, setting.text, setting.origin, sources)


_REMEMBERED = ("topics", "groups")
_FINDERS: dict[str, Callable[[Given, int], Iterable[str]]] = {
    "topics": _topics,
    "groups": _groups,
    "profiles": _profiles,
}
