"""Sticky shares where all members want the same topics. Shown by tests/unit/consumer/assignors/test_sticky.py."""

from collections import deque
from collections.abc import Iterable, Mapping

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.assignors.assignor import Assignment


def even_shares(partitions: Iterable[TopicPartition], owned: Mapping[str, list[TopicPartition]]) -> Assignment:
    """Return shares that differ by one at most; everybody keeps as much as that allows.

    Of n members and p partitions p % n members get one more than the others: first those that own so many already,
    then those that reach the smaller share first. What is free is dealt out in turn.

    Args:
        partitions: all of them, in the order in which free ones are dealt out.
        owned: by member id, in the order in which members are served; all keys take part.
    Source: Java AbstractStickyAssignor, whose result this is where it serves members in the same order.
    """
    free = dict.fromkeys(partitions)
    share, seats = divmod(len(free), len(owned))  # so many members have a seat for one more
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
