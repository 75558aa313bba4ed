"""Requests that fail, and nodes that share a trigger."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.faults import NodeFaults
from kctl.sandbox.triggers import MAX_FAILURES, Every, Times, Trigger
from tests.unit.sandbox.scenario import Scenario

FETCH = 1


def fired(trigger: Trigger, requests: int) -> list[int]:
    return [number for number in range(1, requests + 1) if trigger.fires()]


def test_times_fails_the_first_requests_and_counts_them_down() -> None:
    trigger = Times(3)
    assert (fired(trigger, 10), trigger.left) == ([1, 2, 3], 0)


def test_every_fails_one_request_of_each_step() -> None:
    trigger = Every(3)
    assert (fired(trigger, 10), trigger.left) == ([3, 6, 9], None)
    assert fired(Every(1), 3) == [1, 2, 3]


@pytest.mark.parametrize("count", [0, -1, MAX_FAILURES + 1])
def test_counts_have_bounds(count: int) -> None:
    with pytest.raises(ValueError, match=f"invalid count {count}: use 1 to {MAX_FAILURES}"):
        Times(count)
    if count < 1:
        with pytest.raises(ValueError, match=f"invalid step {count}"):
            Every(count)


def test_nodes_with_one_trigger_count_together_and_errors_come_in_their_order() -> None:
    scenario = Scenario(nodes=3, topics={"t": 1})
    scenario.sandbox.fail_when("Fetch", ErrorCode.NOT_LEADER_OR_FOLLOWER, Times(2))
    scenario.sandbox.fail_when("Fetch", ErrorCode.KAFKA_STORAGE_ERROR, Every(2))
    one, two, three = (node.faults for node in scenario.cluster.nodes.values())
    codes = [faults.pop_error(FETCH) for faults in (one, two, three, one, two, three)]
    leader, storage = ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR
    assert codes == [leader, leader, None, storage, None, storage]
    scenario.sandbox.heal()
    assert [one.pop_error(FETCH) for _ in range(4)] == [None] * 4


def test_failures_that_are_used_up_leave_room_for_further_ones() -> None:
    faults = NodeFaults()
    for _ in range(MAX_FAILURES + 1):
        faults.fail_requests(FETCH, ErrorCode.KAFKA_STORAGE_ERROR, Times(1))
        assert faults.pop_error(FETCH) is ErrorCode.KAFKA_STORAGE_ERROR
