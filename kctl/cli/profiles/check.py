"""Checks of `kctl profile check`. They make no connections and print no secrets."""

import os
import shlex
import stat
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import NamedTuple

from kctl.cli.login import PASSWORD, USERNAME, written_with_jaas
from kctl.cli.profiles.allowances import LOCATIONS
from kctl.cli.profiles.choice import FOR_OTHERS, WRITABLE_BY_ALL
from kctl.cli.profiles.files import ProfileFile, Properties
from kctl.cli.profiles.foreign.transfer import is_literal_secret
from kctl.cli.profiles.ports import port_findings
from kctl.cli.profiles.references import (
    JAAS,
    Reference,
    Sources,
    fetch,
    path_of,
    references,
    split_references,
    unescape,
)
from kctl.cli.settings import KNOWN, is_secret
from kctl.client.config import (
    KINDS,
    LONGEST_NUMBER,
    REFUSED,
    AdminConfig,
    ClientConfig,
    is_harmless,
    open_input,
    why_ignored,
)
from kctl.client.errors import ConfigError

SERVERS = "bootstrap.servers"
PRIVATE = ("ssl.keystore.location", "sasl.oauthbearer.token.file", "sasl.kerberos.keytab")
"""Properties with paths of secret files."""
PUBLIC = ("ssl.keystore.certificate.chain", "ssl.truststore.certificates")
"""Properties that are never printed, but do not contain secrets."""
QUIET = ("env", "file")
"""References that kctl resolves without commands and prompts."""
UNKNOWN_LOGIN = "unknown.UnknownLoginModule required;"
"""Placeholder for a sasl.jaas.config that cannot be resolved."""
PAIRS = (
    ("socket.connection.setup.timeout.ms", "default.api.timeout.ms"),
    ("request.timeout.ms", "default.api.timeout.ms"),
    ("retry.backoff.ms", "default.api.timeout.ms"),
)
"""Pairs of timeouts: if the second is shorter, it ends a call before the first. The client rejects other pairs."""


NEEDS_PASSWORD = "not set: set $KCTL_SASL_PASSWORD for each command"


