"""Plans over generated clusters: nothing moves that may stay, brokers end level, racks are kept apart."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.partitions.planner import Assignment, Goal, NotPossible, copies_of, make_plan
from kctl.client.cluster import TopicPartition

pytestmark = pytest.mark.slow

BROKERS = range(1, 8)
Replicas = tuple[int, ...]


@st.composite
def assignments(draw: st.DrawFn) -> dict[TopicPartition, Replicas]:
    """Partitions of a few topics, with up to three replicas anywhere."""
    found: dict[TopicPartition, Replicas] = {}
    for topic in draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True)):
        factor = draw(st.integers(1, 3))
        for index in range(draw(st.integers(1, 12))):
            replicas = draw(st.lists(st.sampled_from(BROKERS), min_size=factor, max_size=factor, unique=True))
            found[TopicPartition(topic, index)] = tuple(replicas)
    return found


def racks_of(brokers: range | list[int] | set[int], count: int) -> dict[int, str | None]:
    return {each: f"rack{each % count}" if count else None for each in brokers}


def planned(current: Assignment, goal: Goal) -> dict[TopicPartition, Replicas]:
    """The assignment after the plan; what always holds of one is checked."""
    plan = make_plan(current, goal, {}, {})
    assert list(plan) == sorted(plan)
    assert all(plan[key] != current[key] for key in plan)
    after = {**current, **plan}
    for key, replicas in after.items():
        assert len(set(replicas)) == len(replicas) == (goal.replication_factor or len(current[key]))
    assert make_plan(after, goal, {}, {}) == {}, "a plan that was carried out needs no other"
    return after


@given(assignments(), st.sampled_from(BROKERS), st.integers(0, 3))
def test_only_replicas_of_the_broker_that_is_left_move(
    current: dict[TopicPartition, Replicas], away: int, racks: int
) -> None:
    goal = Goal({each: rack for each, rack in racks_of(BROKERS, racks).items() if each != away}, [away])
    after = planned(current, goal)
    for key, replicas in after.items():
        kept = [each for each in current[key] if each != away]
        assert away not in replicas
        assert set(kept) <= set(replicas)
        assert [each for each in replicas if each in kept] == kept
    assert copies_of(current, after) == sum(away in replicas for replicas in current.values())


@given(assignments(), st.integers(1, 5), st.integers(0, 3))
def test_another_replication_factor_copies_only_what_is_new(
    current: dict[TopicPartition, Replicas], factor: int, racks: int
) -> None:
    after = planned(current, Goal(racks_of(BROKERS, racks), replication_factor=factor))
    assert copies_of(current, after) == sum(max(0, factor - len(each)) for each in current.values())
    for key, replicas in after.items():
        assert replicas[0] == current[key][0], "the preferred leader stays"
        assert set(replicas) <= set(current[key]) or set(replicas) >= set(current[key])


@given(assignments(), st.sets(st.sampled_from(BROKERS), min_size=3))
def test_named_brokers_end_level_with_the_fewest_copies(
    current: dict[TopicPartition, Replicas], brokers: set[int]
) -> None:
    after = planned(current, Goal(racks_of(brokers, 0), only=True))
    counts = Counter(dict.fromkeys(brokers, 0))
    counts.update(each for replicas in after.values() for each in replicas)
    assert counts.keys() == brokers
    assert max(counts.values()) - min(counts.values()) <= 1


def test_preferred_leaders_are_evened_out_without_a_copy() -> None:
    current = {TopicPartition("t", index): (1, 2, 3) for index in range(10)}
    after = planned(current, Goal(racks_of({1, 2, 3}, 0), only=True))
    assert copies_of(current, after) == 0
    assert sorted(Counter(replicas[0] for replicas in after.values()).values()) == [3, 3, 4]


@given(assignments())
def test_new_broker_gets_exactly_its_share(current: dict[TopicPartition, Replicas]) -> None:
    level = planned(current, Goal(racks_of(BROKERS, 0), only=True))
    after = planned(level, Goal(racks_of([*BROKERS, 8], 0), only=True))
    share = sum(8 in replicas for replicas in after.values())
    assert copies_of(level, after) == share
    assert share == sum(len(each) for each in level.values()) // 8


@given(assignments(), st.integers(2, 4))
def test_replicas_are_in_as_many_racks_as_there_are(current: dict[TopicPartition, Replicas], count: int) -> None:
    racks = racks_of(BROKERS, count)
    for replicas in planned(current, Goal(racks, only=True)).values():
        assert len({racks[each] for each in replicas}) == min(len(replicas), count)


def test_replica_goes_to_the_rack_that_is_missing_then_to_the_emptiest_broker() -> None:
    current = {TopicPartition("t", 0): (1, 2)}
    racks: dict[int, str | None] = {1: "a", 3: "a", 4: "b", 5: "b"}
    assert make_plan(current, Goal(racks, [2]), {4: 1}, {}) == {TopicPartition("t", 0): (1, 5)}


def test_replica_out_of_sync_is_given_away_first() -> None:
    key = TopicPartition("t", 0)
    goal = Goal(racks_of(BROKERS, 0), replication_factor=2)
    assert make_plan({key: (1, 2, 3)}, goal, {}, {key: (1, 3)}) == {key: (1, 3)}


def test_too_few_brokers_are_named() -> None:
    with pytest.raises(NotPossible, match="cannot place 2 replicas of t-0 on 1 broker"):
        make_plan({TopicPartition("t", 0): (1, 2)}, Goal({1: None}, [2]), {}, {})


@pytest.mark.slow
@pytest.mark.parametrize("racks", [0, 3])
def test_ten_thousand_partitions_take_few_steps(racks: int) -> None:
    """A hundred brokers and one more: each replica moves at most once, and only to the new one."""
    current = {
        TopicPartition(f"t{n % 100}", n // 100): tuple((n + step) % 99 + 1 for step in range(3)) for n in range(10_000)
    }
    after = planned(current, Goal(racks_of(range(1, 101), racks), only=True))
    assert copies_of(current, after) <= 300
