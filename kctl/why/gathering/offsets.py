"""Part of a look about offsets and records: log starts and ends, retention, and single records."""

from collections.abc import Container, Iterator, Sequence
from functools import partial

from kctl.client.admin import (
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    OffsetAndTimestamp,
    RecordShape,
    RecordTime,
)
from kctl.client.cluster import TopicPartition
from kctl.client.wording import listed
from kctl.grammar.integers import integer_in
from kctl.why.finding import NEWEST_TIMESTAMPS
from kctl.why.gathering.asker import MOST_READ, MOST_TURNS, Asker
from kctl.why.gathering.selection import Selection
from kctl.why.look import FUTURE_MS, ExpiringOffsets, Gap, Look, Looks, frozen_partitions

OLD_PERCENT = 90
"""Percentage of retention.ms after which a record is about to be deleted."""
NEIGHBOURS = 3
"""Number of records before the next one of a stuck group, for comparison."""
MOST_LEADERS = 20
"""Number of leaders that report offsets in parallel."""
MOST_AGES = 1_000
"""Maximum number of partitions to read a record from, if ages of next records are requested."""

MOST_MARKERS = 100
"""Maximum lag that may consist only of transaction markers. A larger lag has records."""
MOST_TAILS = 200
"""Maximum number of partitions whose end is read."""


def with_offsets(asker: Asker, look: Look, selection: Selection) -> Look:
    """Add starts, ends, last stable offsets, and newest timestamps of readable partitions.

    Offsets that no finding needs are dropped after each batch of leaders, to limit memory.
    """
    named = [info for infos in look.leaderless().values() for info in infos if info.leader_id >= 0]
    if named:
        of = listed((f"{info.topic}-{info.partition}" for info in named), 1)
        reason = f"Metadata lists broker {named[0].leader_id} as the leader, but this broker is not registered"
        asker.gaps.append(Gap("ListOffsets", of, None, reason))
    known = look.partitions
    of_leader: dict[int, list[TopicPartition]] = {}
    for tp in asker.readable(known, known):
        of_leader.setdefault(known[tp].leader_id, []).append(tp)
    del known
    topics, leaders = _topics_in_full(look, selection), list(of_leader)
    parts: list[Look] = []
    for at in range(0, len(leaders), MOST_LEADERS):
        wanted = [tp for node_id in leaders[at : at + MOST_LEADERS] for tp in of_leader.pop(node_id)]
        part = look._replace(
            starts=_offsets(asker, wanted, EARLIEST, "log start offsets"),
            ends=_offsets(asker, wanted, LATEST, "log end offsets"),
            stable_ends=_offsets(asker, wanted, LATEST, "last stable offsets", "read_committed"),
            newest=_offsets(asker, wanted, MAX_TIMESTAMP, "newest timestamps"),
        )
        parts.append(_reduced(part, topics, selection))
    return look._replace(
        starts={tp: each for part in parts for tp, each in part.starts.items()},
        ends={tp: each for part in parts for tp, each in part.ends.items()},
        stable_ends={tp: each for part in parts for tp, each in part.stable_ends.items()},
        newest={tp: each for part in parts for tp, each in part.newest.items()},
    )


def _reduced(part: Look, topics: Container[str], selection: Selection) -> Look:
    held = set(held_back(part))
    has_ends = selection.is_compared
    future_ms = part.wall_ms + FUTURE_MS
    return part._replace(
        starts={tp: each for tp, each in part.starts.items() if tp.topic in topics or tp in held},
        ends={tp: each for tp, each in part.ends.items() if has_ends or tp.topic in topics or tp in held},
        stable_ends={tp: each for tp, each in part.stable_ends.items() if tp.topic in topics or tp in held},
        newest={tp: each for tp, each in part.newest.items() if tp.topic in topics or each.timestamp_ms > future_ms},
    )


def _topics_in_full(look: Look, selection: Selection) -> set[str]:
    of_groups = {topic for group in look.groups.values() for topic in group.topics}
    return {*of_groups, *look.compacted_topics, *(selection.topics or ())}


def held_back(look: Look) -> list[TopicPartition]:
    return [tp for tp, stable in look.stable_ends.items() if tp in look.ends and stable.offset < look.ends[tp].offset]


