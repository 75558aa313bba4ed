"""Even assignments in which members keep as many partitions as possible.

If all members subscribe to the same topics, `even_shares` is sufficient. Otherwise `uneven_shares` moves partitions
along paths: each step of a path moves one partition between two subscribers of its topic, and the last member has at
least two partitions fewer than the first. Short paths come first. If no path is left, the shares are optimal.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.assignors.assignor import Assignment


def even_shares(partitions: Iterable[TopicPartition], owned: Mapping[str, list[TopicPartition]]) -> Assignment:
    """Return shares that differ by at most one partition, and move as few partitions as possible.

    Of n members with p partitions, p % n members get one more: first the members that already own one more, then the
    members that reach the smaller share first. Partitions without an owner are assigned in turn.

    Args:
        partitions: all partitions, in the order of assignment.
        owned: current partitions of all members by member id, in the order of members.

    Source: Java AbstractStickyAssignor, with an equal result if it has the same order of members.
    """
    free = dict.fromkeys(partitions)
    share, seats = divmod(len(free), len(owned))  # `seats` members get one more
    assignment: Assignment = {}
    short: deque[str] = deque()
    content: deque[str] = deque()
    for member_id, held in owned.items():
        in_order = sorted(held, key=lambda tp: (tp.partition, tp.topic))
        has_seat = seats > 0 and len(held) > share
        seats -= has_seat
        kept = assignment[member_id] = in_order[: share + has_seat]
        for tp in kept:
            del free[tp]
        if len(kept) < share:
            short.append(member_id)
        elif not has_seat:
            content.append(member_id)
    for tp in free:
        member_id = short.popleft() if short else content.popleft()
        assignment[member_id].append(tp)
        if len(assignment[member_id]) <= share:
            (short if len(assignment[member_id]) < share else content).append(member_id)
    return assignment


class Step(NamedTuple):
    """Move of one partition of `topic` from `giver` to `taker`."""

    giver: str
    topic: str
    taker: str


def uneven_shares(
    partitions: Iterable[TopicPartition],
    owned: Mapping[str, list[TopicPartition]],
    subscribers_of: Mapping[str, list[str]],
) -> Assignment:
    """Return the most even shares that move as few partitions as possible.

    Args:
        partitions: all partitions, in the order of assignment.
        owned: current partitions of subscribed topics by member id, in the order of members.
        subscribers_of: subscribers by topic, in the order of members.

    Differs: Java stops if no single move improves the result, so its shares can be less even.
    """
    shares = Shares(owned, subscribers_of)
    shares.give_away(partitions)
    shares.level()
    return shares.assignment()


class Shares:
    def __init__(self, owned: Mapping[str, list[TopicPartition]], subscribers_of: Mapping[str, list[str]]) -> None:
        self._subscribers_of = subscribers_of
        self._owner = {tp: member_id for member_id, held in owned.items() for tp in held}
        self._held: dict[str, dict[str, list[TopicPartition]]] = {member_id: {} for member_id in owned}
        self._size = dict.fromkeys(owned, 0)
        for member_id, held in owned.items():
            for tp in held:
                self._put(member_id, tp)

    def assignment(self) -> Assignment:
        return {
            member_id: [tp for topic in sorted(held) for tp in sorted(held[topic])]
            for member_id, held in self._held.items()
        }

    def give_away(self, partitions: Iterable[TopicPartition]) -> None:
        """Assign free partitions to the subscriber with the fewest; topics with few subscribers come first."""
        free = [tp for tp in partitions if tp not in self._owner]
        free.sort(key=lambda tp: len(self._subscribers_of[tp.topic]))
        for tp in free:
            self._put(min(self._subscribers_of[tp.topic], key=self._size.__getitem__), tp)

    def level(self) -> None:
        """Move partitions until the shares are optimal; paths of one step come first."""
        self._level(longest=1)
        self._level(longest=len(self._size))

    def _level(self, longest: int) -> None:
        has_changed = True
        while has_changed:
            has_changed = False
            for member_id in sorted(self._size, key=lambda each: -self._size[each]):
                while path := self._path_from(member_id, longest):
                    for step in path:
                        self._move(step)
                    has_changed = True

    def _path_from(self, member_id: str, longest: int) -> list[Step]:
        floor = min(self._size.values())
        ceiling = self._size[member_id] - 2
        came_by: dict[str, Step] = {}
        seen_topics: dict[str, None] = {}
        reached = [member_id] if floor <= ceiling else []
        for _ in range(longest):
            givers, reached = reached, []
            for taker in self._neighbours(givers, came_by, seen_topics, member_id):
                reached.append(taker)
                if self._size[taker] == floor:
                    return path_to(taker, came_by)
            if not reached:
                break
            least = min(reached, key=self._size.__getitem__)
            if self._size[least] <= ceiling:
                return path_to(least, came_by)
        return []

    def _neighbours(
        self, givers: list[str], came_by: dict[str, Step], seen_topics: dict[str, None], start: str
    ) -> Iterator[str]:
        for giver in givers:
            for topic, held in self._held[giver].items():
                if not held or topic in seen_topics:
                    continue
                seen_topics[topic] = None
                for taker in self._subscribers_of[topic]:
                    if taker not in came_by and taker != start:
                        came_by[taker] = Step(giver, topic, taker)
                        yield taker

    def _move(self, step: Step) -> None:
        """Move a partition, preferably one that the giver did not own before."""
        held = self._held[step.giver][step.topic]
        tp = max(held, key=lambda each: (self._owner.get(each) != step.giver, each.partition))
        held.remove(tp)
        self._size[step.giver] -= 1
        self._put(step.taker, tp)

    def _put(self, member_id: str, tp: TopicPartition) -> None:
        self._held[member_id].setdefault(tp.topic, []).append(tp)
        self._size[member_id] += 1


def path_to(member_id: str, came_by: Mapping[str, Step]) -> list[Step]:
    path = []
    step = came_by.get(member_id)
    while step is not None:
        path.append(step)
        step = came_by.get(step.giver)
    return path[::-1]
