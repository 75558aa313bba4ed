"""Commands and options of other tools that kctl accepts."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import dropwhile

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
    "log-dirs": "brokers log-dirs",
    "logdirs": "brokers log-dirs",
    "quorum": "cluster quorum",
    "nodes": "cluster describe",
    "controller": "cluster quorum",
    "brokers list": "cluster describe",
    "brokers ls": "cluster describe",
    "brokers config": "configs show broker",
    "brokers configs": "configs show broker",
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
    "topics truncate": "topics trim",
    "topics config": "configs show topic",
    "topics configs": "configs show topic",
    "topics count": "topics offsets",
    "topics partitions": "topics describe",
    "groups offsets": "groups lag",
    "groups reset": "groups reset-offsets",
    "groups seek": "groups reset-offsets",
    "sandbox up": "sandbox start",
    "brokers disks": "brokers log-dirs",
    "brokers logdirs": "brokers log-dirs",
    "sandbox tell": "sandbox fault",
}
"""Commands of other tools and former names, and the kctl commands with the same arguments."""
FLAGS: Mapping[str, Mapping[str, str]] = {
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
"""Subcommands as flags, as in Kafka's scripts, anywhere in the arguments: `--topic orders --describe`."""
MODES = {"-C": ["consume"], "-P": ["produce"], "-G": ["consume", "-g"]}
"""Modes of kcat. `-C` selects a profile, unless an option follows."""
VERBS = ("get", "list", "ls", "describe", "create", "delete", "rm")
"""Verbs that precede the noun in other tools: `describe topic orders`."""
ARGUMENT = "an argument"
_TOPIC = {"--topic": ARGUMENT, "-t": ARGUMENT}
_CONFIRMED = {"-y": "--yes", "--no-confirm": "--yes", "--force": "--execute"}
OPTIONS: dict[str, dict[str, str]] = {
    "consume": {
        **_TOPIC, **dict.fromkeys(("--max-messages", "--max", "--count", "--limit", "--num", "-c"), "-n"),
        "--message": "--protobuf-message",
        "--exit": "-e", "--consumer-group": "-g", "--group-id": "-g", "--partitions": "-p", "--offsets": "-o",
        "--isolation": "--isolation-level", "--timeout-ms": "--idle-timeout", "-G": "-g", "-u": "",
    },
    "produce": {
        **_TOPIC, "-z": "--compression", "--compression-codec": "--compression", "--separator": "-K",
        "--required-acks": "--acks", "--request-required-acks": "--acks", "--txn-id": "--transactional-id",
        "--txn": "--transactional", "--now": "--reset-timestamps", "--file-per-message": "--file-per-record",
        "--message": "--protobuf-message",
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
    "partitions": {
        **_TOPIC, "--to": "--to-brokers", "--away-from": "--exclude-brokers", "--broker-list": "--to-brokers",
        "--replicas": "-r", "--timeout": "--wait",
    },
    "partitions move": {"--reassignment-json-file": ARGUMENT},
    "transactions": {"--transactional-id": ARGUMENT, "--broker-id": "--broker", "--duration-filter": "--older-than"},
    "apply": {"--filename": "--file"},
    "bench": {"--records": "--max-records"},
    "doctor": {"--budget": "--max-requests"},
    "pipeline": {"--message": "--protobuf-message"},
    "wait": {"--gone": "--deleted"},
    "why": {"--budget": "--max-requests"},
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
"""Options of other tools and their equivalents in kctl, by command; '' has the options of all commands.

`ARGUMENT`: a positional argument of kctl, in the order of the table. An empty text: the default of kctl.
"""
VALUES = {"--entity-type": {"topics": "topic", "brokers": "broker", "groups": "group"}}
"""Arguments in the notation of other tools, by option."""
FORMER_FINDINGS = {
    "certificate-ended": "certificate-expired",
    "certificate-ends": "certificate-expiring",
    "dead-bootstrap": "bootstrap-unreachable",
    "offset-went-back": "offset-moved-backward",
    "preferred-leader-away": "preferred-leader-not-leading",
    "static-ghost": "static-member-gone",
}
"""Present IDs of findings by their former IDs, for --only, --ignore, and `kctl explain`."""
FORMER_EXIT_CODES = {
    "DEGRADED": "PARTIAL_FAILURE",
    "WRONG_PEER": "WRONG_PROTOCOL",
    "NOT_ABLE_YET": "UNAVAILABLE",
    "NOT_AUTHORISED": "NOT_AUTHORIZED",
}
"""Present names of exit codes by their former names, for `kctl explain`."""
_SCRIPT = re.compile(r"^kafka-(.+?)(\.sh)?$")


def kcat_mode_first(words: Sequence[str], is_command: Callable[[str], bool]) -> list[str]:
    """Move a kcat mode, such as `-C` in `-t orders -C`, to the start and translate it to a command."""
    for at, (word, following) in enumerate(zip(words, [*words[1:], ""], strict=True)):
        if word == "--" or is_command(ALIASES.get(word, word)):
            break
        if word in MODES and (word != "-C" or following.startswith("-") or not following):
            command, *option = MODES[word]
            return [command, *words[:at], *option, *words[at + 1 :]]
    return list(words)


def command_words(words: Sequence[str], is_command: Callable[[str], bool]) -> list[str]:
    """Translate the command at the start of the words to kctl's names."""
    name, *rest = words
    if name == "help":
        rest = list(dropwhile("help".__eq__, rest))
        return [*(command_words(rest, is_command) if rest else ()), "--help"]
    if name == "version":
        return ["--version"]
    name = _SCRIPT.sub(r"\1", name)
    if name in VERBS and rest and is_command(ALIASES.get(rest[0], rest[0])):
        verb, (name, *rest) = name, rest
        is_of_one = rest and not rest[0].startswith("-")
        rest = [("describe" if is_of_one else "list") if verb == "get" else verb, *rest]
    name = ALIASES.get(name, name)
    phrase = PHRASES.get(name) or PHRASES.get(" ".join([name, *rest[:1]]))
    if phrase is None:
        return [name, *rest]
    return [*phrase.split(), *rest[0 if name in PHRASES else 1 :]]


def subcommand_of(group: str, word: str) -> str:
    """Return the subcommand of `group` with this name, former name, or name in other tools."""
    word = SUBCOMMAND_ALIASES.get(word, word)
    of_group, _, name = PHRASES.get(f"{group} {word}", "").partition(" ")
    return name if name and of_group == group else word


def options_of(command: str) -> Mapping[str, str]:
    """Return the options of other tools for a command, with the options of kctl that they mean."""
    return OPTIONS[""] | OPTIONS.get(command.partition(" ")[0], {}) | OPTIONS.get(command, {})
