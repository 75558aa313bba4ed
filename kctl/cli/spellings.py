"""Spellings: a command line as people type it who come from other tools, rewritten to the commands that kctl declares.

Owns the aliases of commands (`topic`, `group`, `ls`, `help`, `version`), the options of other tools that mean the same
as one of kctl, and the place of shared options: before the command they mean the same as behind it. `rewrite` does not
read the words behind the command: `translate` does, for the parser, which knows the options of the command.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import dropwhile, pairwise

ALIASES = {
    "topic": "topics",
    "group": "groups",
    "profiles": "profile",
    "acl": "acls",
    "user": "users",
    "quota": "quotas",
    "schema": "schemas",
    "transaction": "transactions",
    "txn": "transactions",
    "partition": "partitions",
    "broker": "brokers",
    "ping": "probe",
    "consumer-groups": "groups",
    "config": "configs",
    "registry": "schemas",
    "health": "doctor",
    "status": "doctor",
    "console-consumer": "consume",
    "console-producer": "produce",
}
"""Other names of commands."""
SUBCOMMAND_ALIASES = {"ls": "list", "rm": "delete"}
PHRASES = {
    "lag": "groups lag",
    "offsets": "topics offsets",
    "get-offsets": "topics offsets",
    "log-dirs": "brokers disks",
    "logdirs": "brokers disks",
    "quorum": "cluster quorum",
    "nodes": "cluster describe",
    "brokers list": "cluster describe",
    "cluster info": "cluster describe",
    "cluster list": "cluster describe",
    "cluster health": "doctor",
    "configs list": "configs show",
    "configs describe": "configs show",
    "configs get": "configs show",
    "topics consume": "consume",
    "topics produce": "produce",
    "topics get": "topics describe",
    "topics alter-config": "topics alter",
    "topics trim-prefix": "topics trim",
    "sandbox up": "sandbox start",
    "sandbox tell": "sandbox fault",
}
"""Commands of other tools and former names, with their subcommand, that have the arguments of these."""
FLAGS = {
    "topics": {
        "--list": "list", "--describe": "describe", "--create": "create", "--alter": "alter", "--delete": "delete",
    },
    "groups": {
        "--list": "list", "--describe": "describe", "--delete": "delete", "--reset-offsets": "reset-offsets",
        "--delete-offsets": "delete-offsets",
    },
    "acls": {"--list": "list", "--add": "create", "--remove": "delete"},
    "configs": {"--describe": "show"},
    "quotas": {"--list": "list", "--describe": "describe"},
    "users": {"--list": "list", "--create": "create", "--alter": "alter", "--delete": "delete"},
    "partitions": {"--list": "list"},
    "transactions": {"--list": "list", "--describe": "describe"},
    "cluster": {"--describe": "describe"},
    "schemas": {"--list": "list"},
    "profile": {"--list": "list"},
}  # fmt: skip
"""Subcommands as the scripts of Kafka write them, before or behind other options: `--topic orders --describe`."""
MODES = {"-C": ["consume"], "-P": ["produce"], "-G": ["consume", "-g"]}
"""Modes of kcat. `-C` names a profile, unless an option follows."""
VERBS = ("get", "list", "ls", "describe", "create", "delete", "rm")
"""First words of tools that name the verb before the noun: `describe topic orders`."""
ARGUMENT = "an argument"
_TOPIC = {"--topic": ARGUMENT, "-t": ARGUMENT}
_CONFIRMED = {"-y": "--yes", "--no-confirm": "--yes", "--force": "--execute"}
OPTIONS: dict[str, dict[str, str]] = {
    "consume": {
        **_TOPIC, **dict.fromkeys(("--max-messages", "--max-records", "--count", "--limit", "--num", "-c"), "-n"),
        "--exit": "-e", "--consumer-group": "-g", "--group-id": "-g", "--partitions": "-p", "--offsets": "-o",
        "--isolation": "--isolation-level", "--timeout-ms": "--idle-timeout", "-G": "-g", "-u": "",
    },
    "produce": {
        **_TOPIC, "-z": "--compression", "--compression-codec": "--compression", "--separator": "-K",
        "--required-acks": "--acks", "--request-required-acks": "--acks", "--txn-id": "--transactional-id",
        "--txn": "--transactional", "--now": "--reset-timestamps", "--file-per-message": "--file-per-record",
        "--sync": "",
    },
    "topics": {
        **_TOPIC, "--replicas": "--replication-factor", "--replication": "--replication-factor", "-c": "--config",
        "--topic-config": "--config", "--set": "--config",
        "--under-replicated-partitions": "--under-replicated", "--unavailable-partitions": "--offline",
    },
    "topics list": {"--exclude-internal": ""},
    "topics describe": {"-p": ""},
    "topics trim": {"-o": "--before", "--offset": "--before"},
    "groups": {"--group": ARGUMENT, "-g": ARGUMENT, "--all-groups": "--all"},
    "acls": {"--allow-host": "--host", "--deny-host": "--host"},
    "acls create": {"--principal": "--allow", "--allow-principal": "--allow", "--deny-principal": "--deny"},
    "acls check": {"--principal": ARGUMENT},
    "acls list": {"--allow-principal": "--principal", "--deny-principal": "--principal"},
    "configs": {"--entity-type": ARGUMENT, "--entity-name": ARGUMENT},
    "quotas": {
        "--name": "--user", "--principal": "--user", "--client": "--client-id", "--entity-default": "--user-default",
    },
    "users": {"--entity-name": ARGUMENT, "--user": ARGUMENT},
    "partitions": {**_TOPIC, "--broker-list": "--to", "--replicas": "-r", "--timeout": "--wait"},
    "partitions move": {"--reassignment-json-file": ARGUMENT},
    "transactions": {"--transactional-id": ARGUMENT, "--broker-id": "--broker", "--duration-filter": "--older-than"},
    "apply": {"--filename": "--file"},
    "": {
        **_CONFIRMED,
        **dict.fromkeys(("-B", "--broker", "--broker-list", "--server", "--servers", "--hosts"), "-b"),
        **dict.fromkeys(
            ("-F", "--config-file", "--consumer.config", "--producer.config", "--consumer-config", "--producer-config"),
            "--command-config",
        ),
        "--consumer-property": "-X", "--producer-property": "-X", "--context": "-C", "--cluster": "-C",
        "--timeout": "--api-timeout", "--debug": "--trace", "-J": "--json",
        "-o": "--output", "-f": "--output", "--format": "--output",
    },
}  # fmt: skip
"""Options of other tools that mean the same as one of kctl, by command; those of every command under ''.

