"""What has to change so that a cluster is as a file declares it, and what cannot be changed.

Owns the rule of what `--prune` removes. Knows no requests.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from kctl.cli.apply.declaration import DeclaredTopic
from kctl.client.admin import AclRule
from kctl.client.wording import counted

PARTITIONS = "partitions"
PROTECTED = "_"
"""Topics whose names start with that are never pruned: Kafka's own, and by convention those of registries and tools."""


class Kind(Enum):
    """How a change is made; in the order in which kinds are made, so that what deletes is last."""

    CREATE = "create"
    CONFIGS = "configs"
    PARTITIONS = "partitions"
    ADD_ACL = "add an ACL"
    DELETE_ACL = "delete an ACL"
    DELETE = "delete"


class ApplyChange(NamedTuple):
    """One difference. Those of one kind and topic are made together, or not at all.

    Attributes:
        action: create, set, unset or delete.
        item: the name of a topic, or a rule.
        key: the property, or `partitions`; None of a whole topic.
        previous, value: what there is and what is declared.
        is_pruned: it is made because the file does not declare what there is.
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
        """How it is shown."""
        return f"topic {self.item}" if isinstance(self.item, str) else f"acl {self.item}"


class FoundTopic(NamedTuple):
    """A topic of the cluster; `configs`: what is set of it, of topics that are not declared nothing."""

    partitions: int
    replication_factor: int
    is_internal: bool
    configs: Mapping[str, str | None]


class ApplyPlan(NamedTuple):
    """The changes, and in words what is declared and cannot be."""

    changes: list[ApplyChange]
    conflicts: list[str]


def make_plan(declared: Mapping[str, DeclaredTopic], found: Mapping[str, FoundTopic], *, prune: bool) -> ApplyPlan:
    """Return what has to change."""
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
    """Return which rules have to be created, and with `prune` which have to be deleted."""
    existing, wanted = frozenset(found), frozenset(declared)
    added = [ApplyChange(Kind.ADD_ACL, "create", rule, None, None, None) for rule in declared if rule not in existing]
    gone = [rule for rule in found if rule not in wanted] if prune else []
    return [*added, *(ApplyChange(Kind.DELETE_ACL, "delete", rule, None, None, None, is_pruned=True) for rule in gone)]


def in_order(changes: Iterable[ApplyChange]) -> list[ApplyChange]:
    """Return changes in the order in which they are made."""
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
            f"topic {topic.name} has {counted(there.partitions, 'partition')}, {topic.partitions} declared: "
            "a topic cannot have fewer than before"
        )
    if topic.replication_factor is not None and topic.replication_factor != there.replication_factor:
        yield (
            f"topic {topic.name} has replication factor {there.replication_factor}, {topic.replication_factor} "
            "declared: apply moves no replicas"
        )


def _deletions(declared: Mapping[str, DeclaredTopic], found: Mapping[str, FoundTopic]) -> Iterator[ApplyChange]:
    for name, there in sorted(found.items()):
        if name not in declared and not there.is_internal and not name.startswith(PROTECTED):
            what = counted(there.partitions, "partition")
            yield ApplyChange(Kind.DELETE, "delete", name, None, what, None, is_pruned=True)


def _summary(topic: DeclaredTopic) -> str:
    facts = {"partitions": topic.partitions, "replication_factor": topic.replication_factor, **topic.configs}
    return " ".join(f"{name}={value}" for name, value in facts.items() if value is not None)
