"""References in the values of profiles, resolved when a command needs them.

    ${env:NAME}            variable
    ${file:PATH}           content of a file without trailing line ends; relative to the profile file
    ${cmd:COMMAND}         output of a command in /bin/sh
    ${keyring:SERVICE/USER}  entry of the system's key ring, with the package keyring (extra `keyring`)
    ${prompt:WORDS}        prompt on the terminal
    $${                    literal ${

Errors contain profile, key and source, but never a value.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kctl.client.clock import Clock, Timer
from kctl.client.config import read_input
from kctl.client.errors import ConfigError
from kctl.posix import NOCTTY

LARGEST_SECRET_BYTES = 1 << 20
COMMAND_LIMIT_MS = 60_000
"""Timeout of a command: long enough to touch a security key."""
KINDS = ("env", "file", "cmd", "keyring", "prompt")
JAAS = "sasl.jaas.config"
_JAAS_ESCAPES = {"\\": "\\\\", '"': '\\"', "'": "\\'", "\n": "\\n", "\r": "\\r"}
_KIND = re.compile(r"[a-z]+(?=:)")


class Reference(NamedTuple):
    """Reference in a value, such as kind `env` with argument `NAME`."""

    kind: str
    argument: str

    def __str__(self) -> str:
        return f"${{{self.kind}:{self.argument}}}"


class Fetched(NamedTuple):
    """Value in which references are resolved, and the value of each reference."""

    value: str
    parts: tuple[str, ...]


class Sources(NamedTuple):
    """Sources of the values of references.

    Attributes:
        folder: directory of the profile file.
        ask: prompts for a secret and returns it; None to reject prompts.
    """

    environ: Mapping[str, str]
    folder: Path
    clock: Clock
    ask: "Callable[[str], str] | None" = None


def split_references(text: str) -> Iterator[str | Reference]:
    """Yield the literal parts, unescaped, and the references of a value. Raises: ValueError: a reference is invalid."""
    at = 0
    while (found := text.find("${", at)) >= 0:
        if text[found - 1 : found] == "$" and found > at:
            yield text[at : found - 1] + "${"
            at = found + 2
            continue
        if found > at:
            yield text[at:found]
        end = _closing(text, found)
        yield _reference(text[found + 2 : end])
        at = end + 1
    if at < len(text):
        yield text[at:]


def references(text: str) -> list[Reference]:
    """Return the references of a value; empty if the value is malformed."""
    try:
        return [piece for piece in split_references(text) if isinstance(piece, Reference)]
    except ValueError:
        return []


def escape(text: str) -> str:
    return text.replace("${", "$${")


def unescape(text: str) -> str:
    """Return a value with $${ replaced by ${. References are unchanged."""
    return "".join(str(piece) for piece in split_references(text))


def fetch(key: str, text: str, where: str, sources: Sources) -> Fetched:
    """Resolve the references of a value.

    In sasl.jaas.config, each value is quoted for JAAS unless the reference is the whole property.

    Args: where: origin of the value for errors, such as `profile prod`.
    Raises: ConfigError: a source has no value. The message contains profile, key and source.
    """
    try:
        pieces = list(split_references(text))
    except ValueError as e:
        raise ConfigError(f"{where}: {key}: {e}", key=key) from None
    built: list[str] = []
    parts: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            built.append(piece)
            continue
        try:
            part = _fetch_one(piece, sources)
        except _Missing as e:
            raise ConfigError(f"{where}: cannot resolve {piece} in {key}: {e}", key=key) from None
        parts.append(part)
        built.append(part if key != JAAS or len(pieces) == 1 else _quoted(part, "".join(built)))
    return Fetched("".join(built), tuple(parts))


class _Missing(Exception):
    """Error of a source without a value."""


def _closing(text: str, start: int) -> int:
    depth = 0
    for at in range(start + 1, len(text)):
        if text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if depth == 0:
                return at
    raise ValueError(f"the ${{ at character {start + 1} is not closed: use $${{ for a plain ${{")


def _reference(inside: str) -> Reference:
    match = _KIND.match(inside)
    if match is None or match[0] not in KINDS or len(inside) == match.end() + 1:
        known = ", ".join(f"${{{kind}:...}}" for kind in KINDS)
        raise ValueError(f"unknown reference: use {known}, or $${{ for a plain ${{")
    return Reference(match[0], inside[match.end() + 1 :])


def _quoted(part: str, before: str) -> str:
    """Escape a part of a JAAS entry. Quote it unless `before` ends inside quotes."""
    escaped = "".join(_JAAS_ESCAPES.get(letter, letter) for letter in part)
    quote, at = "", 0
    while at < len(before):
        if quote and before[at] == "\\":
            at += 1
        elif quote:
            quote = "" if before[at] == quote else quote
        elif before[at] in "\"'":
            quote = before[at]
        at += 1
    return escaped if quote else f'"{escaped}"'


# --- the sources ------------------------------------------------------------------------------------------------------


def _fetch_one(reference: Reference, sources: Sources) -> str:
    if reference.kind == "env":
        return _of_variable(reference.argument, sources.environ)
    if reference.kind == "file":
        return _of_file(reference.argument, sources)
    if reference.kind == "cmd":
        return _of_command(reference.argument, sources)
    if reference.kind == "keyring":
        return _of_keyring(reference.argument)
    if sources.ask is None:
        raise _Missing("there is no terminal to prompt on")
    return sources.ask(reference.argument)


def _of_variable(name: str, environ: Mapping[str, str]) -> str:
    if name not in environ:
        raise _Missing(f"${name} is not set")
    return environ[name]


def path_of(argument: str, sources: Sources) -> Path:
    """Return the path of ${file:...}. Relative paths start at the profile file, `~/` at the home directory."""
    home = sources.environ.get("HOME", "")
    if argument.startswith("~/") and home:
        return Path(home, argument[2:])
    return sources.folder / argument


def _of_file(argument: str, sources: Sources) -> str:
    path = path_of(argument, sources)
    try:
        raw, _ = read_input(path, LARGEST_SECRET_BYTES + 1)
    except (OSError, ValueError) as e:
        raise _Missing((e.strerror if isinstance(e, OSError) else None) or "the path is invalid") from None
    return _decoded(raw)


def _decoded(raw: bytes) -> str:
    if len(raw) > LARGEST_SECRET_BYTES:
        raise _too_large()
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise _Missing("the value is not UTF-8") from None
    return text.rstrip("\r\n")


def _of_command(command: str, sources: Sources) -> str:
    """Return the output of a command. Its stderr is inherited, to show its errors."""
    import subprocess  # deferred import: takes 5ms

    with subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=sources.folder,
        env=dict(sources.environ),
    ) as process:
        assert process.stdout is not None
        timer = Timer(sources.clock, COMMAND_LIMIT_MS)
        try:
            raw = read_to_end(process.stdout.fileno(), timer)
            if raw is None:
                raise _not_done()
            if len(raw) > LARGEST_SECRET_BYTES:
                raise _too_large()
            timer.update()
            process.wait(timeout=timer.remaining_ms / 1000)
        except subprocess.TimeoutExpired:
            process.kill()
            raise _not_done() from None
        except BaseException:  # an interrupt must not leave the process running
            process.kill()
            raise
        if process.returncode:
            raise _Missing(f"the command exited with code {process.returncode}")
    if not raw.strip():
        raise _Missing("the command printed nothing")
    return _decoded(raw)


def _too_large() -> _Missing:
    return _Missing(f"the value is larger than {LARGEST_SECRET_BYTES} bytes")


def _not_done() -> _Missing:
    return _Missing(f"the command did not finish within {COMMAND_LIMIT_MS // 1000}s")


def read_to_end(descriptor: int, timer: Timer) -> bytes | None:
    """Return all bytes, up to about LARGEST_SECRET_BYTES, or None if the timer expired."""
    import select  # deferred import, as subprocess

    raw = bytearray()
    while len(raw) <= LARGEST_SECRET_BYTES:
        timer.update()
        if timer.is_expired or not select.select([descriptor], [], [], timer.remaining_ms / 1000)[0]:
            return None
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            break
        raw += piece
    return bytes(raw)


def _of_keyring(argument: str) -> str:
    service, slash, user = argument.rpartition("/")
    if not slash:
        raise _Missing("use the form ${keyring:SERVICE/USER}")
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        raise _Missing("the keyring package is missing: run pip install keyring") from None
    try:
        found = keyring.get_password(service, user)
    except KeyringError as e:
        raise _Missing(f"the key ring rejected the request ({type(e).__name__})") from None
    if found is None:
        raise _Missing(f"the key ring has no entry: add one with keyring set {service} {user}")
    return found


def ask_on_terminal(words: str) -> str:
    """Prompt for a secret without echo on the terminal. stdin is not used, because it may be data.

    Raises: _Missing: there is no terminal or no input.
    """
    import getpass  # deferred import: loads termios

    try:
        os.close(os.open("/dev/tty", os.O_RDWR | NOCTTY))
    except OSError:
        raise _Missing("there is no terminal to prompt on") from None
    try:
        return getpass.getpass(f"{words}: ")
    except EOFError:
        raise _Missing("no input") from None
