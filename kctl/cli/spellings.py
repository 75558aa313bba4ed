"""Spellings: a command line as people type it who come from other tools, rewritten to the commands that kctl declares.

Owns the aliases of commands (`topic`, `group`, `ls`, `help`, `version`), `--json`, `--watch 10s`, and the place of
shared options: before the command they mean the same as behind it.
"""

from collections.abc import Sequence

ALIASES = {
    "topic": "topics",
    "group": "groups",
    "profiles": "profile",
    "acl": "acls",
    "user": "users",
    "quota": "quotas",
    "schema": "schemas",
    "transaction": "transactions",
    "partition": "partitions",
    "broker": "brokers",
}
"""Other names of commands."""
SUBCOMMAND_ALIASES = {"ls": "list"}
GROUPS = (
    "topics", "groups", "acls", "users", "quotas", "schemas", "profile", "bench", "pipeline", "why", "transactions",
    "configs", "cluster", "brokers", "partitions", "wait", "sandbox",
)  # fmt: skip
"""Commands that do nothing without a subcommand, and whose subcommands have the shared options."""
PRINTING = (*GROUPS, "api", "consume", "apply", "doctor", "explain", "probe")
"""Commands with `--output`."""
TWO_LOOKS = ("why", "doctor")
OF_AUTO = ("--decode", "--encode")
"""Options whose value is `auto` where none is given."""
_OF_ROOT = ("-h", "--help", "-V", "--version")


def rewrite(arguments: Sequence[str]) -> list[str]:
    """Return the same command line in the words of kctl; one that is in them already stays as it is."""
    shared, words = _take_shared(arguments)
    if not words or words[0].startswith("-"):
        return list(arguments)
    name, *rest = words
    name = ALIASES.get(name, name)
    if name == "help":
        return [*rewrite(rest), "--help"]
    if name == "version":
        return ["--version"]
    rest = _without_cluster_name(rest) if name == "acls" else rest
    rest = _with_interval(name, _with_forms(_with_json(name, [*shared, *rest])))
    if name not in GROUPS:
        return [name, *rest]
    more, behind = _take_shared(rest)
    if not behind or behind[0].startswith("-"):
        return [name, *behind]
    subcommand = SUBCOMMAND_ALIASES.get(behind[0], behind[0])
    return [name, subcommand, *more, *behind[1:]]


def _without_cluster_name(words: Sequence[str]) -> list[str]:
    """Return the words without the name behind `--cluster`, which is always the same in Kafka."""
    return [word for at, word in enumerate(words) if (words[max(0, at - 1)], word) != ("--cluster", "kafka-cluster")]


def _with_json(name: str, words: Sequence[str]) -> list[str]:
    """Return the words of a command with `--output` in the place of `--json`: jsonl for a stream, json for a list."""
    if "--json" not in words or name not in PRINTING:
        return list(words)
    has_looks = any(word.split("=")[0] in ("--watch", "--count") for word in words)
    is_stream = name == "consume" or (has_looks and name not in TWO_LOOKS)
    at = words.index("--json")
    if "--" in words[:at]:
        return list(words)
    return [*words[:at], "--output", "jsonl" if is_stream else "json", *words[at + 1 :]]


def _with_interval(name: str, words: Sequence[str]) -> list[str]:
    """Return the words of `why` and `doctor` with `--watch --interval 10s` in the place of `--watch 10s`."""
    if name not in TWO_LOOKS:
        return list(words)
    found: list[str] = []
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        follows = words[at + 1] if at + 1 < len(words) else ""
        if option == "--watch" and (equals or follows[:1].isdigit()):
            found += ["--watch", "--interval", *([value] if equals else [])]
        else:
            found.append(word)
    return found


def _with_forms(words: Sequence[str]) -> list[str]:
    """Return the words with `auto` behind a --decode or --encode that has no value of its own."""
    found: list[str] = []
    for word, following in zip(words, [*words, "-"][1:], strict=True):
        found.append(word)
        if word in OF_AUTO and following.startswith("-"):
            found.append("auto")
    return found


def _take_shared(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the shared options at the beginning of some arguments, with their values, and what follows them."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] not in _OF_ROOT:
        words = _words_of_shared(arguments[at])
        following = arguments[at + 1] if at + 1 < len(arguments) else ""
        if words == 0 or (arguments[at] == "-C" and following.startswith("-")):  # no profile: kcat's -C
            break
        at += words
    return list(arguments[:at]), list(arguments[at:])


def _words_of_shared(argument: str) -> int:
    """Return how many words a shared option is, with its value; 0 for what is no shared option."""
    from kctl.cli.options import shared_option_names  # 10 ms of import, wanted where an option comes first

    takes_value = {**shared_option_names(), "--json": False}
    name, equals, _ = argument.partition("=")
    if name in takes_value and not (equals and not takes_value[name]):
        return 2 if takes_value[name] and not equals else 1
    is_attached = not argument.startswith("--") and takes_value.get(argument[:2], False)  # -bHOST:PORT
    return 1 if is_attached else 0
