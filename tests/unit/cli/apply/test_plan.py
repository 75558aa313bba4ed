"""The plan of `kctl apply`: what changes, what cannot, and what --prune removes."""

from collections.abc import Mapping

from kctl.cli.apply.declaration import DeclaredTopic
from kctl.cli.apply.plan import FoundTopic, acl_changes, make_plan
from kctl.client.acls import AclOperation, AclPermission, AclResourceType, AclRule, PatternType


def found(partitions: int = 2, replicas: int = 3, *, internal: bool = False, **configs: str) -> FoundTopic:
    return FoundTopic(partitions, replicas, internal, {key.replace("_", "."): value for key, value in configs.items()})


def declared(name: str, partitions: int | None = None, replicas: int | None = None, **configs: str | None) -> Mapping:  # type: ignore[type-arg]
    given = {key.replace("_", "."): value for key, value in configs.items()}
    return {name: DeclaredTopic(name, partitions, replicas, given)}


def test_topic_as_declared_needs_no_change() -> None:
    plan = make_plan(declared("t", 2, 3, retention_ms="5"), {"t": found(retention_ms="5"), "u": found()}, prune=False)
    assert plan == ([], [])


def test_topics_are_created_configured_and_grown_in_that_order() -> None:
    wanted = {**declared("t", 4, retention_ms="5", segment_ms=None), **declared("new", 1, 2, a="b")}
    plan = make_plan(wanted, {"t": found(segment_ms="7", flush_ms="1")}, prune=False)
    assert [change[1:6] for change in plan.changes] == [
        ("create", "new", None, None, "partitions=1 replication_factor=2 a=b"),
        ("set", "t", "retention.ms", None, "5"),
        ("unset", "t", "segment.ms", "7", None),
        ("set", "t", "partitions", "2", "4"),
    ]
    assert not any(change.is_pruned for change in plan.changes)


def test_prune_deletes_last_and_leaves_names_with_an_underscore() -> None:
    there = {"t": found(flush_ms="1"), "old": found(), "_schemas": found(), "__state": found(internal=True)}
    plan = make_plan({**declared("t"), **declared("new")}, there, prune=True)
    assert [(change.action, change.item, change.key, change.is_pruned) for change in plan.changes] == [
        ("create", "new", None, False),
        ("unset", "t", "flush.ms", True),
        ("delete", "old", None, True),
    ]


def test_fewer_partitions_and_other_replication_factors_are_conflicts() -> None:
    plan = make_plan(declared("t", 1, 2), {"t": found()}, prune=False)
    assert plan.changes == []
    assert [text.split(":")[0] for text in plan.conflicts] == [
        "topic t has 2 partitions, but the file declares 1",
        "topic t has replication factor 3, but the file declares 2",
    ]


class CountedName(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        CountedName.comparisons += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def rules(count: int) -> list[AclRule]:
    return [
        AclRule(
            AclResourceType.TOPIC,
            CountedName(f"t{number}"),
            PatternType.LITERAL,
            "User:a",
            "*",
            AclOperation.READ,
            AclPermission.ALLOW,
        )
        for number in range(count)
    ]


def test_rules_are_compared_a_number_of_times_that_grows_with_their_count() -> None:
    CountedName.comparisons = 0
    changes = acl_changes(rules(300), [*rules(200), rules(400)[-1]], prune=True)
    assert [change.action for change in changes].count("create") == 100
    assert [change.item.resource_name for change in changes if isinstance(change.item, AclRule)][-1] == "t399"
    assert CountedName.comparisons < 5 * 300