`ARGUMENT` is what kctl takes without an option, and an empty text what it always does. Arguments have the order of the
table.
"""
VALUES = {"--entity-type": {"topics": "topic", "brokers": "broker", "groups": "group"}}
"""Arguments as other tools write them, by option."""
DEFAULTS = {"groups reset-offsets": {"--all-topics": ("--topic", "--from-file")}}
"""Flags of other tools for what a command does without these options."""
_SCRIPT = re.compile(r"^kafka-(.+?)(\.sh)?$")
_SERVERS = re.compile(r"([\w.-]+|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}(,.*)?")
GROUPS = (
    "topics", "groups", "acls", "users", "quotas", "schemas", "profile", "bench", "pipeline", "why", "transactions",
    "configs", "cluster", "brokers", "partitions", "wait", "sandbox",
)  # fmt: skip
"""Commands that do nothing without a subcommand, and whose subcommands have the shared options."""
_OF_ROOT = ("-h", "--help", "-V", "--version")


def rewrite(arguments: Sequence[str]) -> list[str]:
    """Return the same command line in the words of kctl; one that is in them already stays as it is.

    Shared options in front of an unknown option are left out: the error is about the unknown one.
    """
    shared, words = _take_shared(arguments)
    words = _with_mode_first(words)
    if not words or words[0].startswith("-"):
        return list(words or arguments)
    name, *rest = words
    name = _SCRIPT.sub(r"\1", name)
    if name in VERBS and rest and ALIASES.get(rest[0], rest[0]) in GROUPS:
        verb, (name, *rest) = name, rest
        is_of_one = rest and not rest[0].startswith("-")
        rest = [("describe" if is_of_one else "list") if verb == "get" else verb, *rest]
    name = ALIASES.get(name, name)
    if name in PHRASES:
        name, subcommand = PHRASES[name].split()
        rest = [subcommand, *rest]
    if name == "help":
        return [*rewrite(list(dropwhile("help".__eq__, rest))), "--help"]
    if name == "version":
        return ["--version"]
    rest = [*shared, *rest]
    if name == "probe":
        return [name, *_with_servers(rest)]
    if name not in GROUPS:
        return [name, *rest]
    more, behind = _take_shared(rest)
    if behind and behind[0].startswith("-"):
        flags = FLAGS.get(name, {})
        at = next((at for at, word in enumerate(_before_dashes(behind)) if word in flags), None)
        if at is not None:
            behind = [flags[behind[at]], *behind[:at], *behind[at + 1 :]]
    if not behind or behind[0].startswith("-"):
        return [name, *behind]
    phrase = f"{name} {SUBCOMMAND_ALIASES.get(behind[0], behind[0])}"
    return [*PHRASES.get(phrase, phrase).split(), *more, *behind[1:]]


def _with_mode_first(words: Sequence[str]) -> list[str]:
    """Return the words of a line of kcat, whose mode may follow other options: `-t orders -C`."""
    following = [*words[1:], ""]
    is_without_command = bool(words) and words[0].startswith("-")
    for at, word in enumerate(_before_dashes(words) if is_without_command else ()):
        if word in MODES and (word != "-C" or following[at].startswith("-") or not following[at]):
            command, *option = MODES[word]
            return [command, *words[:at], *option, *words[at + 1 :]]
    return list(words)


def _before_dashes(arguments: Sequence[str]) -> Sequence[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _with_servers(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a probe, in which HOST:PORT stands for -b HOST:PORT."""
    shared, words = _take_shared(arguments)
    count = next((at for at, word in enumerate(words) if not _SERVERS.fullmatch(word)), len(words))
    return [*shared, *(word for server in words[:count] for word in ("-b", server)), *words[count:]]


