"""The completion of zsh: a `#compdef` file on `_arguments`, which knows options, repetition and descriptions itself."""

from kctl.cli.command_tree import Option
from kctl.cli.completion.places import LISTS, CommandSpec, Offer, offer_of, short

_HEAD = r"""#compdef kctl
# kctl completion for zsh. Made by tools/write_manuals.py from the commands; do not edit.
# Commands, options and their words are known here. Names of topics, groups and profiles are asked of
# `kctl __complete`, which answers within 300 ms (KCTL_COMPLETION_TIMEOUT_MS) or not at all.

_kctl_names() {  # KIND: names that the cluster has
    local -a names
    [[ $PREFIX == -* ]] && return 1  # an option is being written
    names=("${(@f)$(${~_kctl_words[1]} __complete $1 "${(j: :)_kctl_words}" 2>/dev/null)}")
    names=(${names:#})
    (( $#names )) && compadd "${@:2}" -a names
}
"""

_TAIL = r"""
_kctl "$@"
"""


def zsh_script(places: list[CommandSpec]) -> str:
    """Return the file `_kctl`."""
    lines = []
    for kind in ("topics", "groups", "profiles"):
        lines.append(f'_kctl_names_{kind}() {{ _kctl_names {kind} "$@" }}')
    for name, words in LISTS.items():
        suffix = "-S '' " if name == "properties" else ""
        lines += ["", f'_kctl_list_{name}() {{ compadd "$@" {suffix}-- \\', *(f"    {word} \\" for word in words), "}"]
    for place in reversed(places):
        lines += ["", *(_group(place) if place.commands else _leaf(place))]
    return _HEAD + "\n" + "\n".join(lines) + "\n" + _TAIL


def _function(path: str) -> str:
    return "_kctl" + "".join(f"_{word}" for word in path.split())


def _leaf(place: CommandSpec) -> list[str]:
    specs = [spec for option in place.options for spec in _option(option)]
    for number, offer in enumerate(place.arguments):
        position = "*" if number == len(place.arguments) - 1 else str(number + 1)
        specs.append(f"{position}:{_escaped(_what(offer))}:{_action(offer)}")
    lines = [f"{_function(place.path)}() {{", "    _arguments -s -S \\"]
    return [*lines, *(f"        {_quoted(spec)} \\" for spec in specs), "        && return 0", "    return 1", "}"]


def _group(place: CommandSpec) -> list[str]:
    specs = [spec for option in place.options for spec in _option(option)]
    lines = [f"{_function(place.path)}() {{", "    local line state", "    local -a commands"]
    lines += [] if place.path else ['    local -a _kctl_words=("${(@)words[1,CURRENT-1]}")']
    lines += ["    _arguments -C -S \\"]
    lines += [f"        {_quoted(spec)} \\" for spec in specs]
    lines += ["        '1:command:->command' \\", "        '*::argument:->argument' && return 0", "    case $state in"]
    lines += ["        command)", "            commands=("]
    lines += [f"                {_quoted(f'{_escaped(name)}:{text}')}" for name, text in place.commands]
    lines += ["            )", "            _describe -t commands command commands ;;"]
    lines += ["        argument)", "            case $words[1] in"]
    for name, _ in place.commands:
        lines.append(f"                {name}) {_function(f'{place.path} {name}')} ;;")
    return [*lines, "            esac ;;", "    esac", "}"]


def _option(option: Option) -> list[str]:
    names = (*option.names, *option.off)
    others = "*" if option.is_repeatable else f"({' '.join(names)})"
    text = short(option.help).translate({ord(each): f"\\{each}" for each in "[]:\\"})
    specs = []
    for name in names:
        if not option.takes_value:
            specs.append(f"{others}{name}[{text}]")
            continue
        stuck = "=" if name.startswith("--") else "+"
        values = [f":{_escaped(word)}:{_action(offer_of(option))}" for word in _metavars(option)]
        specs.append(f"{others}{name}{stuck if option.words == 1 else ''}[{text}]{''.join(values)}")
    return specs


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
