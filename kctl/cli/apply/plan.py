"""Differences between a cluster and a file. With `--prune`, undeclared items are differences too."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from kctl.cli.apply.declaration import DeclaredTopic
from kctl.client.admin import AclRule
from kctl.client.wording import counted

PARTITIONS = "partitions"
PROTECTED = "_"
"""Prefix of topics that are never pruned: topics of Kafka and, by convention, of registries and tools."""


class Kind(Enum):
    """Kinds of changes, in execution order."""

    CREATE = "create"
    CONFIGS = "configs"
    PARTITIONS = "partitions"
    ADD_ACL = "add an ACL"
    DELETE_ACL = "delete an ACL"
    DELETE = "delete"


class ApplyChange(NamedTuple):
    """One difference between cluster and file. Changes of one kind and topic are sent in one request.

    Attributes:
        item: topic name, or ACL rule.
        key: topic config or `partitions`; None for a whole topic or ACL.
        is_pruned: whether the change deletes something that the file does not declare.
    """

    kind: Kind
    action: str
    item: str | AclRule
    key: str | None
    previous: str | None
    value: str | None
    is_pruned: bool = False

    @property
    def resource(self) -> str:
        return f"topic {self.item}" if isinstance(self.item, str) else f"acl {self.item}"


class FoundTopic(NamedTuple):
    """Topic of the cluster.

    Attributes: configs: configs set on the topic; empty for topics that were not described.
    """

    partitions: int
    replication_factor: int
    is_internal: bool
    configs: Mapping[str, str | None]


class ApplyPlan(NamedTuple):
    """Changes to make, and messages about differences that kctl cannot change."""

    changes: list[ApplyChange]
    conflicts: list[str]


def make_plan(declared: Mapping[str, DeclaredTopic], found: Mapping[str, FoundTopic], *, prune: bool) -> ApplyPlan:
    """Return the changes that make the topics match the declaration.

    Args: prune: also delete undeclared topics and configs.
    """
    changes: list[ApplyChange] = []
    conflicts: list[str] = []
    for name, topic in declared.items():
        there = found.get(name)
        if there is None:
            changes.append(ApplyChange(Kind.CREATE, "create", name, None, None, _summary(topic) or None))
            continue
        changes.extend(_config_changes(topic, there, prune=prune))
        if topic.partitions is not None and topic.partitions > there.partitions:
            grown = (str(there.partitions), str(topic.partitions))
            changes.append(ApplyChange(Kind.PARTITIONS, "set", name, PARTITIONS, *grown))
        conflicts.extend(_conflicts(topic, there))
    if prune:
        changes.extend(_deletions(declared, found))
    return ApplyPlan(in_order(changes), conflicts)


def acl_changes(declared: Sequence[AclRule], found: Collection[AclRule], *, prune: bool) -> list[ApplyChange]:
    """Return the changes that create missing rules and, with `prune`, delete undeclared rules."""
    existing, wanted = frozenset(found), frozenset(declared)
    added = [ApplyChange(Kind.ADD_ACL, "create", rule, None, None, None) for rule in declared if rule not in existing]
    gone = [rule for rule in found if rule not in wanted] if prune else []
    return [*added, *(ApplyChange(Kind.DELETE_ACL, "delete", rule, None, None, None, is_pruned=True) for rule in gone)]


def in_order(changes: Iterable[ApplyChange]) -> list[ApplyChange]:
    order = {kind: number for number, kind in enumerate(Kind)}
    return sorted(changes, key=lambda change: order[change.kind])


def _config_changes(topic: DeclaredTopic, there: FoundTopic, *, prune: bool) -> Iterator[ApplyChange]:
    for key, value in topic.configs.items():
        previous = there.configs.get(key)
        if value is not None and (key not in there.configs or previous != value):
            yield ApplyChange(Kind.CONFIGS, "set", topic.name, key, previous, value)
        elif value is None and key in there.configs:
            yield ApplyChange(Kind.CONFIGS, "unset", topic.name, key, previous, None)
    if prune:
        for key, previous in there.configs.items():
            if key not in topic.configs:
                yield ApplyChange(Kind.CONFIGS, "unset", topic.name, key, previous, None, is_pruned=True)


def _conflicts(topic: DeclaredTopic, there: FoundTopic) -> Iterator[str]:
    if topic.partitions is not None and topic.partitions < there.partitions:
        yield (
            f"topic {topic.name} has {counted(there.partitions, 'partition')}, but the file declares "
            f"{topic.partitions}: partitions cannot be removed"
        )
    if topic.replication_factor is not None and topic.replication_factor != there.replication_factor:
        yield (
            f"topic {topic.name} has replication factor {there.replication_factor}, but the file declares "
            f"{topic.replication_factor}: kctl apply does not move replicas"
        )


def _deletions(declared: Mapping[str, DeclaredTopic], found: Mapping[str, FoundTopic]) -> Iterator[ApplyChange]:
    for name, there in sorted(found.items()):
        if name not in declared and not there.is_internal and not name.startswith(PROTECTED):
            what = counted(there.partitions, "partition")
            yield ApplyChange(Kind.DELETE, "delete", name, None, what, None, is_pruned=True)


def _summary(topic: DeclaredTopic) -> str:
    facts = {"partitions": topic.partitions, "replication_factor": topic.replication_factor, **topic.configs}
    return " ".join(f"{name}={value}" for name, value in facts.items() if value is not None)
