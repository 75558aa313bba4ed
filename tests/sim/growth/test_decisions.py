"""Growth of the cost of decisions without requests: plans and findings."""

from collections.abc import Callable

import pytest

from kctl.cli.partitions.planner import Goal, make_plan
from kctl.client.admin import GroupDescription, OffsetAndMetadata, OffsetAndTimestamp
from kctl.client.cluster import Node, PartitionInfo, TopicPartition
from kctl.why import Looks, Scope, diagnose
from kctl.why.look import GroupLook, Look
from tests.support.growth import exponent, lines_of

SLACK = 0.1
WALL_MS = 1_800_000_000_000


def plan_of(n: int) -> Callable[[], object]:
    """Return the plan of n partitions that one broker leads, of six brokers to four."""
    current = {TopicPartition("t", number): (1, 2 + number % 5, 2 + (number + 1) % 5) for number in range(n)}
    return lambda: make_plan(current, Goal(dict.fromkeys((1, 2, 3, 4)), only=True), {}, {})


def look_of(n: int) -> Callable[[], object]:
    """Return the diagnosis of n topics, and of n groups each of which has lost data of one topic."""
    tps = [TopicPartition(f"t{number}", 0) for number in range(n)]
    look = Look(
        WALL_MS,
        (Node(1, "b1", 9092), Node(2, "b2", 9092)),
        topics={tp.topic: {0: PartitionInfo(tp.topic, 0, 2, 1, (1, 2), (1, 2))} for tp in tps},
        groups={f"g{tp.topic}": _group(tp) for tp in tps},
        starts={tp: OffsetAndTimestamp(5, -1) for tp in tps},
        ends={tp: OffsetAndTimestamp(9, -1) for tp in tps},
        newest={tp: OffsetAndTimestamp(8, 2 * WALL_MS) for tp in tps},
    )
    return lambda: diagnose(Looks(look), tuple(Scope))


def _group(tp: TopicPartition) -> GroupLook:
    return GroupLook(
        GroupDescription(f"g{tp.topic}", "classic", "Empty", "consumer", "", None, ()), {tp: OffsetAndMetadata(2)}
    )


@pytest.mark.parametrize("made", [plan_of, look_of], ids=["plan", "look"])
def test_lines_of_decision_grow_with_its_subjects(made: Callable[[int], Callable[[], object]]) -> None:
    lines_of(made(100))  # imports
    costs = tuple(lines_of(made(100 * times)) for times in (1, 2, 4))
    assert exponent(costs) <= 1 + SLACK, costs
