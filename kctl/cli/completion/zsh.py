"""Completion script for zsh: a `#compdef` file for `_arguments`."""

from collections.abc import Iterable

from kctl.cli.command_tree import Option
from kctl.cli.completion.places import (
    LISTS,
    NAMES_NOTE,
    CommandSpec,
    Offer,
    has_shared,
    offer_of,
    shared_options,
    short,
)

_HEAD = (
    r"""#compdef kctl
# kctl completion for zsh. Made by tools/write_manuals.py from the commands. Do not edit.
"""
    + NAMES_NOTE
    + r"""
_kctl_names() {  # KIND: names that the cluster has
    local -a names
    [[ $PREFIX == -* ]] && return 1  # the user types an option
    names=("${(@f)$(${~_kctl_words[1]} __complete $1 "${(j: :)_kctl_words}" 2>/dev/null)}")
    names=(${names:#})
    (( $#names )) && compadd "${@:2}" -a names
}
"""
)

_SPECIAL = {ord(each): f"\\{each}" for each in "[]:\\"}
_SHARED = "_kctl_on_cluster"

_TAIL = r"""
_kctl "$@"
"""


def zsh_script(places: list[CommandSpec]) -> str:
    lines = []
    for kind in ("topics", "groups", "profiles"):
        lines.append(f'_kctl_names_{kind}() {{ _kctl_names {kind} "$@" }}')
    for name, words in LISTS.items():
        suffix = "-S '' " if name == "properties" else ""
        lines += ["", f'_kctl_list_{name}() {{ compadd "$@" {suffix}-- \\', *(f"    {word} \\" for word in words), "}"]
    shared = shared_options(places)
    specs = _specs(option for option in next(filter(has_shared, places)).options if option in shared)
    lines += [
        "",
        f"{_SHARED}() {{  # SPEC...: adds the common options of commands that use a cluster",
    ]
    lines += [*_call('_arguments -s -S "$@"', specs), "}"]
    for place in reversed(places):
        lines += ["", *(_group(place) if place.commands else _leaf(place, shared))]
    return _HEAD + "\n" + "\n".join(lines) + "\n" + _TAIL


def _function(path: str) -> str:
    return "_kctl" + "".join(f"_{word}" for word in path.split())


def _leaf(place: CommandSpec, shared: frozenset[Option]) -> list[str]:
    own = [option for option in place.options if not (has_shared(place) and option in shared)]
    specs = _specs(own)
    for number, offer in enumerate(place.arguments):
        position = "*" if number == len(place.arguments) - 1 else str(number + 1)
        specs.append(_quoted(f"{position}:{_escaped(_what(offer))}:{_action(offer)}"))
    call = _SHARED if has_shared(place) else "_arguments -s -S"
    return [f"{_function(place.path)}() {{", *_call(call, specs), "}"]


def _call(command: str, specs: list[str]) -> list[str]:
    return " \\\n        ".join([f"    {command}", *specs]).splitlines()


def _group(place: CommandSpec) -> list[str]:
    specs = _specs(place.options)
    lines = [f"{_function(place.path)}() {{", "    local line state", "    local -a commands"]
    lines += [] if place.path else ['    local -a _kctl_words=("${(@)words[1,CURRENT-1]}")']
    lines += ["    _arguments -C -S \\"]
    lines += [f"        {spec} \\" for spec in specs]
    lines += ["        '1:command:->command' \\", "        '*::argument:->argument' && return 0", "    case $state in"]
    lines += ["        command)", "            commands=("]
    lines += [f"                {_quoted(f'{_escaped(name)}:{text}')}" for name, text in place.commands]
    lines += ["            )", "            _describe -t commands command commands ;;"]
    lines += ["        argument)", "            case $words[1] in"]
    for name, _ in place.commands:
        lines.append(f"                {name}) {_function(f'{place.path} {name}')} ;;")
    return [*lines, "            esac ;;", "    esac", "}"]


def _specs(options: Iterable[Option]) -> list[str]:
    return [_option(option) for option in options]


def _option(option: Option) -> str:
    """Return the quoted spec of an option. zsh expands {--long=,-s+} to one spec for each name."""
    names = (*option.names, *option.off)
    others = "*" if option.is_repeatable else f"({' '.join(names)})"
    rest = f"[{short(option.help).translate(_SPECIAL)}]"
    if option.takes_value:
        rest += "".join(f":{_escaped(word)}:{_action(offer_of(option))}" for word in _metavars(option))
    taking = [f"{name}{_stuck(name) if option.words == 1 else ''}" for name in names]
    if len(taking) == 1:
        return _quoted(others + taking[0] + rest)
    return f"{_quoted(others)}{{{','.join(taking)}}}{_quoted(rest)}"


def _stuck(name: str) -> str:
    return "=" if name.startswith("--") else "+"


def _metavars(option: Option) -> list[str]:
    return option.metavar.split() if option.words > 1 else [option.metavar]


def _action(offer: Offer) -> str:
    if offer.words:
        return f"({' '.join(offer.words)})"
    if offer.names:
        return f"_kctl_names_{offer.names}"
    if offer.list:
        return f"_kctl_list_{offer.list}"
    return "_files" if offer.has_files else " "


def _what(offer: Offer) -> str:
    return offer.names.removesuffix("s") or ("file" if offer.has_files else "argument")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace(":", "\\:")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
