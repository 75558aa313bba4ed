"""The state tables of members: every state can stop, every state is reached, and what is not in a table raises."""

import pytest

from kctl.client.consumer.group.states import CLASSIC, CONSUMER, MemberEvent, MemberState, Transitions, after

TABLES = pytest.mark.parametrize("table", [CLASSIC, CONSUMER], ids=["classic", "consumer"])


def reached(table: Transitions) -> set[MemberState]:
    """Return the states that lead on or are led to."""
    return {state for state, _ in table} | set(table.values())


@TABLES
def test_every_state_of_a_member_can_stop(table: Transitions) -> None:
    assert {after(table, state, MemberEvent.STOP) for state in reached(table)} == {MemberState.ABSENT}


@TABLES
def test_every_state_is_reached_from_absent(table: Transitions) -> None:
    found, unseen = {MemberState.ABSENT}, [MemberState.ABSENT]
    while unseen:
        state = unseen.pop()
        following = {to for (known, _), to in table.items() if known is state} - found
        found |= following
        unseen += following
    assert found == reached(table)


def test_a_classic_member_uses_every_state_and_event() -> None:
    assert reached(CLASSIC) == set(MemberState)
    assert {event for _, event in CLASSIC} == set(MemberEvent)


@TABLES
def test_event_that_a_state_lacks_is_a_bug_that_raises(table: Transitions) -> None:
    missing = [(state, event) for state in MemberState for event in MemberEvent if (state, event) not in table]
    assert (MemberState.ABSENT, MemberEvent.ACCEPTED) in missing
    for state, event in missing:
        with pytest.raises(ValueError, match=f"{state.name} have no transition for event {event.name}"):
            after(table, state, event)
