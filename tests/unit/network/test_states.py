"""The state tables: complete, without dead ends save the last state, and strict."""

from enum import Enum

import pytest

from kctl.client.network.states import (
    CONNECTION_TRANSITIONS,
    NODE_TRANSITIONS,
    ConnectionState,
    NodeState,
    moved,
)


@pytest.mark.parametrize(
    ("table", "states"), [(CONNECTION_TRANSITIONS, ConnectionState), (NODE_TRANSITIONS, NodeState)]
)
def test_every_state_has_a_row_and_is_reached(table: dict[Enum, tuple[Enum, ...]], states: type[Enum]) -> None:
    assert set(table) == set(states)
    first = next(iter(states))
    reached, frontier = {first}, [first]
    while frontier:
        for state in table[frontier.pop()]:
            if state not in reached:
                reached.add(state)
                frontier.append(state)
    assert reached == set(states)


def test_every_connection_state_can_be_closed() -> None:
    for state, successors in CONNECTION_TRANSITIONS.items():
        assert state is ConnectionState.CLOSED or ConnectionState.CLOSED in successors


def test_transition_that_the_table_lacks_raises() -> None:
    assert moved(NODE_TRANSITIONS, NodeState.DISCONNECTED, NodeState.CONNECTING) is NodeState.CONNECTING
    with pytest.raises(ValueError, match="no transition from READY to CONNECTING"):
        moved(NODE_TRANSITIONS, NodeState.READY, NodeState.CONNECTING)