def with_markers(asker: Asker, look: Look) -> Look:
    """Add the offsets from which partitions have only transaction markers, which consumers do not receive."""
    at: dict[TopicPartition, list[int]] = {}
    for tp, committed in _next_to_read(look):
        start, end = look.starts.get(tp), look.ends.get(tp)
        if start is not None and end is not None:
            offset = max(committed, start.offset)
            if 0 < end.offset - offset <= MOST_MARKERS and offset not in at.setdefault(tp, []):
                at[tp].append(offset)
    left = {tp: sorted(offsets) for tp, offsets in sorted(at.items())[:MOST_TAILS] if offsets}
    found: dict[TopicPartition, int] = {}
    for _ in range(MOST_TURNS):
        turn = {tp: offsets.pop() for tp, offsets in left.items() if offsets}
        records = asker.quietly(partial(asker.admin.find_records, turn, timeout=asker.share_s())) if turn else None
        if records is None:
            break
        ends = {tp: turn[tp] for tp, record in records.done.items() if record is None}
        found |= ends
        left = {tp: left[tp] for tp in ends}
    return look._replace(markers_from=found)


def _next_to_read(look: Look) -> Iterator[tuple[TopicPartition, int]]:
    """Yield the next offset of each group in each partition. For uncommitted partitions of a group without members, it
    is 0.
    """
    for group in look.groups.values():
        for tp, committed in group.committed.items():
            if committed is not None:
                yield tp, committed.offset
        if not group.description.members:
            for tp in look.uncommitted_partitions(group):
                yield tp, 0


def with_expiring(asker: Asker, look: Look, selection: Selection) -> Look:
    """Add the offsets that retention deletes next, for partitions with lag."""
    behind = [tp for group in look.groups.values() for tp in group.committed if Looks(look).lag(group, tp)]
    ages: dict[TopicPartition, ExpiringOffsets] = {}
    for tp in dict.fromkeys(behind):
        configs = look.topic_configs.get(tp.topic, {})
        retention, policy = configs.get("retention.ms"), configs.get("cleanup.policy")
        retention_ms = None if retention is None else integer_in(retention.value)
        if retention_ms is None or (policy and "delete" not in policy.value):
            continue
        ages[tp] = ExpiringOffsets(-1, retention_ms * OLD_PERCENT // 100, retention_ms)
    specs = {tp: max(0, look.wall_ms - each.age_ms) for tp, each in ages.items()}
    if not specs:
        return look
    found = asker.each("ListOffsets", "record ages", lambda s: asker.admin.list_offsets(specs, timeout=s))
    expiring = {
        tp: ages[tp]._replace(until_offset=each.offset if each.offset >= 0 else look.ends[tp].offset)
        for tp, each in found.items()
    }
    late = [
        (tp, max(committed.offset, look.starts[tp].offset))
        for group in look.groups.values()
        for tp, committed in group.committed.items()
        if committed is not None and tp in expiring and tp in look.starts
        if selection.has_ages or committed.offset < expiring[tp].until_offset
    ]
    most = MOST_AGES if selection.has_ages else MOST_READ
    times = asker.read_each("age of the next unread records", late, asker.admin.find_records, most)
    dates = {place: each.timestamp_ms for place, each in times.items() if isinstance(each, RecordTime)}
    return look._replace(expiring=expiring, next_times={at: date for at, date in dates.items() if date is not None})


def with_records(asker: Asker, look: Look, before: Look | None) -> Look:
    at: list[tuple[TopicPartition, int]] = []
    for group_id in look.groups:
        for tp in frozen_partitions(Looks(look, before), group_id):
            committed = look.groups[group_id].committed[tp]
            if committed is not None and tp in look.starts and committed.offset >= look.starts[tp].offset:
                at.append((tp, committed.offset))
    shapes = asker.read_each("the next records", at, asker.admin.inspect_records)
    earlier: dict[tuple[TopicPartition, int], tuple[RecordShape, ...]] = {}
    for back in range(1, NEIGHBOURS + 1):
        places = [(tp, offset - back) for tp, offset in shapes if offset - back >= look.starts[tp].offset]
        found = asker.read_each("the previous records", places, asker.admin.inspect_records)
        for (tp, offset), shape in found.items():
            if isinstance(shape, RecordShape):
                earlier[tp, offset + back] = (*earlier.get((tp, offset + back), ()), shape)
    return look._replace(shapes={at: shape for at, shape in shapes.items() if shape is not None}, shapes_before=earlier)


def _offsets(
    asker: Asker,
    partitions: Sequence[TopicPartition],
    spec: int,
    what: str,
    isolation_level: str = "read_uncommitted",
) -> dict[TopicPartition, OffsetAndTimestamp]:
    specs = dict.fromkeys(partitions, spec)
    return asker.each(
        NEWEST_TIMESTAMPS if spec == MAX_TIMESTAMP else "ListOffsets",
        what,
        lambda s: asker.admin.list_offsets(specs, isolation_level=isolation_level, timeout=s),
    )
