"""Places: what a shell can offer at each place of a command line, read from the tree of commands.

Owns which metavar stands for which kind of name; knows no shell.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from kctl.cli.command_tree import Command, Option, read_tree
from kctl.cli.exit_codes import ExitCode
from kctl.cli.settings import KNOWN
from kctl.client.broker_errors import ErrorCode


class Offer(NamedTuple):
    """What can stand at one place.

    Attributes:
        words: a few that are known.
        names: the kind of names that `kctl __complete` looks up; empty for none.
        list: the name of a longer list of LISTS; empty for none.
        has_files: are files offered?
    """

    words: tuple[str, ...] = ()
    names: str = ""
    list: str = ""
    has_files: bool = False


NAMES_NOTE = """\
# Commands, options and their words are known here. Names of topics, groups and profiles come from
# `kctl __complete`, which ends within 300 ms (KCTL_COMPLETION_TIMEOUT_MS).
"""
"""What the script of each shell says of its names."""
NOTHING = Offer()
TOPICS, GROUPS, PROFILES = Offer(names="topics"), Offer(names="groups"), Offer(names="profiles")
FILES = Offer(has_files=True)

_OF_WORD = {
    "TOPIC": TOPICS,
    "GROUP": GROUPS,
    "PROFILE": PROFILES,
    "FILE": FILES,
    "PATH": FILES,
    "BEFORE": FILES,
    "AFTER": FILES,
    "CODE": Offer(list="subjects"),
}
"""What a word in capitals stands for in a metavar, such as `TOPIC [FILE]...` or `TOPIC[:P,P-P]`."""

LISTS: dict[str, tuple[str, ...]] = {
    "properties": tuple(sorted({f"{declared.name}=" for declared in KNOWN.values() if not declared.secret})),
    "subjects": (
        *(code.name for code in ExitCode),
        *(code.name for code in ErrorCode if code.name not in ExitCode.__members__),
        *sorted({declared.name for declared in KNOWN.values()}),
    ),
}
"""Longer lists, each once in a script: what -X takes (no secrets), and what `kctl explain` knows by name."""


SHORTEST = 16
"""Characters that say something by themselves before a colon."""


class CommandSpec(NamedTuple):
    """One command.

    Attributes:
        path: its words below kctl, with blanks; empty for kctl itself.
        arguments: what its arguments are, one after the other; the last may be repeated.
    """

    path: str
    commands: tuple[tuple[str, str], ...]
    options: tuple[Option, ...]
    arguments: tuple[Offer, ...]


def read_places() -> list[CommandSpec]:
    """Return every command, in the order of the help."""
    return [_place(command) for command in read_tree().walk()]


def _place(command: Command) -> CommandSpec:
    arguments = [offer for each in command.arguments for offer in _offers(each.metavar)]
    if command.path == ("kctl", "sandbox", "fault"):
        arguments = _sandbox_faults()
    return CommandSpec(
        " ".join(command.path[1:]),
        tuple((each.path[-1], short(each.summary)) for each in command.commands),
        command.options,
        tuple(arguments),
    )


def _sandbox_faults() -> list[Offer]:
    """Return what follows `sandbox fault`: a command, a broker id, and a fault."""
    from kctl.sandbox.commands import COMMANDS  # deferred import: a cluster, needed to write a script alone
    from kctl.sandbox.faults import Fault

    return [Offer(words=tuple(COMMANDS)), NOTHING, Offer(words=tuple(fault.value for fault in Fault)), NOTHING]


def offer_of(option: Option) -> Offer:
    """Return what can follow an option."""
    if option.values:
        return Offer(words=option.values)
    if option.names == ("-X",):
        return Offer(list="properties")
    if option.type == "path":
        return FILES
    return _offers(option.metavar)[0]


def _offers(metavar: str) -> list[Offer]:
    """Return what can follow, one after the other; the last may be repeated."""
    words = [re.match(r"\[?([A-Z]+)", part) for part in metavar.split()]
    return [_OF_WORD.get(word[1], NOTHING) for word in words if word is not None] or [NOTHING]


def shared_options(places: list[CommandSpec]) -> frozenset[Option]:
    """Return the options that are the same in all commands that talk to a cluster; a script has them once."""
    taken = [set(place.options) for place in places if has_shared(place)]
    return frozenset(option for option in set.intersection(*taken) if option.is_common)


def has_shared(place: CommandSpec) -> bool:
    """Return whether a command has the options of all commands that talk to a cluster."""
    return any(option.is_common for option in place.options)


def short(text: str) -> str:
    """Return the first thing that a help says, for a line beside a name."""
    for end in (". ", "; "):
        text = text.partition(end)[0]
    first, _, rest = text.partition(": ")
    return (text if rest and len(first) < SHORTEST else first).removesuffix(".")


def options_with_values(places: list[CommandSpec]) -> list[str]:
    """Return the names of all options that a value follows: `COMMAND:--export` if --export is a flag elsewhere.

    The options of `kctl` itself are left out: they end it, so that nothing is completed behind them.
    """
    below = [place for place in places if place.path]
    flags = {name for option in _all_options(below) if not option.takes_value for name in (*option.names, *option.off)}
    found = dict.fromkeys(
        f"{place.path.replace(' ', '.')}:{name}" if name in flags else name
        for place in places
        for option in place.options
        if option.takes_value
        for name in option.names
    )
    return list(found)


def _all_options(places: list[CommandSpec]) -> Iterator[Option]:
    for place in places:
        yield from place.options
