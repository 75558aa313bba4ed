"""Suggestions: what an unknown command, option, property or variable was probably meant to be.

One function for all of them. It knows what kctl declares and what other tools call the same thing; docs/migration.md
has the same table for people.
"""

import re
from collections.abc import Iterable, Mapping
from enum import Enum

from kctl.client.config import nearest_name


class Unknown(Enum):
    """Kinds of names that can be unknown."""

    COMMAND = "command"
    OPTION = "option"
    PROPERTY = "property"
    VARIABLE = "variable"
    API = "API"


SERVERS_VARIABLE = "KCTL_BOOTSTRAP_SERVERS"
VARIABLES = dict.fromkeys(
    (
        "KAFKA_BROKERS", "BROKERS", "KAFKA_BOOTSTRAP_SERVERS", "BOOTSTRAP_SERVERS", "RPK_BROKERS", "KCTL_BROKERS",
        "KCTL_BOOTSTRAP", "KCTL_BOOTSTRAP_SERVER",
    ),
    SERVERS_VARIABLE,
)  # fmt: skip
"""Variables of other tools, and ours as people misremember them."""

COMMANDS = {
    "list": "topics list", "ls": "topics list", "describe": "topics describe", "create": "topics create",
    "delete": "topics delete", "get": "topics list", "lag": "groups lag", "consumer-groups": "groups",
    "cluster": "probe", "info": "probe", "brokers": "probe", "metadata": "probe", "config": "configs",
    "context": "profile", "use": "profile use", "tail": "consume", "cat": "consume", "read": "consume",
    "send": "produce", "write": "produce", "perf": "bench", "start": "sandbox up", "up": "sandbox up",
    "rm": "delete", "remove": "delete", "show": "describe", "seek": "reset-offsets", "alter": "reset-offsets",
    "reset": "reset-offsets", "add": "create", "new": "create", "nodes": "cluster describe", "ping": "probe",
    "status": "doctor", "health": "doctor", "check": "doctor", "diagnose": "doctor", "login": "profile create",
    "contexts": "profile list", "offsets": "topics offsets", "trim": "topics trim", "members": "groups members",
    "reset-offsets": "groups reset-offsets", "export": "pipeline export", "import": "pipeline import",
    "mirror": "pipeline mirror", "replay": "pipeline replay", "verify": "pipeline verify", "sync": "pipeline sync",
    "stats": "pipeline stats", "elect": "partitions elect", "reassign": "partitions move", "quorum": "cluster quorum",
    "disks": "brokers disks", "registry": "schemas", "subjects": "schemas list", "txn": "transactions",
    "brokers list": "cluster describe", "brokers describe": "cluster describe", "brokers ls": "cluster describe",
    "cluster info": "cluster describe", "cluster list": "cluster describe", "cluster health": "doctor",
    "configs list": "configs show", "configs describe": "configs show", "configs get": "configs show",
    "configs alter": "configs set", "topics consume": "kctl consume", "topics produce": "kctl produce",
    "topics config": "topics alter", "groups offsets": "groups lag", "config use-context": "profile use",
}  # fmt: skip
"""Commands of other tools; with the command before them where they are subcommands."""

