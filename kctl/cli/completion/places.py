"""What a shell can complete after each command, read from the command tree."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from kctl.cli.command_tree import Command, Option, read_tree
from kctl.cli.exit_codes import ExitCode
from kctl.cli.settings import KNOWN
from kctl.client.broker_errors import ErrorCode


class Offer(NamedTuple):
    """Completions for one word of a command line.

    Attributes:
        words: fixed words.
        names: kind of names for `kctl __complete`; empty for none.
        list: key of LISTS; empty for none.
    """

    words: tuple[str, ...] = ()
    names: str = ""
    list: str = ""
    has_files: bool = False


NAMES_NOTE = """\
# This script contains commands, options, and their values. Names of topics, groups, and profiles come from
# `kctl __complete`, which exits within 300ms (KCTL_COMPLETION_TIMEOUT_MS).
"""
"""Comment about names in the scripts."""
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
"""Completions for a capitalized word in a metavar, such as `TOPIC [FILE]...` or `TOPIC[:P,P-P]`."""

LISTS: dict[str, tuple[str, ...]] = {
    "properties": tuple(sorted({f"{declared.name}=" for declared in KNOWN.values() if not declared.secret})),
    "subjects": (
        *(code.name for code in ExitCode),
        *(code.name for code in ErrorCode if code.name not in ExitCode.__members__),
        *sorted({declared.name for declared in KNOWN.values()}),
    ),
}
"""Long lists, once per script: properties for -X without secrets, and subjects of `kctl explain`."""


SHORTEST = 16
"""Minimum length of a help text that is cut before a colon."""


class CommandSpec(NamedTuple):
    """Command for completion.

    Attributes:
        path: words after kctl; empty for kctl itself.
        commands: subcommands with their descriptions.
        arguments: completions of the arguments. The last argument can be repeated.
    """

    path: str
    commands: tuple[tuple[str, str], ...]
    options: tuple[Option, ...]
    arguments: tuple[Offer, ...]


def read_places() -> list[CommandSpec]:
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
    from kctl.sandbox.commands import COMMANDS  # deferred import: only for scripts
    from kctl.sandbox.faults import Fault

    return [Offer(words=tuple(COMMANDS)), NOTHING, Offer(words=tuple(fault.value for fault in Fault)), NOTHING]


def offer_of(option: Option) -> Offer:
    if option.values:
        return Offer(words=option.values)
    if option.names == ("-X",):
        return Offer(list="properties")
    if option.type == "path":
        return FILES
    return _offers(option.metavar)[0]


def _offers(metavar: str) -> list[Offer]:
    words = [re.match(r"\[?([A-Z]+)", part) for part in metavar.split()]
    return [_OF_WORD.get(word[1], NOTHING) for word in words if word is not None] or [NOTHING]


def shared_options(places: list[CommandSpec]) -> frozenset[Option]:
    """Return the options that all cluster commands share. Scripts contain them once."""
    taken = [set(place.options) for place in places if has_shared(place)]
    return frozenset(option for option in set.intersection(*taken) if option.is_common)


def has_shared(place: CommandSpec) -> bool:
    return any(option.is_common for option in place.options)


def short(text: str) -> str:
    """Return the first clause of a help text, for a description."""
    for end in (". ", "; "):
        text = text.partition(end)[0]
    first, _, rest = text.partition(": ")
    return (text if rest and len(first) < SHORTEST else first).removesuffix(".")


def options_with_values(places: list[CommandSpec]) -> list[str]:
    """Return the names of options with values. If a name is a flag of another command, return it as `COMMAND:NAME`.

    Options of `kctl` itself are not compared, since nothing follows them.
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
