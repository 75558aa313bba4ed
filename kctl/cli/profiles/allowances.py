"""Allowances: commands, files and variables that the profiles of a file use, and which files are the project's.

Trust in a project covers them: `kctl profile trust` lists them all, and a changed file of the project has to be trusted
again. What a script itself calls or reads is not looked into.
"""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kctl.cli.profiles.files import Content, Properties
from kctl.cli.profiles.references import references

LOCATIONS = ("ssl.keystore.location", "ssl.truststore.location", "sasl.oauthbearer.token.file", "sasl.kerberos.keytab")
"""Properties that name a file."""
_VERBS = {"cmd": "runs", "file": "reads", "env": "reads the variable", "keyring": "reads from the key ring"}


class Allowance(NamedTuple):
    """One thing that a profile uses when it is used itself; `kind` is that of a reference."""

    profile: str
    kind: str
    argument: str

    def __str__(self) -> str:
        return f"{self.profile} {_VERBS[self.kind]} {self.argument}"


def allowances(content: Content) -> list[Allowance]:
    """Return what the profiles of a file use, each once, in their order."""
    found = (
        Allowance(profile, kind, argument)
        for profile, properties in content.profiles.items()
        for kind, argument in _used(properties)
    )
    return list(dict.fromkeys(found))


def project_files(folder: Path, content: Content) -> list[Path]:
    """Return the files below a project's folder that its profiles use or may run, also those that do not exist."""
    found: set[Path] = set()
    for allowance in allowances(content):
        words = _words(allowance.argument) if allowance.kind == "cmd" else [allowance.argument]
        for word in words if allowance.kind in ("cmd", "file") else ():
            path = Path(os.path.normpath(folder / word))
            if "\0" not in word and path != folder and path.is_relative_to(folder):
                found.add(path)
    return sorted(found)


def _used(properties: Properties) -> Iterator[tuple[str, str]]:
    for key, value in properties.items():
        for reference in references(value):
            if reference.kind in _VERBS:
                yield reference.kind, reference.argument
        if key in LOCATIONS and value and not references(value):
            yield "file", value


def _words(command: str) -> list[str]:
    """Return the words of a command that may be names of files: which of them are is for the shell to know."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:  # a quote that is not closed
        words = command.split()
    return [word for word in words if word and not word.startswith("-")]
