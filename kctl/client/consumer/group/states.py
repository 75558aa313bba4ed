"""Transition tables of a group member, one for each protocol. A missing transition is a bug and raises ValueError."""

from enum import Enum


class MemberState(Enum):
    """State of a member. The value describes it. The consumer protocol has no ASSIGNING and SYNC_SENT."""

    ABSENT = "the consumer has no subscription or does not poll"
    JOINING = "waiting until the application has handled the last assignment"
    JOIN_SENT = "waiting for the other members to join"
    ASSIGNING = "waiting for topic metadata to assign partitions"
    SYNC_SENT = "waiting for the assignment of the group leader"
    STABLE = "the member has its partitions"


class MemberEvent(Enum):
    JOIN = "the member must join or rejoin"
    SEND_JOIN = "JoinGroup or the first heartbeat of the consumer protocol was sent"
    JOINED = "JoinGroup returned a generation"
    SEND_SYNC = "SyncGroup was sent"
    ACCEPTED = "SyncGroup or a heartbeat of the consumer protocol succeeded"
    STOP = "the member left the group, was rejected, or was removed"


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
        raise ValueError(f"members in state {state.name} have no transition for event {event.name}")
    return found
