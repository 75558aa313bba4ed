"""Server-side assignors of KIP-848, independent of the order of members."""

from collections.abc import Callable, Mapping
from heapq import heappop, heappush, heapreplace
from typing import NamedTuple

from kctl.sandbox.groups.reconciliation import Slot


class Situation(NamedTuple):
    wants: Mapping[str, tuple[bytes, ...]]
    """Topic IDs of each member."""
    sizes: Mapping[bytes, int]
    """Number of partitions of each topic."""
    target: Mapping[str, tuple[Slot, ...]]
    """Previous target assignment of each member."""


Assignment = dict[str, tuple[Slot, ...]]


def range_assignor(situation: Situation) -> Assignment:
    """Assign neighboring partitions of each topic. Partition n of all topics tends to go to the same member."""
    given: dict[str, list[Slot]] = {member: [] for member in sorted(situation.wants)}
    for topic_id, size in situation.sizes.items():
        members = [member for member in given if topic_id in situation.wants[member]]
        first = 0
        for rank, member in enumerate(members):
            count = size // len(members) + (rank < size % len(members))
            given[member] += [Slot(topic_id, index) for index in range(first, first + count)]
            first += count
    return {member: tuple(slots) for member, slots in given.items()}


class _Shares:
    """Partitions of each member, and the poorest member of each topic.

    Args:
        wants: topic IDs of each member.
    """

    def __init__(self, wants: Mapping[str, tuple[bytes, ...]]) -> None:
        self.slots: dict[str, list[Slot]] = {member: [] for member in sorted(wants)}
        self._wants = wants
        self._takers: dict[bytes, list[tuple[int, str]]] = {}
        """Heaps of members by number of partitions; outdated entries are replaced at the top."""
        for member in self.slots:
            for topic_id in dict.fromkeys(wants[member]):
                self._takers.setdefault(topic_id, []).append((0, member))

    def give(self, slot: Slot, member: str) -> None:
        self.slots[member].append(slot)

    def move(self, slot: Slot, rich: str, poor: str) -> None:
        self.slots[rich].remove(slot)
        self.slots[poor].append(slot)
        for topic_id in self._wants[rich]:
            heappush(self._takers[topic_id], (len(self.slots[rich]), rich))

    def poorest(self, topic_id: bytes) -> str | None:
        heap = self._takers.get(topic_id)
        while heap:
            count, member = heap[0]
            if count == len(self.slots[member]):
                return member
            if count < len(self.slots[member]):
                heapreplace(heap, (len(self.slots[member]), member))
            else:
                heappop(heap)  # pushed again when it lost a partition
        return None


def _keep(situation: Situation, shares: _Shares) -> list[Slot]:
    unassigned: list[Slot] = []
    wanted = {member: frozenset(topics) for member, topics in situation.wants.items()}
    holders = {slot: member for member, slots in situation.target.items() for slot in slots}
    for topic_id, size in situation.sizes.items():
        for slot in (Slot(topic_id, index) for index in range(size)):
            holder = holders.get(slot)
            if holder is not None and topic_id in wanted.get(holder, ()):
                shares.give(slot, holder)
            else:
                unassigned.append(slot)
    return unassigned


def uniform_assignor(situation: Situation) -> Assignment:
    """Assign partitions as evenly as subscriptions allow, with few changes."""
    shares = _Shares(situation.wants)
    for slot in _keep(situation, shares):
        poorest = shares.poorest(slot.topic_id)
        if poorest is not None:
            shares.give(slot, poorest)
    _even_out(shares)
    return {member: tuple(slots) for member, slots in shares.slots.items()}


def _even_out(shares: _Shares) -> None:
    slots, has_moved = shares.slots, True
    while has_moved:
        has_moved = False
        for rich in sorted(slots, key=lambda member: -len(slots[member])):
            for slot in reversed(slots[rich]):
                poorest = shares.poorest(slot.topic_id)
                if poorest is not None and len(slots[rich]) - len(slots[poorest]) > 1:
                    shares.move(slot, rich, poorest)
                    has_moved = True


ASSIGNORS: dict[str, Callable[[Situation], Assignment]] = {"uniform": uniform_assignor, "range": range_assignor}
"""Assignors by `group.remote.assignor`, the default first."""
