"""Help in a real process: the golden texts at 80 columns, their sections, and widths from 40 to 200 columns.

The golden texts are written by `python tools/write_manuals.py`.
"""

from pathlib import Path

import pytest

from kctl.cli.command_tree import Command, read_tree
from kctl.cli.examples import EXAMPLES
from kctl.cli.help_sections import SECTIONS, section_of
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


def test_sections_stand_in_one_order_with_each_option_in_its_own() -> None:
    for command in TREE:
        text = (HELPS / f"{'-'.join(command.path)}.txt").read_text()
        titles = [line[:-1] for line in text.splitlines() if line in {f"{title}:" for title in SECTIONS}]
        assert titles == [title for title in SECTIONS if title in titles]
        for option in command.options:
            section = text.partition(f"\n{section_of(option.names)}:\n")[2].partition("\n\n")[0]
            assert option.names[0] in section, (command.name, option.names)


def test_every_command_that_runs_has_examples_of_its_own() -> None:
    for command in TREE:
        examples = EXAMPLES.get(command.name, ())
        assert examples or command.commands, command.name
        for example in examples:
            assert f"{command.name} " in f"{example.line} ".replace(")", " "), example.line
            assert len(f"  {example.line}") <= 80
    assert EXAMPLES.keys() <= {command.name for command in TREE}
