"""The tree of all commands as plain data. Reading it imports every command.

`kctl help-json`, completion, manual pages and tests use it, so they always match the commands.
"""

from collections.abc import Iterator
from enum import Enum
from functools import cache
from inspect import unwrap
from typing import Any, NamedTuple

import typer

from kctl.cli.app import COMMANDS, HELP, command_of, root
from kctl.cli.commands import Group
from kctl.cli.help_sections import argument_help, argument_name
from kctl.cli.limit_names import PROPERTY_OF_OPTION
from kctl.cli.options import common_names, duration_ms
from kctl.cli.output_options import Words
from kctl.cli.pipeline.spark_options import files_text, path, target_text
from kctl.cli.settings import KNOWN
from kctl.client.config import Acks, Choice
from kctl.grammar.durations import show_duration


class Option(NamedTuple):
    """One option of a command.

    Attributes:
        names: names of the option, the long name first.
        off: names that turn a flag off.
        metavar: name of the value in help; empty for a flag.
        words: number of values.
        type: flag, duration, integer, path, choice or text.
        values: all possible values, if they are a few words.
        default: default as a user would write it; empty for none.
        property: Kafka property that the option sets; empty for none.
        is_common: whether every command has the option.
    """

    names: tuple[str, ...]
    off: tuple[str, ...]
    metavar: str
    words: int
    type: str
    values: tuple[str, ...]
    default: str
    property: str
    help: str
    is_required: bool
    is_repeatable: bool
    is_common: bool

    @property
    def takes_value(self) -> bool:
        return self.type != "flag"


class Argument(NamedTuple):
    """Positional argument of a command. `metavar` includes brackets and dots."""

    metavar: str
    help: str
    is_required: bool
    is_repeatable: bool


class Command(NamedTuple):
    """One command or command group. `path` starts at the root, such as ("kctl", "groups", "list")."""

    path: tuple[str, ...]
    summary: str
    text: tuple[str, ...]
    arguments: tuple[Argument, ...]
    options: tuple[Option, ...]
    commands: tuple["Command", ...]

    @property
    def name(self) -> str:
        return " ".join(self.path)

    @property
    def runs(self) -> bool:
        """Return whether the command can run without a subcommand."""
        return not self.commands or any(option.is_common for option in self.options)

    def walk(self) -> Iterator["Command"]:
        """Yield this command and all commands below it, in help order."""
        yield self
        for command in self.commands:
            yield from command.walk()


@cache
def read_tree() -> Command:
    group = command_of(root)
    assert isinstance(group, Group)
    context = typer.Context(group, info_name="kctl", help_option_names=["-h", "--help"])
    commands = []
    for name, entry in COMMANDS.items():
        command = group.get_command(context, name)
        assert command is not None
        commands.append(_read(command, ("kctl", name), context, entry.summary))
    text = tuple(HELP.split("\n\n"))
    return Command(("kctl",), text[0], _paragraphs(HELP), (), _options(group, context), tuple(commands))


def _read(command: Any, path: tuple[str, ...], parent: Any, summary: str = "") -> Command:
    context = typer.Context(command, info_name=path[-1], parent=parent)
    text = _paragraphs(command.help or "")
    below = command.commands if isinstance(command, Group) else {}
    return Command(
        path,
        summary or text[0],
        text,
        tuple(_argument(command, each) for each in command.params if each.param_type_name == "argument"),
        _options(command, context),
        tuple(_read(each, (*path, name), context) for name, each in below.items() if not each.hidden),
    )


def _paragraphs(text: str) -> tuple[str, ...]:
    return tuple(" ".join(part.split()) for part in text.strip().split("\n\n"))


def _argument(command: Any, declared: Any) -> Argument:
    return Argument(argument_name(declared), argument_help(command, declared), declared.required, declared.nargs == -1)


def _options(command: Any, context: Any) -> tuple[Option, ...]:
    declared = [each for each in command.get_params(context) if each.param_type_name == "option" and not each.hidden]
    names = {each.name for each in declared}
    shared = common_names() if "api_timeout" in names else frozenset[str]()
    return tuple(_option(each, is_common=each.name in shared) for each in declared)


def _option(declared: Any, *, is_common: bool) -> Option:
    names = tuple(sorted(declared.opts, key=lambda name: not name.startswith("--")))
    sets = PROPERTY_OF_OPTION.get(names[0], "")
    kind = _type(declared)
    return Option(
        names=names,
        off=tuple(declared.secondary_opts),
        metavar="" if declared.is_flag else _metavar(declared, kind),
        words=0 if declared.is_flag else declared.nargs,
        type=kind,
        values=_values(declared, sets),
        default=_default(declared, sets),
        property=sets,
        help=declared.help or "",
        is_required=declared.required,
        is_repeatable=declared.multiple,
        is_common=is_common,
    )


def _type(declared: Any) -> str:
    if declared.is_flag:
        return "flag"
    function = getattr(declared.type, "func", None)
    if function is not None and unwrap(function) is duration_ms:
        return "duration"
    if isinstance(function, Words) or hasattr(declared.type, "choices"):
        return "choice"
    if function in (path, files_text, target_text):
        return "path"
    kinds = {"integer range": "integer", "integer": "integer", "path": "path"}
    return kinds.get(declared.type.name, "text")


def _metavar(declared: Any, kind: str) -> str:
    if declared.metavar and kind != "choice":
        return str(declared.metavar)
    return {"integer": "N", "choice": "WORD", "path": "PATH", "duration": "DURATION"}.get(kind, "TEXT")


def _values(declared: Any, sets: str) -> tuple[str, ...]:
    function = getattr(declared.type, "func", None)
    if isinstance(function, Words):
        return function.words
    if hasattr(declared.type, "choices"):
        return tuple(str(each.value if isinstance(each, Enum) else each) for each in declared.type.choices)
    kind = KNOWN[sets].kind if sets else None
    if isinstance(kind, Choice):
        return kind.words
    return kind.WORDS if isinstance(kind, Acks) else ()


def _default(declared: Any, sets: str) -> str:
    value = KNOWN[sets].default if sets else declared.default
    if isinstance(value, Enum):
        value = value.value
    if not isinstance(value, str | int) or isinstance(value, bool):
        return ""
    if _type(declared) == "duration":
        return show_duration(int(value))
    return KNOWN[sets].show(value) if sets else str(value)
