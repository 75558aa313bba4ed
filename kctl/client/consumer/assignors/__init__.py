"""Assignors of classic groups: pure functions that the leader of a group applies to the subscriptions of its members.

`assignor_by_name` is the way in; the names are those of `partition.assignment.strategy` and of the wire.
"""

from kctl.client.consumer.assignors.assignor import NO_GENERATION, Assignment, Assignor, MemberSubscription
from kctl.client.consumer.assignors.counting import RangeAssignor, RoundRobinAssignor
from kctl.client.consumer.assignors.sticky import CooperativeStickyAssignor, StickyAssignor

_ASSIGNORS: tuple[Assignor, ...] = (
    RangeAssignor(),
    RoundRobinAssignor(),
    StickyAssignor(),
    CooperativeStickyAssignor(),
)
_BY_NAME = {assignor.name: assignor for assignor in _ASSIGNORS}


def has_assignor(name: str) -> bool:
    """Return whether there is an assignor with this name on the wire."""
    return name in _BY_NAME


def assignor_by_name(name: str) -> Assignor:
    """Return the assignor with this name on the wire; KeyError for others."""
    return _BY_NAME[name]


__all__ = ["NO_GENERATION", "Assignment", "Assignor", "MemberSubscription", "assignor_by_name", "has_assignor"]
