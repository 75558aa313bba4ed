"""One voice: the same words for the same things in every help, message and table (CONTRIBUTING.md, "Words").

What a rule can say is held here; that sentences say what to do is read by people.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from kctl.cli.app import COMMANDS
from kctl.cli.command_tree import Command, Option, read_tree
from tests.support.in_process import run_in_process
from tests.unit.source_trees import ROOT, nodes

TREE = read_tree()
OPTIONS = [(command, option) for command in TREE.walk() for option in command.options]

SAYS = re.compile(r"^kctl(?: (?P<command>[a-z-]+))?: ")
MOST_METAVARS = 45
MANY_MEANINGS = {"--export", "--header", "--key", "--null", "--offset", "--version"}
"""Options whose name means another thing in another command, in the words of Kafka and of other tools."""


@pytest.mark.parametrize("command", list(TREE.walk()), ids=lambda command: command.name)
def test_helps_are_sentences(command: Command) -> None:
    for text in (command.summary, *command.text):
        assert text.endswith((".", ":")), text
    for option in command.options:
        assert option.help.endswith("."), (option.names, option.help)
        assert not option.help[0].islower(), (option.names, option.help)
    for argument in command.arguments:
        assert not argument.help or argument.help.endswith("."), argument.help


def test_metavars_are_words_in_capitals_and_few() -> None:
    metavars = {option.metavar for _, option in OPTIONS if option.takes_value}
    odd = [each for each in metavars if re.fullmatch(r"[A-Z]+(?:[^a-z]*|/s)", each) is None]
    assert odd == []
    assert len(metavars) <= MOST_METAVARS, "use one that other options have"


def test_an_option_is_the_same_wherever_it_is() -> None:
    seen: dict[str, tuple[str, Option]] = {}
    for command, option in OPTIONS:
        if option.names[0] in MANY_MEANINGS:
            continue
        where, first = seen.setdefault(option.names[0], (command.name, option))
        assert option.names == first.names, (where, command.name)
        assert option.takes_value == first.takes_value, (where, command.name)
        if option.is_common and first.is_common:
            assert option.metavar == first.metavar
            assert option.help == first.help or option.names[0] == "--output", "its help lists the command's formats"
    short = {name: option.names[0] for _, option in OPTIONS for name in option.names if not name.startswith("--")}
    for command, option in OPTIONS:
        for name in option.names:
            if name in short and option.names[0] not in MANY_MEANINGS:
                assert short[name] in (option.names[0], name) or (command.path[1], name) in SHORT_OF_TWO, name


SHORT_OF_TWO = {
    *((each, "-f") for each in ("apply", "consume", "produce", "groups", "topics", "pipeline", "bench")),
    *((each, "-p") for each in ("topics", "bench")),
    ("produce", "-p"),
    ("consume", "-p"),
    ("consume", "-n"),
    ("bench", "-n"),
}
"""-n is how many records everywhere, by --max-records; -f a file of apply, a format elsewhere."""


@cache
def _texts(path: Path) -> tuple[tuple[ast.Call, str], ...]:
    """Return each call in a file with the text that it begins with: what is put in becomes {}."""
    found = []
    for node in nodes()[path]:
        if not isinstance(node, ast.Call):
            continue
        for argument in node.args[:1]:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                found.append((node, argument.value))
            elif isinstance(argument, ast.JoinedStr):
                parts = (str(each.value) if isinstance(each, ast.Constant) else "{}" for each in argument.values)
                found.append((node, "".join(parts)))
    return tuple(found)


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


FILES = sorted((ROOT / "kctl" / "cli").rglob("*.py"))


def test_messages_begin_with_the_command_that_says_them() -> None:
    found = 0
    for path in FILES:
        inside = path.relative_to(ROOT / "kctl" / "cli").parts[0].removesuffix(".py")
        for call, text in _texts(path):
            said = SAYS.match(text)
            if _name(call).lstrip("_") not in ("say", "write_err") or said is None:
                continue
            found += 1
            assert said["command"] == inside, (path.name, text)
            rest = text[said.end() :]
            assert not rest.endswith("."), (path.name, text)
            assert not rest[0].isupper() or rest.split()[0].isupper(), (path.name, text)
    assert found > 25


def test_mistakes_are_told_in_sentences() -> None:
    found = 0
    for path in FILES:
        for call, text in _texts(path):
            if _name(call) == "UsageError":
                found += 1
                assert text.endswith((".", "{}")), (path.name, text)
    assert found > 20


@pytest.mark.parametrize(
    ("arguments", "program"),
    [
        (("consume", "t", "-e"), "kctl consume"),
        (("groups", "list"), "kctl groups"),
        (("-q", "consume"), "kctl consume"),
        (("consum",), "kctl"),
        (("--nonsense",), "kctl"),
    ],
)
def test_whoever_speaks_is_named(arguments: tuple[str, ...], program: str) -> None:
    assert run_in_process(*arguments).stderr.startswith(f"{program}: ")


@pytest.mark.parametrize(
    "arguments", [("consume",), ("groups", "lag"), ("topics", "list", "--nonsense"), ("probe", "-X", "a")]
)
def test_errors_begin_with_who_speaks_and_end_without_a_traceback(arguments: tuple[str, ...]) -> None:
    ended = run_in_process(*arguments)
    assert ended.code == 2
    assert ended.stderr.startswith(f"kctl {arguments[0]}: ")
    assert all(line.startswith(("hint: ", "  ")) for line in ended.stderr.splitlines()[1:])


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("command", list(TREE.walk()), ids=lambda command: command.name)
def test_help_fits_terminals(command: Command, columns: int) -> None:
    ended = run_in_process(*command.path[1:], "--help", columns=columns)
    wrapped, _, _ = ended.stdout.decode().partition("\nExamples:\n")  # these are to be copied
    for line in wrapped.splitlines():
        is_one_word = " " not in line.strip()
        assert len(line) <= columns or is_one_word or _is_of_names(line), line


def _is_of_names(line: str) -> bool:
    """Is this a line of an option and what follows it, which click does not take apart?"""
    return re.fullmatch(r"  -\S.*|Usage: .*", line) is not None


def test_every_command_is_in_the_words() -> None:
    assert {command.path[1] for command in TREE.walk() if len(command.path) == 2} == set(COMMANDS)