class Level(Enum):
    """Severity of a problem: the profile cannot work, is probably wrong, or is worth a note."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class ProfileFinding(NamedTuple):
    """Problem of a profile. `key` is None if the problem concerns the file."""

    level: Level
    key: str | None
    text: str


def check_profile(name: str, file: ProfileFile, sources: Sources, *, opens: bool = True) -> list[ProfileFinding]:
    """Return the problems of a profile, errors first. No commands or prompts are executed.

    Args: opens: also check variables, programs and files on this machine.
    """
    try:
        properties = written_with_jaas(file.content.profiles[name])
        lacks_password = USERNAME in properties
        if lacks_password:  # check the login as if there were a password
            properties = written_with_jaas({**properties, PASSWORD: "${prompt:password}"})
    except ConfigError as e:
        return [ProfileFinding(Level.ERROR, e.key, str(e))]
    findings = [
        *([ProfileFinding(Level.NOTE, PASSWORD, NEEDS_PASSWORD)] if lacks_password else ()),
        *_of_file(file, properties),
        *(found for key, value in properties.items() for found in _of_property(key, value)),
        *(_of_machine(properties, sources) if opens else ()),
        *_of_whole(name, properties, sources, opens=opens),
        *_of_pairs(properties),
    ]
    unique = list(dict.fromkeys(findings))
    return sorted(unique, key=lambda finding: list(Level).index(finding.level))


def _of_file(file: ProfileFile, properties: Properties) -> Iterator[ProfileFinding]:
    written = [key for key, value in properties.items() if is_literal_secret(key, value)]
    if file.mode & WRITABLE_BY_ALL:
        yield ProfileFinding(Level.ERROR, None, f"{file.path} is writable by all users: run chmod 600")
    if written and file.is_project:
        yield ProfileFinding(
            Level.WARNING, written[0], f"the project file is shared, but contains a secret: use {_instead()}"
        )
    elif written and file.mode & FOR_OTHERS:
        yield ProfileFinding(
            Level.WARNING, written[0], f"other users can read this secret in {file.path}: run chmod 600"
        )


def _instead() -> str:
    return "${env:NAME}, ${file:PATH}, ${cmd:COMMAND}, or ${keyring:SERVICE/USER}"


def _of_property(key: str, value: str) -> Iterator[ProfileFinding]:
    declared = KNOWN.get(key)
    try:
        has_reference = any(isinstance(piece, Reference) for piece in split_references(value))
    except ValueError as e:
        yield ProfileFinding(Level.ERROR, key, str(e))
        return
    if declared is not None and not has_reference:
        yield from _refusal(lambda: declared.read(unescape(value), written_as=key), key)
    elif declared is None and key in REFUSED:
        if not is_harmless(key, value):
            yield ProfileFinding(Level.ERROR, key, REFUSED[key])
    elif declared is None and (reason := why_ignored(key)) is not None:
        yield ProfileFinding(Level.NOTE, key, f"ignored: {reason}")
    elif declared is None:
        yield from _refusal(lambda: AdminConfig.parse({SERVERS: "localhost:9092", key: "x"}), key)


def _refusal(attempt: Callable[[], object], key: str | None = None) -> Iterator[ProfileFinding]:
    try:
        attempt()
    except ConfigError as e:
        yield ProfileFinding(Level.ERROR, e.key or key, str(e))


# --- references and files ---------------------------------------------------------------------------------------------


def _of_machine(properties: Properties, sources: Sources) -> Iterator[ProfileFinding]:
    for key, value in properties.items():
        yield from _of_references(key, value, sources)
    yield from _of_locations(properties)


def _of_references(key: str, value: str, sources: Sources) -> Iterator[ProfileFinding]:
    for reference in references(value):
        if reference.kind == "env" and reference.argument not in sources.environ:
            yield ProfileFinding(Level.WARNING, key, f"{reference}: the environment variable is not set")
        elif reference.kind == "file":
            yield from _of_path(key, path_of(reference.argument, sources), f"{reference}: ", private=_is_private(key))
        elif reference.kind == "cmd":
            yield from _of_command(key, reference, sources)
        elif reference.kind == "keyring" and find_spec("keyring") is None:
            yield ProfileFinding(
                Level.WARNING, key, f"{reference}: the keyring package is missing: run pip install keyring"
            )


def _of_command(key: str, reference: Reference, sources: Sources) -> Iterator[ProfileFinding]:
    try:
        program = next((word for word in shlex.split(reference.argument) if "=" not in word), "")
    except ValueError as e:
        yield ProfileFinding(Level.ERROR, key, f"{reference}: the command is invalid: {e}")
        return
    is_plain = program.replace("-", "").replace("_", "").replace("/", "").replace(".", "").isalnum()
    if is_plain and which(program, path=sources.environ.get("PATH")) is None and not _is_builtin(program):
        yield ProfileFinding(Level.WARNING, key, f"{reference}: program {program[:80]} not found")


def _is_builtin(word: str) -> bool:
    return word in ("cd", "command", "exec", "if", "printf", "read", "set", "test", "umask", "while", "for", "echo")


def _of_locations(properties: Properties) -> Iterator[ProfileFinding]:
    for key in LOCATIONS:
        value = properties.get(key, "")
        if not value or references(value):
            continue
        yield from _of_path(key, Path(value), "", private=_is_private(key))
        if not os.path.isabs(value):
            yield ProfileFinding(
                Level.WARNING, key, f"{value}: the path is relative to the directory in which kctl is started"
            )


def _is_private(key: str) -> bool:
    return key in PRIVATE or (is_secret(key) and key not in PUBLIC)


def _of_path(key: str, path: Path, said: str, *, private: bool) -> Iterator[ProfileFinding]:
    try:
        with open_input(path) as file:
            mode = os.fstat(file.fileno()).st_mode
    except (OSError, ValueError) as e:
        why = e.strerror if isinstance(e, OSError) else "the path is invalid"
        yield ProfileFinding(Level.ERROR, key, f"{said}cannot read {path}: {why}")
        return
    if private and stat.S_ISREG(mode) and mode & FOR_OTHERS:
        yield ProfileFinding(Level.WARNING, key, f"other users can read {said}{path}: run chmod 600")


# --- values together --------------------------------------------------------------------------------------------------


def _of_whole(name: str, properties: Properties, sources: Sources, *, opens: bool) -> Iterator[ProfileFinding]:
    """Yield the problems that the client's validation finds in the values that can be resolved."""
    known: dict[str, str] = {}
    for key, value in properties.items():
        if any(_refusal_of(key, value)):
            continue
        fetched = _fetched(name, key, value, sources)
        if fetched is not None:
            known[key] = fetched
    if SERVERS not in properties:
        yield ProfileFinding(Level.NOTE, SERVERS, "not set: each command needs -b or $KCTL_BOOTSTRAP_SERVERS")
    known.setdefault(SERVERS, "localhost:9092")
    for kind in KINDS:
        yield from _refusal(partial(_parse, kind, known))
    if not any(_refusal(partial(AdminConfig.parse, known))):
        config = AdminConfig.parse(known)
        yield from _of_security(config, properties, known, opens=opens)
        if SERVERS in properties:
            yield from (ProfileFinding(Level(each.level), SERVERS, each.text) for each in port_findings(config))