def translate(arguments: Sequence[str], known: Mapping[str, int], command: str, *, is_group: bool = False) -> list[str]:
    """Return the arguments of a command in its own options.

    Args:
        known: the number of words that follow each option of the command.
        command: name of the command, with its subcommand.
        is_group: arguments after the first word belong to a subcommand.
    """
    table = OPTIONS[""] | OPTIONS.get(command.partition(" ")[0], {}) | OPTIONS.get(command, {})
    places = list(table)
    leading: list[tuple[int, str]] = []
    own: list[str] = []
    words = list(arguments)
    while words and words[0] != "--" and not (is_group and not words[0].startswith("-")):
        word = words.pop(0)
        name, attached = _option_of(word)
        meant, value = table.get(name), attached.removeprefix("=")
        if name in known or not name:
            own += [word, *_take(words, 0 if attached else known.get(name, 0))]
        elif meant == ARGUMENT and _is_value(value or "".join(words[:1])) and not is_group:
            value = value or words.pop(0)
            leading.append((places.index(name), VALUES.get(name, {}).get(value, value)))
        elif attached and not word.startswith("--") and (meant == "" or known.get(meant or "") == 0):
            own += [meant] if meant else []
            words.insert(0, f"-{attached}")  # further flags, as in -yq
        elif meant and meant in known and not (attached and known[meant] == 0):
            own += [meant, *([value] if attached else _take(words, known[meant]))]
        elif meant != "" and not _is_default(name, command, arguments):
            own.append(word)
    return [*(value for _, value in sorted(leading, key=lambda each: each[0])), *own, *words]


def _take(words: list[str], count: int) -> list[str]:
    """Remove the first words and return them."""
    taken = words[:count]
    del words[:count]
    return taken


def _is_value(word: str) -> bool:
    """Return whether a word can take the place of an argument: one that begins with - would become an option."""
    return word != "" and _option_of(word)[0] == ""


def _option_of(word: str) -> tuple[str, str]:
    """Return the option in a word, and the value in it: `=VALUE` behind a long one, VALUE behind a short one."""
    if not word.startswith("-") or word == "-":
        return "", ""
    if not word.startswith("--"):
        return word[:2], word[2:]
    name, equals, value = word.partition("=")
    return name, equals + value


def _is_default(name: str, command: str, arguments: Sequence[str]) -> bool:
    others = DEFAULTS.get(command, {}).get(name)
    return others is not None and not any(_option_of(word)[0] in others for word in arguments)


def wants_json(arguments: Sequence[str]) -> bool:
    """Return whether a command line in the options of kctl asks for JSON; it does not have to be valid otherwise."""
    own = _before_dashes(arguments)
    formats = [value.removeprefix("=") for name, value in map(_option_of, own) if name == "--output"]
    formats += [value for name, value in pairwise(own) if name == "--output"]
    return not {"--json", "-J"}.isdisjoint(own) or any(each.lower() in ("json", "jsonl") for each in formats)


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
