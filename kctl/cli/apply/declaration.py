"""File format of `kctl apply`: topics with partitions and configs, and ACLs.

topics:
- name: orders
  partitions: 6
  replication_factor: 3
  configs: {retention.ms: 86400000, cleanup.policy: null}     # null: the config is not set
acls:
- {principal: User:ann, operation: read, resource_type: topic, name: orders}
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from io import BufferedIOBase
from pathlib import Path
from typing import NamedTuple, NoReturn, TypeVar

from kctl.cli.apply.yaml_nodes import Fields, Items, Node, Scalar, YamlRefused, parse_yaml, shown
from kctl.cli.document_file import STDIN, read_document
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.client.admin import AclOperation, AclPermission, AclResourceType, AclRule, PatternType
from kctl.client.config import nearest_name
from kctl.client.topic_names import is_topic_name

W = TypeVar("W", bound=IntEnum)
LARGEST_FILE_BYTES = 64 * 1024 * 1024
CLUSTER_NAME = "kafka-cluster"
MOST_PARTITIONS = 2**31 - 1
MOST_REPLICAS = 2**15 - 1
ACL_FIELDS = ("principal", "host", "operation", "permission", "resource_type", "name", "pattern")
TOPIC_FIELDS = ("name", "partitions", "replication_factor", "configs")


class DeclaredTopic(NamedTuple):
    """Topic declared in the file. If a number is None, the broker chooses it."""

    name: str
    partitions: int | None
    replication_factor: int | None
    configs: Mapping[str, str | None]
    """Values by config. None: the config is not set."""


class Declaration(NamedTuple):
    """Content of the file; None for a missing section."""

    topics: Mapping[str, DeclaredTopic] | None
    """Topics by name. None: the file has no `topics`."""
    acls: Sequence[AclRule] | None = None


def read_declaration(path: str, stdin: BufferedIOBase) -> Declaration:
    """Read the file at `path`, or stdin if `path` is `-`.

    Raises: CommandError: the file is unreadable or invalid. The message contains the file and line.
    """
    name = name_of(path)
    data = read_document(Path(path), LARGEST_FILE_BYTES, stdin)
    try:
        return _declaration(parse_yaml(data))
    except YamlRefused as e:
        where = name if e.line is None else f"{name}, line {e.line}"
        raise CommandError(ExitCode.USAGE, f"{where}: {e}", "show the file format with: kctl apply --export") from None


def name_of(path: str) -> str:
    return "stdin" if Path(path) == STDIN else path


def _declaration(root: Node) -> Declaration:
    if isinstance(root, Scalar) and root.is_null:
        raise YamlRefused(None, "the file is empty")
    fields = _fields(root, "the file", ("topics", "acls"))
    if not fields:
        raise YamlRefused(root.line, "no topics or acls found")
    topics: dict[str, DeclaredTopic] = {}
    for node in _items(fields["topics"], "topics") if "topics" in fields else ():
        topic = _topic(node)
        if topic.name in topics:
            raise YamlRefused(node.line, f"topic {topic.name} appears twice")
        topics[topic.name] = topic
    rules = None if "acls" not in fields else list(dict.fromkeys(map(_rule, _items(fields["acls"], "acls"))))
    return Declaration(topics if "topics" in fields else None, rules)


def _rule(node: Node) -> AclRule:
    fields = _fields(node, "an ACL", ACL_FIELDS)
    for name in ("principal", "operation", "resource_type"):
        if name not in fields:
            raise YamlRefused(node.line, f"an ACL has no field {name}")

    def text(field: str, default: str) -> str:
        return _text(fields[field], field) if field in fields else default

    def word(field: str, kind: type[W], default: str) -> W:
        given = text(field, default)
        found = kind.__members__.get(given.upper().replace("-", "_"))
        if found is None or found.name in ("UNKNOWN", "ANY", "MATCH"):
            words = ", ".join(each.name.lower() for each in kind if each.name not in ("UNKNOWN", "ANY", "MATCH"))
            raise YamlRefused(fields[field].line, f"invalid {field} {shown(given)}: use {words}")
        return found

    principal, resource_type = text("principal", ""), word("resource_type", AclResourceType, "")
    if not re.fullmatch(r"[^:]+:.+", principal, re.DOTALL):
        raise YamlRefused(
            fields["principal"].line, f"invalid principal {shown(principal)}: use a form such as User:ann"
        )
    name = text("name", CLUSTER_NAME if resource_type is AclResourceType.CLUSTER else "")
    if not name:
        raise YamlRefused(node.line, "an ACL has no resource name")
    return AclRule(
        resource_type,
        name,
        word("pattern", PatternType, "literal"),
        principal,
        text("host", "*"),
        word("operation", AclOperation, ""),
        word("permission", AclPermission, "allow"),
    )


def _topic(node: Node) -> DeclaredTopic:
    fields = _fields(node, "a topic", TOPIC_FIELDS)
    if "name" not in fields:
        raise YamlRefused(node.line, "a topic has no name")
    name = _text(fields["name"], "name")
    if not is_topic_name(name):
        raise YamlRefused(
            fields["name"].line, f"invalid topic name {shown(name)}: use at most 249 letters, digits, '.', '_', or '-'"
        )
    return DeclaredTopic(
        name,
        _number(fields.get("partitions"), "partitions", MOST_PARTITIONS),
        _number(fields.get("replication_factor"), "replication_factor", MOST_REPLICAS),
        _configs(fields.get("configs")),
    )


def _configs(node: Node | None) -> dict[str, str | None]:
    if node is None or (isinstance(node, Scalar) and node.is_null):
        return {}
    if not isinstance(node, Fields):
        _refuse(node, "configs", "a mapping of configs to values")
    found: dict[str, str | None] = {}
    for key, value in node.fields.items():
        if not key:
            raise YamlRefused(node.lines[key], "a config has no name")
        if not isinstance(value, Scalar):
            _refuse(value, key, "a single value, or values separated by commas")
        found[key] = None if value.is_null else value.text
    return found


def _fields(node: Node, what: str, known: Iterable[str]) -> Mapping[str, Node]:
    if not isinstance(node, Fields):
        raise YamlRefused(node.line, f"{what} must be a mapping with the keys {', '.join(known)}")
    for key, line in node.lines.items():
        if key not in known:
            near = nearest_name(key, list(known))
            hint = f"did you mean {near}?" if near else f"use {', '.join(known)}"
            raise YamlRefused(line, f"{what} cannot have the field {shown(key)}: {hint}")
    return node.fields


def _items(node: Node, what: str) -> list[Node]:
    if isinstance(node, Scalar) and node.is_null:
        return []
    if not isinstance(node, Items):
        _refuse(node, what, "a list")
    return node.items


def _text(node: Node, what: str) -> str:
    if not isinstance(node, Scalar) or node.is_null:
        _refuse(node, what, "a string")
    return node.text


def _number(node: Node | None, what: str, most: int) -> int | None:
    if node is None or (isinstance(node, Scalar) and node.is_null):
        return None
    wanted = f"an integer from 1 to {most}"
    if not isinstance(node, Scalar):
        _refuse(node, what, wanted)
    text = node.text
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and 1 <= int(text) <= most):
        _refuse(node, what, wanted)
    return int(text)


def _refuse(node: Node, what: str, wanted: str) -> NoReturn:
    found = "a list" if isinstance(node, Items) else "a mapping" if isinstance(node, Fields) else None
    if isinstance(node, Scalar):
        found = "nothing" if node.is_null else shown(node.text)
    raise YamlRefused(node.line, f"field {what} must be {wanted}, not {found}")
