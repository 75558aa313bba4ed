"""The server's assignors of KIP-848: who shall have which partition. Topics are known by id, members by id.

Same input, same output, whatever the order of the members.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kctl.sandbox.groups.reconciliation import Slot


class Situation(NamedTuple):
    """What an assignor looks at."""

    wants: Mapping[str, tuple[bytes, ...]]
    """The topics of each member."""
    sizes: Mapping[bytes, int]
    """The number of partitions of each topic."""
    target: Mapping[str, tuple[Slot, ...]]
    """What each member had in the target before."""


Assignment = dict[str, tuple[Slot, ...]]


def range_assignor(situation: Situation) -> Assignment:
    """Return neighbouring partitions of each topic for each member; partition n of all topics tends to one member."""
    given: dict[str, list[Slot]] = {member: [] for member in sorted(situation.wants)}
    for topic_id, size in situation.sizes.items():
        members = [member for member in given if topic_id in situation.wants[member]]
        first = 0
        for rank, member in enumerate(members):
            count = size // len(members) + (rank < size % len(members))
            given[member] += [Slot(topic_id, index) for index in range(first, first + count)]
            first += count
    return {member: tuple(slots) for member, slots in given.items()}


def _keep(situation: Situation, takers: dict[bytes, list[str]], shares: dict[str, list[Slot]]) -> list[Slot]:
    """Let members keep what they have and may have; return the slots that are left."""
    unassigned: list[Slot] = []
    holders = {slot: member for member, slots in situation.target.items() for slot in slots}
    for topic_id, size in situation.sizes.items():
        for slot in (Slot(topic_id, index) for index in range(size)):
            holder = holders.get(slot)
            if holder is not None and holder in takers[topic_id]:
                shares[holder].append(slot)
            elif takers[topic_id]:
                unassigned.append(slot)
    return unassigned


def uniform_assignor(situation: Situation) -> Assignment:
    """Return shares as equal as the subscriptions allow, with as few moves from the target before as that takes."""
    members = sorted(situation.wants)
    shares: dict[str, list[Slot]] = {member: [] for member in members}
    takers = {
        topic_id: [member for member in members if topic_id in situation.wants[member]] for topic_id in situation.sizes
    }
    for slot in _keep(situation, takers, shares):
        poorest = min(takers[slot.topic_id], key=lambda member: len(shares[member]))
        shares[poorest].append(slot)
    _even_out(shares, takers)
    return {member: tuple(slots) for member, slots in shares.items()}


def _even_out(shares: dict[str, list[Slot]], takers: Mapping[bytes, list[str]]) -> None:
    """Move partitions from rich members to poor ones until no single move makes two shares more equal."""
    has_moved = True
    while has_moved:
        has_moved = False
        for rich in sorted(shares, key=lambda member: -len(shares[member])):
            for slot in reversed(shares[rich]):
                poorest = min(takers[slot.topic_id], key=lambda member: len(shares[member]))
                if len(shares[rich]) - len(shares[poorest]) > 1:
                    shares[rich].remove(slot)
                    shares[poorest].append(slot)
                    has_moved = True


ASSIGNORS: dict[str, Callable[[Situation], Assignment]] = {"uniform": uniform_assignor, "range": range_assignor}
"""By the name that `group.remote.assignor` gives; the first is the default."""