_CONFIRMED = {"-y": "--yes", "--no-confirm": "--yes"}
_LIMIT, _TOPIC, _JSONL = "-n N", "TOPIC without an option", "--output jsonl"
OPTIONS: dict[str, dict[str, str]] = {
    "consume": {
        "--max-messages": _LIMIT, "--max-records": _LIMIT, "--count": _LIMIT, "--limit": _LIMIT, "--num": _LIMIT,
        "-c": _LIMIT, "-t": _TOPIC, "--topic": _TOPIC, "-J": _JSONL, "--exit": "-e",
        "--timeout-ms": "--idle-timeout DURATION", "--consumer-group": "-g GROUP", "--group-id": "-g GROUP",
        "--partitions": "-p N", "--offsets": "-o RANGE", "--isolation-level": "--isolation LEVEL",
        "--print-keys": "-f '%k %v\\n'", "--property": "-f '%k %v\\n'", "--regex": "'/PATTERN/' as TOPIC",
        "--whitelist": "'/PATTERN/' as TOPIC", "--include": "'/PATTERN/' as TOPIC",
    },
    "produce": {
        "-t": _TOPIC, "--topic": _TOPIC, "-z": "--compression NAME", "--compression-codec": "--compression NAME",
        "--value": "the value on stdin", "--json": "-i jsonl", "-J": "-i jsonl",
        "-l": "FILE: each line is a record", "--separator": "-K TEXT", "--property": "-K TEXT",
        "--required-acks": "--acks N", "--request-required-acks": "--acks N", "-T": "tee in front of kctl",
        "--transactional-id": "--txn-id ID",
    },
    "topics": {
        **_CONFIRMED,
        "--topic": _TOPIC, "-t": _TOPIC, "--list": "topics list", "--describe": "topics describe TOPIC",
        "--create": "topics create TOPIC", "--delete": "topics delete TOPIC", "--replicas": "--replication-factor N",
        "--replication": "--replication-factor N", "-c": "--config KEY=VALUE",
        "--force": "--execute",
    },
    "groups": {
        **_CONFIRMED,
        "--group": "GROUP without an option", "-g": "GROUP without an option", "--list": "groups list",
        "--describe": "groups describe GROUP", "--reset-offsets": "groups reset-offsets",
        "--delete": "groups delete GROUP",
    },
    "acls": {
        **_CONFIRMED,
        "--add": "acls create", "--list": "acls list", "--remove": "acls delete", "--force": "--execute",
        "--allow-principal": "--allow PRINCIPAL", "--deny-principal": "--deny PRINCIPAL",
        "--allow-host": "--host ADDRESS", "--deny-host": "--host ADDRESS",
        "--resource-pattern-type": "--prefixed", "--pattern": "--prefixed",
    },
    "acls create": {"--principal": "--allow PRINCIPAL"},
    "acls check": {"--principal": "PRINCIPAL without an option"},
    "acls list": {"--allow-principal": "--principal PRINCIPAL", "--deny-principal": "--principal PRINCIPAL"},
    "configs": {
        **_CONFIRMED,
        "--entity-type": "TYPE without an option", "--entity-name": "NAME without an option",
        "--entity-default": "broker-defaults", "--describe": "configs show TYPE NAME",
        "--alter": "configs set TYPE NAME KEY=VALUE", "--add-config": "configs set TYPE NAME KEY=VALUE",
        "--delete-config": "configs unset TYPE NAME KEY", "--all": "configs show, which shows all",
        "--topic": "topic NAME without an option", "--broker": "broker ID without an option",
    },
    "quotas": {
        **_CONFIRMED,
        "--entity-type": "--user NAME", "--entity-name": "--user NAME", "--entity-default": "--user-default",
        "--describe": "quotas list", "--alter": "quotas set KEY=VALUE", "--add-config": "quotas set KEY=VALUE",
        "--add": "quotas set KEY=VALUE", "--delete-config": "quotas unset KEY", "--name": "--user NAME",
        "--principal": "--user NAME", "--client": "--client-id ID",
    },
    "users": {
        **_CONFIRMED,
        "--entity-name": "NAME without an option", "--user": "NAME without an option",
        "--password": "--password-file FILE", "--new-password": "--password-file FILE",
    },
    "partitions": {
        **_CONFIRMED,
        "--topic": "TOPIC[:P,P-P] without an option", "-t": "TOPIC[:P,P-P] without an option",
        "--topics-to-move-json-file": "TOPIC without an option", "--broker-list": "--to ID,...",
        "--brokers": "--to ID,...", "--reassignment-json-file": "PLAN without an option",
        "--generate": "partitions plan", "--execute": "partitions move PLAN", "--verify": "partitions list",
        "--list": "partitions list", "--additional": "partitions move PLAN", "--replicas": "-r N",
        "--all-topic-partitions": "partitions elect --all", "--election-type": "partitions elect --unclean",
        "--path-to-json-file": "TOPIC[:P,P-P] without an option", "--partition": "TOPIC:P without an option",
        "--timeout": "--wait DURATION",
    },
    "partitions move": {"--execute": "partitions move PLAN, which moves at once"},
    "transactions": {
        **_CONFIRMED,
        "--transactional-id": "ID without an option", "--broker-id": "--broker ID",
        "--partition": "TOPIC:P without an option", "--max-transaction-timeout": "transactions hanging",
        "--duration-filter": "--older-than DURATION",
    },
    "transactions abort": {"--topic": "TOPIC:P without an option"},
    "brokers": {"--describe": "brokers disks", "--broker-list": "ID without an option"},
    "apply": {"--filename": "--file FILE"},
    "": {
        "-B": "-b HOST:PORT", "--broker": "-b HOST:PORT", "--broker-list": "-b HOST:PORT", "--server": "-b HOST:PORT",
        "--servers": "-b HOST:PORT", "--hosts": "-b HOST:PORT", "--zookeeper": "-b HOST:PORT of a broker",
        "-F": "--command-config FILE", "--config-file": "--command-config FILE",
        "--consumer.config": "--command-config FILE", "--producer.config": "--command-config FILE",
        "--consumer-config": "--command-config FILE", "--producer-config": "--command-config FILE",
        "--consumer-property": "-X KEY=VALUE", "--producer-property": "-X KEY=VALUE", "--set": "-X KEY=VALUE",
        "--context": "-C PROFILE", "--cluster": "-C PROFILE", "--timeout": "--api-timeout DURATION",
        "-o": "--output FORMAT", "-f": "--output FORMAT", "--format": "--output FORMAT",
        "-L": "kctl probe, kctl topics list",
        "-P": "kctl produce TOPIC", "-G": "kctl consume -g GROUP TOPIC", "-Q": "kctl consume TOPIC -o @TIME -n 1",
        "--user": "-X sasl.username=NAME", "--username": "-X sasl.username=NAME",
        "--password": "$KCTL_SASL_PASSWORD", "--sasl-mechanism": "-X sasl.mechanism=NAME",
        "--tls": "--security-protocol SSL", "--ssl": "--security-protocol SSL", "--debug": "--trace",
        "--ca": "-X ssl.truststore.location=FILE", "--cacert": "-X ssl.truststore.location=FILE",
        "--cafile": "-X ssl.truststore.location=FILE",
    },
}  # fmt: skip
"""Options of other tools by command and by command with subcommand, those of every command under ''."""

