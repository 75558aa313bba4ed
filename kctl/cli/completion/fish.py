"""Completion script for fish: a `complete` line for each command, option and argument, with its condition."""

from kctl.cli.command_tree import Option
from kctl.cli.completion.places import (
    LISTS,
    NAMES_NOTE,
    NOTHING,
    CommandSpec,
    Offer,
    has_shared,
    offer_of,
    options_with_values,
    shared_options,
    short,
)

_HEAD = (
    r"""# kctl completion for fish. Made by tools/write_manuals.py from the commands. Do not edit.
"""
    + NAMES_NOTE
)

_FUNCTIONS = r"""
function __kctl_walk --description 'Print the command that the line has come to, and how many arguments it has'
    set -l path
    set -l count 0
    set -l is_value 0
    for word in (commandline -opc)[2..-1]
        if test $is_value = 1
            set is_value 0
        else if string match -q -- '-*' $word
            set -l place (string trim -- "$path" | string replace -a ' ' '.')
            if contains -- $word $__kctl_valued; or contains -- "$place:$word" $__kctl_valued
                set is_value 1
            end
        else if contains -- "$path $word" $__kctl_paths
            set path "$path $word"
        else
            set count (math $count + 1)
        end
    end
    echo "$path"
    echo $count
end

function __kctl_at --description 'Has the line come to this command?'
    set -l walked (__kctl_walk)
    test "$walked[1]" = "$argv[1]"
end

function __kctl_is_on_cluster --description 'Has the line come to a command that talks to a cluster?'
    set -l walked (__kctl_walk)
    contains -- "$walked[1]" $__kctl_on_cluster
end

function __kctl_argument --description 'Is the next argument of this command its number so-and-so?'
    string match -q -- '-*' (commandline -ct); and return 1
    set -l walked (__kctl_walk)
    test "$walked[1]" = "$argv[1]"; and test $walked[2] $argv[2] $argv[3]
end

function __kctl_names --description 'Names that the cluster has'
    set -l words (commandline -opc)
    $words[1] __complete $argv[1] (commandline -pc | string collect) 2>/dev/null
end
"""


def fish_script(places: list[CommandSpec]) -> str:
    paths = " ".join(_quoted(f" {place.path}") for place in places if place.path)
    on_cluster = " ".join(_quoted(f" {place.path}") for place in places if has_shared(place))
    lines = [f"set -g __kctl_valued {' '.join(options_with_values(places))}", f"set -g __kctl_paths {paths}"]
    lines.append(f"set -g __kctl_on_cluster {on_cluster}")
    for name, words in LISTS.items():
        lines.append(f"set -g __kctl_list_{name} {' '.join(words)}")
    lines += _FUNCTIONS.splitlines()
    lines += ["", "complete -c kctl -e", "complete -c kctl -f"]
    shared = shared_options(places)
    condition = _condition("__kctl_is_on_cluster")
    lines += sorted(_complete(condition, _option(option), short(option.help)) for option in shared)
    for place in places:
        at = f" {place.path}" if place.path else ""
        lines.append("")
        for name, text in place.commands:
            lines.append(_complete(_condition(f"__kctl_at {_inner(at)}"), f"-a {name}", text))
        for option in place.options:
            if has_shared(place) and option in shared:
                continue
            lines.append(_complete(_condition(f"__kctl_at {_inner(at)}"), _option(option), short(option.help)))
        for number, offer in enumerate(place.arguments):
            is_last = number == len(place.arguments) - 1
            after = f"{'-ge' if is_last else '-eq'} {number}"
            if offer != NOTHING:
                lines.append(_complete(_condition(f"__kctl_argument {_inner(at)} {after}"), _values(offer), ""))
    return _HEAD + "\n" + "\n".join(lines) + "\n"


def _complete(condition: str, what: str, text: str) -> str:
    return f"complete -c kctl {condition} {what}" + (f" -d {_quoted(text)}" if text else "")


def _condition(test: str) -> str:
    return f"-n {_quoted(test)}"


def _option(option: Option) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in (*option.names, *option.off)]
    if not option.takes_value:
        return " ".join(names)
    offer = offer_of(option)
    return " ".join([*names, _values(offer).replace("-F", "-r -F") if offer != NOTHING else "-x"]).strip()


def _values(offer: Offer) -> str:
    if offer.words:
        return f"-x -a {_quoted(' '.join(offer.words))}"
    if offer.names:
        return f"-x -a '(__kctl_names {offer.names})'"
    if offer.list:
        return f"-x -a '$__kctl_list_{offer.list}'"
    return "-F"


def _inner(text: str) -> str:
    return f'"{text}"'


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
