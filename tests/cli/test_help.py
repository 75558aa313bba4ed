"""Help in a real process: the golden texts at 80 columns, their sections, and widths from 40 to 200 columns.

The golden texts are written by `python tools/write_manuals.py`.
"""

import re
from pathlib import Path

import pytest

from kctl.cli.app import COMMANDS
from kctl.cli.command_tree import Command, read_tree
from kctl.cli.examples import EXAMPLES
from kctl.cli.help_sections import SECTIONS
from tests.cli.processes import kctl

HELPS = Path(__file__).parent / "help"
TREE = list(read_tree().walk())


def _help(command: Command, columns: int) -> str:
    ended = kctl(*command.path[1:], "--help", environ={"COLUMNS": str(columns)})
    assert (ended.code, ended.stderr) == (0, "")
    return ended.stdout.decode()


@pytest.mark.parametrize("command", TREE, ids=lambda command: command.name)
def test_help_at_80_columns_is_the_golden_text(command: Command) -> None:
    assert _help(command, 80) == (HELPS / f"{'-'.join(command.path)}.txt").read_text()


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("name", ["kctl consume", "kctl topics", "kctl groups lag"])
def test_help_fits_the_terminal(name: str, columns: int) -> None:
    command = next(each for each in TREE if each.name == name)
    examples = {f"  {line}" for each in EXAMPLES.get(name, ()) for line in (f"# {each.text}", each.line)}
    lines = [line for line in _help(command, columns).splitlines() if line not in examples]
    assert max(map(len, lines)) <= columns


def _text(command: Command) -> str:
    return (HELPS / f"{'-'.join(command.path)}.txt").read_text()


def test_help_has_the_own_options_of_a_command_and_a_line_that_leads_to_the_common_ones() -> None:
    for command in TREE:
        options = _text(command).partition("\nOptions:\n")[2].partition("\n\n")[0]
        is_common = [option for option in command.options if option.is_common and option.names != ("--output",)]
        for option in command.options:
            names = re.escape(", ".join(sorted(option.names, key=lambda name: name.startswith("--"))))
            is_shown = re.search(rf"(?m)^  {names}(?=[ \n,])", f"{options}\n") is not None
            assert is_shown != (option in is_common), (command.name, option.names)
        assert ("\nRun `kctl options` to show" in _text(command)) == bool(is_common), command.name


def test_help_of_a_command_with_two_options_is_short() -> None:
    assert len((HELPS / "kctl-groups-list.txt").read_text().splitlines()) <= 20


def test_options_shows_each_common_option_in_one_section() -> None:
    shown = kctl("options").stdout.decode()
    assert re.findall(r"(?m)^(\w+):$", shown) == list(SECTIONS)
    common = {option.names for command in TREE for option in command.options if option.is_common}
    for names in common:
        assert len(re.findall(rf"(?m)^  (?:-\w, )?{re.escape(names[0])}(?=[ \n,])", shown)) == 1, names


def test_every_command_has_one_heading() -> None:
    shown = _text(TREE[0])
    for name, entry in COMMANDS.items():
        section = shown.partition(f"\n{entry.heading}:\n")[2].partition("\n\n")[0]
        assert re.findall(rf"(?m)^  {name}  .*", section), name
        assert len(re.findall(rf"(?m)^  {name}  ", shown)) == 1


def test_every_command_that_runs_has_examples_of_its_own() -> None:
    for command in TREE:
        examples = EXAMPLES.get(command.name, ())
        assert examples or command.commands, command.name
        for example in examples:
            assert f"{command.name} " in f"{example.line} ".replace(")", " "), example.line
            assert len(f"  {example.line}") <= 80
    assert EXAMPLES.keys() <= {command.name for command in TREE}
