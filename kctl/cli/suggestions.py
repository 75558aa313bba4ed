"""Suggestions for unknown commands, options, properties, variables and APIs."""

from collections.abc import Iterable, Mapping
from enum import Enum

from kctl.client.config import LIBRDKAFKA_NAMES, nearest_name


class Unknown(Enum):
    """Kind of an unknown name."""

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
"""Variables of other tools, and misremembered variables of kctl."""

COMMANDS = {
    "list": "topics list", "ls": "topics list", "describe": "topics describe", "create": "topics create",
    "delete": "topics delete", "get": "topics list", "cluster": "probe", "info": "probe",
    "metadata": "probe", "context": "profile", "use": "profile use", "tail": "consume",
    "cat": "consume", "read": "consume", "send": "produce", "write": "produce", "perf": "bench",
    "start": "sandbox start", "up": "sandbox start", "remove": "delete",
    "show": "describe", "seek": "reset-offsets", "alter": "reset-offsets",
    "reset": "reset-offsets", "add": "create", "new": "create", "check": "doctor", "diagnose": "doctor",
    "login": "profile create", "contexts": "profile list",
    "trim": "topics trim", "members": "groups members",
    "reset-offsets": "groups reset-offsets", "export": "pipeline export", "import": "pipeline import",
    "mirror": "pipeline mirror", "replay": "pipeline replay", "verify": "pipeline verify", "sync": "pipeline sync",
    "stats": "pipeline stats", "elect": "partitions elect", "leader-election": "partitions elect",
    "reassign": "partitions move", "reassign-partitions": "partitions move", "disks": "brokers log-dirs",
    "subjects": "schemas list", "broker-api-versions": "probe",
    "brokers describe": "cluster describe",
    "cluster logdirs": "brokers log-dirs", "cluster metadata": "cluster describe", "cluster nodes": "cluster describe",
    "cluster cluster-id": "cluster describe", "cluster config": "configs show broker ID",
    "configs alter": "configs set", "topics add-partitions": "topics alter --partitions TOTAL",
    "topics describe-storage": "topics describe --size",
    "delete-records": "topics trim", "topics delete-records": "topics trim",
    "configs use-context": "profile use",
    "configs get-contexts": "profile list", "partitions reassign": "partitions plan",
    "profile use-context": "profile use", "schemas subject": "schemas list", "schemas subjects": "schemas list",
}  # fmt: skip
"""Commands of other tools; subcommands with their command."""

OPTIONS: dict[str, dict[str, str]] = {
    "consume": {
        "--print-keys": "-f '%k %v\\n'", "--property": "-f '%k %v\\n'",
        "--whitelist": "kctl consume /PATTERN/", "--include": "kctl consume /PATTERN/",
    },
    "produce": {
        "--json": "-i jsonl", "-J": "-i jsonl",
        "--value": "echo VALUE | kctl produce TOPIC", "-m": "echo VALUE | kctl produce TOPIC",
        "-l": "kctl produce TOPIC FILE", "--property": "-K TEXT", "-T": "tee FILE | kctl produce TOPIC",
    },
    "topics offsets": {"--time": "--at @TIME"},
    "groups": {
        "--offsets": "groups lag GROUP", "--members": "groups members GROUP", "--state": "groups describe GROUP",
        "--print-summary": "groups describe GROUP",
    },
    "acls": {"--add": "acls create"},
    "configs": {
        "--alter": "configs set TYPE NAME KEY=VALUE", "--add-config": "configs set TYPE NAME KEY=VALUE",
        "--delete-config": "configs unset TYPE NAME KEY",
    },
    "quotas": {
        "--entity-type": "--user NAME", "--entity-name": "--user NAME", "--add-config": "quotas set KEY=VALUE",
        "--add": "quotas set KEY=VALUE",
    },
    "users": {"--password": "--password-file FILE"},
    "groups reset-offsets": {"--to": "--to-latest or --to-earliest"},
    "partitions": {
        "--under-replicated": "topics list --under-replicated", "--unavailable-partitions": "topics list --offline",
    },
    "partitions move": {"--execute": "partitions move PLAN"},
    "profile": {"-s": "-X KEY=VALUE", "--set": "-X KEY=VALUE"},
    "": {
        "--zookeeper": "-b HOST:PORT", "--set": "-X KEY=VALUE", "--user": "-X sasl.username=NAME",
        "--username": "-X sasl.username=NAME", "--password": "$KCTL_SASL_PASSWORD",
        "--sasl-mechanism": "-X sasl.mechanism=NAME", "--tls": "--security-protocol SSL",
        "--ssl": "--security-protocol SSL", "--ca": "-X ssl.truststore.location=FILE",
        "--cacert": "-X ssl.truststore.location=FILE", "--cafile": "-X ssl.truststore.location=FILE",
    },
}  # fmt: skip
"""Frequent options of other tools that kctl does not accept, by command; '' has the options of all commands.

`other_tools.py` has the options that kctl accepts.
"""

PROPERTIES = {
    "brokers": "bootstrap.servers", "broker.list": "bootstrap.servers", "bootstrap.server": "bootstrap.servers",
    "servers": "bootstrap.servers", "group": "group.id", "isolation": "isolation.level",
    "tls.enabled": "security.protocol", "tls.ca": "ssl.truststore.location", "compression": "compression.type",
    "timeout.ms": "request.timeout.ms", "ssl.ca": "ssl.truststore.location",
}  # fmt: skip
"""Properties of other clients, except librdkafka."""


def did_you_mean(kind: Unknown, name: str, known: Iterable[str] = (), command: str = "") -> str | None:
    """Return the name that was probably meant, or None.

    Args:
        known: valid names.
        command: command and subcommand before the name.
    """
    elsewhere = _elsewhere(kind, command)
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
    if kind is Unknown.COMMAND:
        return COMMANDS
    if kind is Unknown.OPTION:
        return OPTIONS[""] | OPTIONS.get(command.partition(" ")[0], {}) | OPTIONS.get(command, {})
    if kind is Unknown.VARIABLE:
        return VARIABLES
    if kind is Unknown.API:
        return {}
    return LIBRDKAFKA_NAMES | PROPERTIES
