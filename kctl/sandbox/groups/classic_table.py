"""The classic protocol as one table: what a group in each state answers, and where each event takes it.

classic.py and classic_rebalance.py ask this table and decide nothing of it again. Source: KIP-62, KIP-134, KIP-394.
"""

from enum import Enum
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode


class State(Enum):
    """The state of a group; the value is Kafka's name."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    """Members are called to join again."""
    COMPLETING = "CompletingRebalance"
    """All have joined; the leader is to say who gets what."""
    STABLE = "Stable"


class Event(Enum):
    """What moves a group on."""

    REBALANCE = "a member came, went, or wants something else"
    ALL_JOINED = "everybody joined again, or the time for it is over"
    NOBODY_JOINED = "the last member is gone"
    ASSIGNED = "the leader's assignment arrived"


class Row(NamedTuple):
    """One state: what a known member of the present generation is answered, and what follows."""

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
"""A sync in COMPLETING is answered when the leader has said who gets what."""
