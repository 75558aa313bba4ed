"""Each command that docs/migration.md names for kctl is one that kctl takes: its options and words are parsed."""

import re
import shlex
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from kctl.cli.app import root
from kctl.cli.click import PARSER_ERRORS
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "migration.md"


def commands() -> list[str]:
    """Return the commands of our columns."""
    ours = [line.split(" | ", 1)[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    found = [command for column in ours for command in re.findall(r"`((?:[^`]*\\\| )?kctl [^`]+)`", column)]
    return list(dict.fromkeys(found))


def parse(words: list[str]) -> None:
    """Let each level of commands read its options, and run nothing."""
    command: Any = typer.main.get_command(root)
    context = typer.Context(command, info_name="kctl")
    while isinstance(command, TyperGroup):
        if command.invoke_without_command and (not words or words[0].startswith("-")):
            break
        name, *words = words
        found = command.get_command(context, name)
        assert found is not None, f"no command {name}"
        command, context = found, typer.Context(found, info_name=name, parent=context)
    command.parse_args(context, words)


@pytest.mark.parametrize("command", commands())
def test_our_commands_are_parsed(command: str) -> None:
    _, _, after = command.rpartition("kctl ")
    parse(shlex.split(after))


def test_a_wrong_option_is_found() -> None:
    with pytest.raises(PARSER_ERRORS):
        parse(["consume", "orders", "--no-such-thing"])
    assert len(commands()) > 30
