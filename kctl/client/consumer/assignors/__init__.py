"""Assignors of classic groups: strategies by which the group leader assigns partitions to members."""

from collections.abc import Iterable
from types import FunctionType
from typing import cast

from kctl.client.consumer.assignors.assignor import NO_GENERATION, Assignment, Assignor, MemberSubscription
from kctl.client.consumer.assignors.counting import RangeAssignor, RoundRobinAssignor
from kctl.client.consumer.assignors.custom import Assign, FunctionAssignor, assignment_of, user_data_of
from kctl.client.consumer.assignors.sticky import CooperativeStickyAssignor, StickyAssignor

_ASSIGNORS: tuple[Assignor, ...] = (
    RangeAssignor(),
    RoundRobinAssignor(),
    StickyAssignor(),
    CooperativeStickyAssignor(),
)
_BY_NAME = {assignor.name: assignor for assignor in _ASSIGNORS}


def assignor_by_name(name: str) -> Assignor:
    return _BY_NAME[name]


def assignors_of(strategy: Iterable[str | Assignor | Assign]) -> dict[str, Assignor]:
    """Return the assignors of `partition.assignment.strategy` by name, in order."""
    found = [_assignor(each) for each in strategy]
    return {assignor.name: assignor for assignor in found}


def _assignor(given: str | Assignor | Assign) -> Assignor:
    if isinstance(given, str):
        return assignor_by_name(given)
    return FunctionAssignor(given, given.__name__) if isinstance(given, FunctionType) else cast(Assignor, given)


__all__ = [
    "NO_GENERATION",
    "Assign",
    "Assignment",
    "Assignor",
    "MemberSubscription",
    "assignment_of",
    "assignor_by_name",
    "assignors_of",
    "user_data_of",
]
