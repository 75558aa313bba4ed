"""Assignors of classic groups: pure functions that the leader of a group applies to what its members told.

`assignor_by_name` is the way in; the names are those of `partition.assignment.strategy` and of the wire.
"""

from kctl.client.consumer.assignors.assignor import NO_GENERATION, Assignment, Assignor, MemberSubscription
from kctl.client.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from kctl.client.consumer.assignors.range import RangeAssignor
from kctl.client.consumer.assignors.round_robin import RoundRobinAssignor
from kctl.client.consumer.assignors.sticky import StickyAssignor

_ASSIGNORS: tuple[Assignor, ...] = (
    RangeAssignor(),
    RoundRobinAssignor(),
    StickyAssignor(),
    CooperativeStickyAssignor(),
)
_BY_NAME = {assignor.name: assignor for assignor in _ASSIGNORS}


def assignor_by_name(name: str) -> Assignor:
    """Return the assignor with this name on the wire; KeyError for others."""
    return _BY_NAME[name]


__all__ = ["NO_GENERATION", "Assignment", "Assignor", "MemberSubscription", "assignor_by_name"]
