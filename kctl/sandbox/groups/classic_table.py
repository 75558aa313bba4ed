"""State table of the classic protocol. Source: KIP-62, KIP-134, KIP-394."""

from enum import Enum
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode


class State(Enum):
    """State of a group. The value is Kafka's name."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    """Members have to rejoin."""
    COMPLETING = "CompletingRebalance"
    """All members have joined, and the leader has not sent the assignments yet."""
    STABLE = "Stable"


class Event(Enum):
    REBALANCE = "a member joined, left, or changed its subscription"
    ALL_JOINED = "all members have rejoined or the rebalance timeout has passed"
    NOBODY_JOINED = "the last member has left"
    ASSIGNED = "the group leader has sent the assignment"


class Row(NamedTuple):
    """Errors for requests of a current member in one state, and the transitions."""

    heartbeat: ErrorCode
    sync: ErrorCode
    commit: ErrorCode
    next: dict[Event, State]


_NONE, _UNKNOWN, _AGAIN = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS

# fmt: off
TABLE: dict[State, Row] = {
    #                     heartbeat  sync      commit
    State.EMPTY:      Row(_UNKNOWN,  _UNKNOWN, _NONE,  {Event.REBALANCE: State.PREPARING}),
    State.PREPARING:  Row(_AGAIN,    _AGAIN,   _NONE,  {Event.ALL_JOINED: State.COMPLETING,
                                                        Event.NOBODY_JOINED: State.EMPTY}),
    State.COMPLETING: Row(_NONE,     _NONE,    _AGAIN, {Event.ASSIGNED: State.STABLE,
                                                        Event.REBALANCE: State.PREPARING}),
    State.STABLE:     Row(_NONE,     _NONE,    _NONE,  {Event.REBALANCE: State.PREPARING}),
}
# fmt: on
"""Rows by state. In COMPLETING, SyncGroup waits for the leader's assignments."""
