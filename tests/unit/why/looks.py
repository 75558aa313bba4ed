"""Looks made by hand, for what the sandbox cannot show."""

from collections.abc import Mapping, Sequence

from kctl.client.admin import GroupDescription, MemberDescription, OffsetAndMetadata, OffsetAndTimestamp
from kctl.client.cluster import Node, PartitionInfo, TopicPartition
from kctl.why import Finding, Look, Looks, Scope, diagnose
from kctl.why.look import GroupLook
from tests.support.finding_evidence import unseen

WALL_MS = 1_700_000_000_000
NODES = tuple(Node(node_id, f"b{node_id}", 9092) for node_id in (1, 2, 3))


def partition(
    number: int, leader: int, replicas: Sequence[int] = (1, 2, 3), isr: Sequence[int] | None = None, *, epoch: int = 1
) -> PartitionInfo:
    return PartitionInfo("t", number, leader, epoch, tuple(replicas), tuple(replicas if isr is None else isr))


def topic(*infos: PartitionInfo) -> dict[str, dict[int, PartitionInfo]]:
    return {"t": {info.partition: info for info in infos}}


def member(
    name: str, *numbers: int, instance: str | None = None, client: str = "app", host: str = "h"
) -> MemberDescription:
    return MemberDescription(
        name, instance, client, host, tuple(TopicPartition("t", number) for number in numbers), ("t",)
    )


def group(
    *members: MemberDescription, state: str = "Stable", epoch: int | None = None, committed: Mapping[int, int] = {}
) -> dict[str, GroupLook]:
    kind = "classic" if epoch is None else "consumer"
    description = GroupDescription("g", kind, state, "consumer", "range", None, members, epoch, epoch)
    offsets = {TopicPartition("t", number): OffsetAndMetadata(offset) for number, offset in committed.items()}
    return {"g": GroupLook(description, offsets)}


def offsets(values: Mapping[int, int]) -> dict[TopicPartition, OffsetAndTimestamp]:
    return {TopicPartition("t", number): OffsetAndTimestamp(offset, -1) for number, offset in values.items()}


def found(now: Look, before: Look | None = None) -> dict[str, Finding]:
    """Return the findings by id. Their evidence must support their sentences."""
    findings = diagnose(Looks(now, before), tuple(Scope)).findings
    missing = [(each.sentence, names) for each in findings if (names := unseen(each))]
    assert missing == [], missing
    return {each.id: each for each in findings}


def found_once(now: Look, apart_ms: int = 10_000, /, **before: object) -> dict[str, Finding]:
    """Return the findings of two looks that differ in these fields."""
    first = now._replace(wall_ms=now.wall_ms - apart_ms, **before)  # type: ignore[arg-type]
    return found(now, first)
