"""The tree has of each command what its `--help` shows, and the common options."""

import re

import pytest

from kctl.cli.command_tree import Command, read_tree
from kctl.cli.limit_names import PROPERTY_OF_OPTION
from kctl.cli.settings import KNOWN
from tests.support.in_process import run_in_process

TREE = read_tree()
OPTION_LINE = re.compile(r"^  (-[^\s,]+(?:(?:, | / )-[^\s,]+)*)", re.MULTILINE)


@pytest.mark.parametrize("command", list(TREE.walk()), ids=lambda command: command.name)
def test_options_and_arguments_are_those_of_the_help(command: Command) -> None:
    ended = run_in_process(*command.path[1:], "--help")
    assert ended.code == 0
    text = ended.stdout.decode()
    below_arguments = text.partition("\nOptions:\n")[2]
    shown = {name for line in OPTION_LINE.findall(below_arguments) for name in re.split(", | / ", line)}
    own = [option for option in command.options if not option.is_common or option.names == ("--output",)]
    assert shown == {name for option in own for name in (*option.names, *option.off)}
    for argument in command.arguments:
        assert re.search(rf"^  \[?{re.escape(argument.metavar)}", text, re.MULTILINE)
        assert argument.help in " ".join(text.split())
    for below in command.commands:
        assert f"\n  {below.path[-1]}" in text


def test_options_of_properties_name_one_that_is() -> None:
    declared = {name for command in TREE.walk() for option in command.options for name in option.names}
    assert set(PROPERTY_OF_OPTION) <= declared
    assert set(PROPERTY_OF_OPTION.values()) <= set(KNOWN)


def test_command_tree_has_default_values_and_property_of_options() -> None:
    consume = next(command for command in TREE.walk() if command.name == "kctl consume")
    options = {option.names[0]: option for option in consume.options}
    assert options["--api-timeout"].default == "1m"
    assert options["--api-timeout"].property == "default.api.timeout.ms"
    assert options["--security-protocol"].values == ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
    assert (options["--grep"].is_repeatable, options["--grep"].is_common) == (True, False)
    assert (options["--quiet"].takes_value, options["--quiet"].is_common) == (False, True)
    assert consume.arguments[0].help.startswith("Topics to read")
