"""Who gets what from the server's assignors."""

from random import Random

import pytest

from kctl.sandbox.groups.assignors import ASSIGNORS, Assignment, Situation, range_assignor, uniform_assignor
from kctl.sandbox.groups.reconciliation import Slot
from tests.support.growth import exponent, lines_of

MOST_EXPONENT = 1.1
A, B, C = (bytes([number]) * 16 for number in (1, 2, 3))


def shares(assignment: Assignment) -> dict[str, list[tuple[int, int]]]:
    return {
        member: sorted((slot.topic_id[0], slot.partition) for slot in slots) for member, slots in assignment.items()
    }


def test_range_keeps_neighbours_together_and_equal_partitions_of_topics() -> None:
    found = range_assignor(Situation({"y": (A, B), "x": (A, B), "z": (B,)}, {A: 3, B: 4}, {}))
    assert shares(found) == {
        "x": [(1, 0), (1, 1), (2, 0), (2, 1)],
        "y": [(1, 2), (2, 2)],
        "z": [(2, 3)],
    }


def test_uniform_moves_no_more_than_it_must() -> None:
    before = {"x": tuple(Slot(A, index) for index in range(6))}
    first = uniform_assignor(Situation({"x": (A,), "y": (A,)}, {A: 6}, before))
    assert shares(first) == {"x": [(1, 0), (1, 1), (1, 2)], "y": [(1, 3), (1, 4), (1, 5)]}
    second = uniform_assignor(Situation({"x": (A,), "y": (A,), "z": (A,)}, {A: 6}, first))
    assert sum(len(set(first[member]) - set(second[member])) for member in "xy") == 2
    third = uniform_assignor(Situation({"y": (A,), "z": (A,)}, {A: 6}, second))
    assert all(set(second[member]) <= set(third[member]) for member in "yz")


@pytest.mark.parametrize("name", ASSIGNORS)
@pytest.mark.parametrize("seed", range(30))
def test_each_partition_goes_to_one_who_wants_it(name: str, seed: int) -> None:
    rng = Random(seed)
    sizes = {A: rng.randrange(1, 9), B: rng.randrange(1, 9), C: rng.randrange(1, 9)}
    members = [f"m{number}" for number in range(rng.randrange(1, 6))]
    target: Assignment = {}
    for _ in range(4):
        wants = {member: tuple(rng.sample([A, B, C], rng.randrange(4))) for member in members}
        target = ASSIGNORS[name](Situation(wants, sizes, target))
        given = [slot for slots in target.values() for slot in slots]
        wanted = {topic_id for topics in wants.values() for topic_id in topics}
        assert sorted(given) == sorted(Slot(one, index) for one in wanted for index in range(sizes[one]))
        assert all(slot.topic_id in wants[member] for member, slots in target.items() for slot in slots)


@pytest.mark.parametrize("seed", range(30))
def test_uniform_is_as_even_as_subscriptions_allow(seed: int) -> None:
    rng = Random(seed)
    sizes = {A: 5, B: 8, C: 3}
    wants = {f"m{number}": tuple(rng.sample([A, B, C], rng.randrange(1, 4))) for number in range(4)}
    found = uniform_assignor(Situation(wants, sizes, {}))
    for rich, slots in found.items():
        for slot in slots:
            takers = [member for member, topics in wants.items() if slot.topic_id in topics]
            assert len(found[rich]) - min(len(found[taker]) for taker in takers) <= 1


def test_uniform_assignment_of_many_members_costs_as_much_as_it_has_members() -> None:
    def lines(count: int) -> int:
        wants = {f"m{number:04}": (A,) for number in range(count)}
        first = uniform_assignor(Situation(wants, {A: 2 * count}, {}))
        return lines_of(lambda: uniform_assignor(Situation({**wants, "new": (A,)}, {A: 2 * count}, first)))

    costs = (lines(50), lines(100), lines(200))
    assert exponent(costs) <= MOST_EXPONENT, costs