def _parse(kind: type[ClientConfig], known: Properties) -> None:
    kind.parse({key: value for key, value in known.items() if key not in kind.INSTEAD})


def _refusal_of(key: str, value: str) -> Iterator[ProfileFinding]:
    return (found for found in _of_property(key, value) if found.level is Level.ERROR)


def _fetched(name: str, key: str, value: str, sources: Sources) -> str | None:
    if any(reference.kind not in QUIET for reference in references(value)):
        return UNKNOWN_LOGIN if key == JAAS else None
    try:
        return fetch(key, value, f"profile {name}", sources).value
    except ConfigError:
        return UNKNOWN_LOGIN if key == JAAS else None


def _of_security(
    config: ClientConfig, properties: Properties, known: Properties, *, opens: bool
) -> Iterator[ProfileFinding]:
    is_whole = all(key in known for key in properties)
    if config.uses_tls and is_whole and opens:
        from kctl.client.security import TlsSettings  # deferred import: loads ssl

        yield from _refusal(lambda: TlsSettings.from_config(config))
    if config.uses_sasl and known.get(JAAS) != UNKNOWN_LOGIN and is_whole:
        from kctl.client.network.system import SystemEntropy
        from kctl.client.security import mechanism_from_config

        yield from _refusal(lambda: mechanism_from_config(config, SystemEntropy()))
    for prefix, is_used, word in (("ssl.", config.uses_tls, "SSL"), ("sasl.", config.uses_sasl, "SASL")):
        idle = [key for key in properties if key.startswith(prefix) and key in KNOWN]
        if idle and not is_used:
            protocol = config.security_protocol
            yield ProfileFinding(
                Level.WARNING, idle[0], f"has no effect: security.protocol={protocol} does not use {word}"
            )


def _of_pairs(properties: Properties) -> Iterator[ProfileFinding]:
    """Yield timeouts that never pass, because another timeout ends the call first."""
    for inner, outer in PAIRS:
        inner_ms, outer_ms = (_whole(properties.get(key, "")) for key in (inner, outer))
        if inner_ms is not None and outer_ms is not None and inner_ms > outer_ms:
            yield ProfileFinding(
                Level.WARNING, inner, f"{inner_ms} has no effect: {outer}={outer_ms} ends calls earlier"
            )


def _whole(value: str) -> int | None:
    return int(value) if len(value) < LONGEST_NUMBER and value.strip().isdecimal() else None
