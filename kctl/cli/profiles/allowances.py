"""Commands, files, variables and servers that profiles use, and project files on which trust depends.

If a watched file changes, the project must be trusted again. If a command may use unknown files, all project files are
watched. Files that scripts use are not followed.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from kctl.cli.profiles.files import Content, Properties
from kctl.cli.profiles.project_tree import root_of, tree_files
from kctl.cli.profiles.references import JAAS, references
from kctl.client.errors import ConfigError

LOCATIONS = ("ssl.keystore.location", "ssl.truststore.location", "sasl.oauthbearer.token.file", "sasl.kerberos.keytab")
"""Properties with the path of a file; Schema Registry properties have a prefix."""
_REGISTRY = "schema.registry."
_SERVERS = (
    "bootstrap.servers",
    "schema.registry.url",
    "sasl.oauthbearer.token.endpoint.url",
    "schema.registry.bearer.auth.issuer.endpoint.url",
)
_FILE_URL = "file:"
_SENTENCES = {
    "cmd": "{profile} runs {argument}",
    "file": "{profile} reads {argument}",
    "env": "{profile} reads the variable {argument}",
    "keyring": "{profile} reads the key ring entry {argument}",
    "server": "{profile} connects to {argument}",
}
_PLAIN = re.compile(r"[\w./@%+,:= -]+", re.ASCII)
"""Commands whose words equal their arguments: without quotes, variables, patterns or further commands."""
_READERS = frozenset(
    {
        *("aws", "az", "base64", "bw", "cat", "echo", "gcloud", "gopass", "head", "keyring", "op", "pass", "printf"),
        *("secret-tool", "security", "tail", "vault"),
    }
)
"""Programs that read only the files on their command line."""
_INTERPRETERS = frozenset(["bash", "dash", "ksh", "node", "perl", "python", "python3", "ruby", "sh", "zsh"])
_HARMLESS_FLAGS = re.compile("-[BEIesux]+")


class Allowance(NamedTuple):
    """Command, file, variable or server that a profile uses. `kind`: kind of a reference, or `server`."""

    profile: str
    kind: str
    argument: str

    def __str__(self) -> str:
        return _SENTENCES[self.kind].format(profile=self.profile, argument=self.argument)


class Watched(NamedTuple):
    """Files on which the trust in a project depends.

    Attributes:
        root: directory of the project.
        unwatched: commands that may use other files, if the project is too large to watch.
    """

    root: Path
    files: list[Path]
    unwatched: list[str]


def allowances(content: Content) -> list[Allowance]:
    """Return the allowances of all profiles, without duplicates."""
    found = (
        Allowance(profile, kind, argument)
        for profile, properties in content.profiles.items()
        for kind, argument in _used(properties)
    )
    return list(dict.fromkeys(found))


def watched_files(file: Path, content: Content) -> Watched:
    """Return the project files that profiles use or may execute. They need not exist.

    If the files of a command are unknown, all files of the project are included.

    Args: file: the profile file, which is excluded.
    """
    folder = file.parent.absolute()
    root = root_of(folder)
    found: set[Path] = set()
    unresolved: list[str] = []
    for allowance in allowances(content):
        if allowance.kind == "file":
            found |= _inside(root, folder, [allowance.argument])
        elif allowance.kind == "cmd":
            found |= _inside(root, folder, re.split(r"[\s=;&|()<>'\"`]+", allowance.argument))
            if not _is_resolved(allowance.argument, root, folder):
                unresolved.append(allowance.argument)
    whole = tree_files(root) if unresolved else []
    own = file.absolute()
    files = sorted(path for path in found | set(whole or ()) if path != own)
    return Watched(root, files, unresolved if whole is None else [])


def _inside(root: Path, folder: Path, words: list[str]) -> set[Path]:
    paths = {Path(os.path.normpath(folder / word)) for word in words if word and "\0" not in word}
    return {path for path in paths if path not in (root, folder) and path.is_relative_to(root)}


def _is_resolved(command: str, root: Path, folder: Path) -> bool:
    """Return whether the words of a command name all project files that it uses."""
    words = command.split()
    if not words or _PLAIN.fullmatch(command) is None:
        return False
    program, *arguments = words
    if program in _INTERPRETERS:
        while arguments and _HARMLESS_FLAGS.fullmatch(arguments[0]):
            arguments.pop(0)
        if not arguments:
            return False
        program, *arguments = arguments
        is_script = bool(_inside(root, folder, [program])) and (folder / program).is_file()
    else:
        is_script = "/" in program and (folder / program).is_file()
    names_folder = any(
        (folder / each).is_dir() for word in arguments for each in (word, word.partition("=")[2]) if each
    )
    return (is_script or program in _READERS) and not names_folder


def _used(properties: Properties) -> Iterator[tuple[str, str]]:
    for key, value in properties.items():
        found = references(value)
        for reference in found:
            if reference.kind in _SENTENCES:
                yield reference.kind, reference.argument
        if not value or (found and key != JAAS):
            continue
        if key.removeprefix(_REGISTRY) in LOCATIONS:
            yield "file", value
        elif key in _SERVERS:
            is_file = value.startswith(_FILE_URL)
            yield ("file", unquote(urlsplit(value).path)) if is_file else ("server", _without_user(value))
        elif key == JAAS:
            yield from _of_jaas(value)


def _without_user(url: str) -> str:
    return re.sub("(?<=//)[^/@,]*@", "", url)


def _of_jaas(value: str) -> Iterator[tuple[str, str]]:
    from kctl.client.security import read_jaas  # deferred import: few profiles need it

    try:
        options = read_jaas(value).options
    except ConfigError:
        return
    for name in ("keyTab", "ticketCache"):
        if options.get(name):
            yield "file", options[name].removeprefix("FILE:")
