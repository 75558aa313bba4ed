"""Growth of the cost of decisions without requests: plans and findings."""

from collections.abc import Callable

import pytest

from kctl.cli.partitions.plan import Wish, _chosen
from kctl.cli.partitions.planner import Goal, make_plan
from kctl.client.admin import GroupDescription, MemberDescription, OffsetAndMetadata, OffsetAndTimestamp
from kctl.client.cluster import Node, PartitionInfo, TopicPartition
from kctl.client.errors import KafkaError
from kctl.why import Diagnosis, Looks, Scope, diagnose
from kctl.why.look import GroupLook, Look
from tests.support.growth import exponent, lines_of

SLACK = 0.1
WALL_MS = 1_800_000_000_000


def plan_of(n: int) -> Callable[[], object]:
    """Return the plan of n partitions that one broker leads, of six brokers to four."""
    current = {TopicPartition("t", number): (1, 2 + number % 5, 2 + (number + 1) % 5) for number in range(n)}
    return lambda: make_plan(current, Goal(dict.fromkeys((1, 2, 3, 4)), only=True), {}, {})


def choice_of(n: int) -> Callable[[], object]:
    """Return the choice of n topics by name."""
    wish = Wish(tuple(f"t{number}" for number in range(n)), (), (), None, False, None)
    everything = {TopicPartition(topic, 0): PartitionInfo(topic, 0, 2, 1, (1, 2), (1, 2)) for topic in wish.topics}
    return lambda: _chosen(wish, everything)


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


def slow_group_of(n: int) -> Callable[[], Diagnosis]:
    """Return the diagnosis of a group of n members, each of which falls behind in a topic."""
    return _compared(n, 1, None)


def stuck_group_of(n: int) -> Callable[[], Diagnosis]:
    """Return the diagnosis of a group of n members, each of which is stuck at a record that cannot be read."""
    return _compared(n, 0, KafkaError("corrupt"))


def _compared(n: int, read: int, shape: KafkaError | None) -> Callable[[], Diagnosis]:
    tps = [TopicPartition(f"t{number}", 0) for number in range(n)]
    members = tuple(
        MemberDescription(f"m{number}", None, f"c{number}", "h", (tp,), (tp.topic,)) for number, tp in enumerate(tps)
    )
    description = GroupDescription("g", "classic", "Stable", "consumer", "", None, members)

    def look(wall_ms: int, committed: int, end: int) -> Look:
        ends = {tp: OffsetAndTimestamp(end, -1) for tp in tps}
        group = GroupLook(description, {tp: OffsetAndMetadata(committed) for tp in tps})
        shapes = {} if shape is None else {(tp, committed): shape for tp in tps}
        return Look(wall_ms, groups={"g": group}, ends=ends, stable_ends=ends, shapes=shapes)

    looks = Looks(look(WALL_MS, read, 10_000), look(WALL_MS - 60_000, 0, 10))
    return lambda: diagnose(looks, tuple(Scope))


@pytest.mark.parametrize(
    "made",
    [plan_of, choice_of, look_of, slow_group_of, stuck_group_of],
    ids=["plan", "choice", "look", "slow group", "stuck group"],
)
def test_lines_of_decision_grow_with_its_subjects(made: Callable[[int], Callable[[], object]]) -> None:
    lines_of(made(100))  # imports
    costs = tuple(lines_of(made(100 * times)) for times in (1, 2, 4))
    assert exponent(costs) <= 1 + SLACK, costs


@pytest.mark.parametrize(
    ("made", "finding"), [(slow_group_of, "falling-behind"), (stuck_group_of, "poison-record")], ids=["slow", "stuck"]
)
def test_diagnosis_of_each_group_has_a_finding_for_each_member(
    made: Callable[[int], Callable[[], Diagnosis]], finding: str
) -> None:
    assert [each.id for each in made(3)().findings if each.id == finding] == [finding] * 3
