"""Transition tables of a group member, one for each protocol. A missing transition is a bug and raises ValueError."""

from enum import Enum


class MemberState(Enum):
    """State of a member. The value describes it. The consumer protocol has no ASSIGNING and SYNC_SENT."""

    ABSENT = "not in the group: no subscription, or the application does not poll"
    JOINING = "to send JoinGroup after the application has handled the last change"
    JOIN_SENT = "the coordinator collects the members"
    ASSIGNING = "this member leads and waits for the metadata of all topics"
    SYNC_SENT = "the coordinator waits for the leader's assignment"
    STABLE = "has its partitions"


class MemberEvent(Enum):
    JOIN = "the member is to join, or to join again"
    SEND_JOIN = "JoinGroup, or the first heartbeat of the consumer protocol, is sent"
    JOINED = "JoinGroup returned a generation"
    SEND_SYNC = "SyncGroup is sent"
    ACCEPTED = "SyncGroup, or a heartbeat of the consumer protocol, succeeded"
    STOP = "the member left, was refused or lost its place"


Transitions = dict[tuple[MemberState, MemberEvent], MemberState]

CLASSIC: Transitions = {
    (MemberState.ABSENT, MemberEvent.JOIN): MemberState.JOINING,
    (MemberState.ABSENT, MemberEvent.STOP): MemberState.ABSENT,
    (MemberState.JOINING, MemberEvent.JOIN): MemberState.JOINING,
    (MemberState.JOINING, MemberEvent.SEND_JOIN): MemberState.JOIN_SENT,
    (MemberState.JOINING, MemberEvent.STOP): MemberState.ABSENT,
    (MemberState.JOIN_SENT, MemberEvent.JOIN): MemberState.JOINING,
    (MemberState.JOIN_SENT, MemberEvent.JOINED): MemberState.ASSIGNING,
    (MemberState.JOIN_SENT, MemberEvent.STOP): MemberState.ABSENT,
    (MemberState.ASSIGNING, MemberEvent.SEND_SYNC): MemberState.SYNC_SENT,
    (MemberState.ASSIGNING, MemberEvent.STOP): MemberState.ABSENT,
    (MemberState.SYNC_SENT, MemberEvent.JOIN): MemberState.JOINING,
    (MemberState.SYNC_SENT, MemberEvent.ACCEPTED): MemberState.STABLE,
    (MemberState.SYNC_SENT, MemberEvent.STOP): MemberState.ABSENT,
    (MemberState.STABLE, MemberEvent.JOIN): MemberState.JOINING,
    (MemberState.STABLE, MemberEvent.STOP): MemberState.ABSENT,
}
"""Transitions of the classic protocol. A member that has lost its place joins from ABSENT."""

CONSUMER: Transitions = {
    (MemberState.ABSENT, MemberEvent.JOIN): MemberState.JOINING,
    (MemberState.ABSENT, MemberEvent.STOP): MemberState.ABSENT,
    (MemberState.JOINING, MemberEvent.SEND_JOIN): MemberState.JOIN_SENT,
    (MemberState.JOINING, MemberEvent.STOP): MemberState.ABSENT,
    (MemberState.JOIN_SENT, MemberEvent.JOIN): MemberState.JOINING,
    (MemberState.JOIN_SENT, MemberEvent.ACCEPTED): MemberState.STABLE,
    (MemberState.JOIN_SENT, MemberEvent.STOP): MemberState.ABSENT,
    (MemberState.STABLE, MemberEvent.ACCEPTED): MemberState.STABLE,
    (MemberState.STABLE, MemberEvent.STOP): MemberState.ABSENT,
}
"""Transitions of the consumer protocol. The broker decides about rebalances, so a member stays STABLE."""


def after(table: Transitions, state: MemberState, event: MemberEvent) -> MemberState:
    """Return the state after an event.

    Raises: ValueError: the transition is missing, which is a bug.
    """
    found = table.get((state, event))
    if found is None:
        raise ValueError(f"a member that is {state.name} has no transition by {event.name}")
    return found