PROPERTIES = {
    "brokers": "bootstrap.servers", "broker.list": "bootstrap.servers", "bootstrap.server": "bootstrap.servers",
    "servers": "bootstrap.servers", "group": "group.id", "isolation": "isolation.level",
    "compression": "compression.type", "timeout.ms": "request.timeout.ms", "ssl.ca": "ssl.truststore.location",
}  # fmt: skip
"""Properties as other clients call them, beside those of librdkafka."""


_SERVERS = re.compile(r"([\w.-]+|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}(,.*)?")
"""Servers in the place of a command: `kctl probe localhost:9092`."""


def did_you_mean(kind: Unknown, name: str, known: Iterable[str] = (), command: str = "") -> str | None:
    """Return what an unknown name was probably meant to be, or None.

    Args:
        kind: of what it is the name.
        known: the names that would be right in its place.
        command: the command that it was written for, with the subcommand.
    """
    elsewhere = _elsewhere(kind, command)
    if kind is Unknown.COMMAND and _SERVERS.fullmatch(name):
        return f"-b {name}"
    meant = elsewhere.get(f"{command} {name}") if kind is Unknown.COMMAND else None
    if meant is not None:
        return meant
    meant = elsewhere.get(name)
    known = list(known)
    if meant is not None and (kind is not Unknown.COMMAND or not known or meant.split()[0] in known):
        return meant
    if kind is Unknown.OPTION:
        name = name.partition("=")[0]
        known = [each for each in known if each.startswith("--") == name.startswith("--")]
        return nearest_name(name, known, likeness=0.7) if name.startswith("--") else None
    if kind is Unknown.PROPERTY:
        name = name.strip().lower().replace("_", ".").replace("-", ".")
    return nearest_name(name, known, likeness=0.7 if kind is not Unknown.COMMAND else 0.6)


def _elsewhere(kind: Unknown, command: str) -> Mapping[str, str]:
    """Return what other tools call the things of a kind."""
    if kind is Unknown.COMMAND:
        return COMMANDS
    if kind is Unknown.OPTION:
        return OPTIONS[""] | OPTIONS.get(command.partition(" ")[0], {}) | OPTIONS.get(command, {})
    if kind is Unknown.VARIABLE:
        return VARIABLES
    if kind is Unknown.API:
        return {}
    from kctl.cli.profiles.foreign.librdkafka import NAMES  # what reads its files, wanted only for mistakes

    return NAMES | PROPERTIES
