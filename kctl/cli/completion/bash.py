"""Completion script for bash 3.2 and newer. The script joins words that bash splits at = and :, and quotes names."""

from shlex import quote

from kctl.cli.completion.places import LISTS, NAMES_NOTE, NOTHING, CommandSpec, Offer, offer_of, options_with_values

_HEAD = (
    r"""# kctl completion for bash. Made by tools/write_manuals.py from the commands. Do not edit.
"""
    + NAMES_NOTE
)

_BODY = r"""
_kctl_add() {  # WORD PREFIX...: those that begin with PREFIX
    local prefix=$1 word
    shift
    for word in "$@"; do
        [[ $word == "$prefix"* ]] && COMPREPLY+=("$word")
    done
}

_kctl_add_names() {  # KIND PREFIX: names that the cluster has, quoted for the command line
    local name
    while IFS= read -r name; do
        [[ $name == "$2"* ]] && COMPREPLY+=("$(printf '%q' "$name")")
    done < <("${words[0]/#\~/$HOME}" __complete "$1" "$line" 2>/dev/null)
}

_kctl_add_files() {
    local name
    compopt -o filenames 2>/dev/null
    while IFS= read -r name; do
        COMPREPLY+=("$name")
    done < <(compgen -f -- "$1")
}

_kctl_add_offer() {  # sets of words, names and files, chosen by _kctl_value and _kctl_argument
    [[ -n $offer_words ]] && _kctl_add "$1" $offer_words
    [[ -n $offer_names ]] && _kctl_add_names "$offer_names" "$1"
    case $offer_list in
        properties) compopt -o nospace 2>/dev/null ;;
    esac
    [[ -n $offer_list ]] && _kctl_add "$1" $(_kctl_list_$offer_list)
    [[ -n $offer_files ]] && _kctl_add_files "$1"
}

_kctl() {
    local line=${COMP_LINE:0:COMP_POINT} rest gap word i words=() IFS=$' \t\n'
    rest=$line
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == COMP_CWORD)); then  # only what is before the cursor
            gap=${rest%%[![:space:]]*}
            word=${rest#"$gap"}
        else
            gap=${rest%%"$word"*}
        fi
        rest=${rest#"$gap"}
        rest=${rest#"$word"}
        if ((i > 0)) && [[ -z $gap ]]; then
            words[${#words[@]}-1]+=$word
        else
            words[${#words[@]}]=$word
        fi
    done

    local path='' option='' count=0 dashes='' commands flags last=$((${#words[@]} - 1))
    local offer_words='' offer_names='' offer_list='' offer_files=''
    _kctl_at ''
    for ((i = 1; i < last; i++)); do
        word=${words[i]}
        if [[ -n $option ]]; then
            option=''
        elif [[ -z $dashes && $word == -- ]]; then
            dashes=1
        elif [[ -z $dashes && $word == -* ]]; then
            [[ " $_kctl_valued " == *" $word "* || " $_kctl_valued " == *" ${path// /.}:$word "* ]] && option=$word
        elif [[ " $commands " == *" $word "* ]]; then
            path="${path:+$path }$word"
            _kctl_at "$path"
        else
            count=$((count + 1))
        fi
    done

    local current=${words[last]} before=''
    COMPREPLY=()
    if [[ -n $option ]]; then
        _kctl_value "$path" "$option"
        [[ $option == -X && $current == *=* ]] && return
        _kctl_add_offer "$current"
    elif [[ -z $dashes && $current == --*=* ]]; then
        option=${current%%=*}
        [[ $COMP_WORDBREAKS == *=* ]] || before=$option=
        _kctl_value "$path" "$option"
        _kctl_add_offer "${current#*=}"
        if [[ -n $before ]]; then
            for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=$before${COMPREPLY[i]}; done
        fi
    elif [[ -z $dashes && $current == -* ]]; then
        _kctl_add "$current" $flags
    elif [[ -n $commands ]]; then
        _kctl_add "$current" $commands
    else
        _kctl_argument "$path" "$count"
        _kctl_add_offer "$current"
    fi
}

complete -F _kctl kctl
"""


def bash_script(places: list[CommandSpec]) -> str:
    lines = [f"_kctl_valued={quote(' '.join(options_with_values(places)))}", ""]
    for name, words in LISTS.items():
        lines += [f"_kctl_list_{name}() {{", "    cat <<'END'", *words, "END", "}", ""]
    return _HEAD + "\n" + "\n".join([*lines, *_at(places), *_value(places), *_argument(places)]) + _BODY


def _at(places: list[CommandSpec]) -> list[str]:
    lines = ["_kctl_at() {  # PATH: sets the commands and flags that can follow", "    case $1 in"]
    for place in places:
        names = [name for option in place.options for name in (*option.names, *option.off)]
        commands = " ".join(name for name, _ in place.commands)
        lines += [f"        {quote(place.path)})"]
        lines += [f"            commands={quote(commands)}", f"            flags={quote(' '.join(names))} ;;"]
    return [*lines, "    esac", "}", ""]


def _value(places: list[CommandSpec]) -> list[str]:
    offers: dict[str, dict[str, Offer]] = {}
    for place in places:
        for option in place.options:
            for name in option.names if option.takes_value else ():
                offers.setdefault(name, {})[place.path] = offer_of(option)
    patterns: dict[Offer, list[str]] = {}
    for name, by_path in offers.items():
        for path, offer in by_path.items():
            same = len(set(by_path.values())) == 1
            pattern = f"*{quote(f' {name}')}" if same else quote(f"{path} {name}")
            if pattern not in patterns.setdefault(offer, []):
                patterns[offer].append(pattern)
    lines = ["_kctl_value() {  # PATH OPTION: sets the values that can follow the option", '    case "$1 $2" in']
    for offer, given in patterns.items():
        if offer != NOTHING:
            lines += [f"        {' | '.join(given)})", f"            {_assign(offer)} ;;"]
    return [*lines, "    esac", "}", ""]


def _argument(places: list[CommandSpec]) -> list[str]:
    lines = ["_kctl_argument() {  # PATH COUNT: sets what the next argument can be", '    case "$1 $2" in']
    for place in places:
        for number, offer in enumerate(place.arguments):
            after = "*" if number == len(place.arguments) - 1 else str(number)
            if offer != NOTHING:
                lines.append(f"        {quote(f'{place.path} ')}{after}) {_assign(offer)} ;;")
    return [*lines, "    esac", "}"]


def _assign(offer: Offer) -> str:
    values = {"words": " ".join(offer.words), "names": offer.names, "list": offer.list}
    values["files"] = "1" if offer.has_files else ""
    return " ".join(f"offer_{name}={quote(value)}" for name, value in values.items() if value)
