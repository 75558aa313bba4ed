"""Spellings: a command line as people type it who come from other tools, rewritten to the commands that kctl declares.

Owns the aliases of commands (`topic`, `group`, `ls`, `help`, `version`), and the place of shared options: before the
command they mean the same as behind it. Words behind the command are not read: only its parser knows their options.
"""

from collections.abc import Sequence
from itertools import pairwise

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
    rest = [*shared, *rest]
    if name not in GROUPS:
        return [name, *rest]
    more, behind = _take_shared(rest)
    if not behind or behind[0].startswith("-"):
        return [name, *behind]
    subcommand = SUBCOMMAND_ALIASES.get(behind[0], behind[0])
    return [name, subcommand, *more, *behind[1:]]


def wants_json(arguments: Sequence[str]) -> bool:
    """Return whether a command line asks for JSON; it does not have to be valid otherwise."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    formats = [word.removeprefix("--output=") for word in own if word.startswith("--output=")]
    formats += [value for name, value in pairwise(own) if name == "--output"]
    return "--json" in own or any(each.lower() in ("json", "jsonl") for each in formats)


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

    takes_value = shared_option_names()
    name, equals, _ = argument.partition("=")
    if name in takes_value and not (equals and not takes_value[name]):
        return 2 if takes_value[name] and not equals else 1
    is_attached = not argument.startswith("--") and takes_value.get(argument[:2], False)  # -bHOST:PORT
    return 1 if is_attached else 0
