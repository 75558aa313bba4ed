"""Findings about the progress of groups: no members, stuck, slow, or idle."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kctl.client.admin import MemberDescription, RecordShape
from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.wording import counted, size_text
from kctl.grammar.command_lines import fill_command
from kctl.why.finding import Evidence, Finding, Value
from kctl.why.findings.group_quotas import quota_evidence, quotas_of
from kctl.why.look import GroupLook, Looks, frozen_partitions, has_left_for_now
from kctl.why.table import FINDINGS
from kctl.why.wording import (
    MOST_EVIDENCE,
    age_text,
    by_partition,
    counts_text,
    each_of,
    further,
    member_name,
    member_values,
    more_text,
    place,
    stop_text,
)

REMOVE = "kctl groups remove-members {group} --instance {instance} --execute"
SHOW = "kctl consume {topic} -p {number} -o {offset} -n 1 --output jsonl"
SKIP = "kctl groups reset-offsets {group} --topic {topic}:{number} --to-offset {next} --execute"
LARGE_BYTES, LARGE_FACTOR = 100_000, 10
"""Minimum size of a large record, and minimum ratio to the records before it."""
SLOW_SHARE = 2
"""Divisor. A group is slow if it commits less than this fraction of the arriving records, and has much lag."""
SLOW_LAG_MS = 30_000
"""Minimum lag of a slow group, as the time in ms in which as many records arrive."""
HOT_SHARE, HOT_FACTOR = 0.5, 2
"""Minimum share of the arriving records of a hot partition, and minimum ratio to the mean of all partitions."""
IDLE_MS = 3_600_000
"""Minimum time without records for an idle topic, in ms."""


def group_progress(looks: Looks) -> Iterator[Finding]:
    for group_id, group in looks.now.groups.items():
        if group.description.members:
            stuck = list(_stuck(looks, group_id))
            yield from stuck
            if not stuck:
                yield from _falling_behind(looks, group_id)
            yield from _idle(looks, group_id, group)
        else:
            yield from _no_members(looks, group_id, group)


def _no_members(looks: Looks, group_id: str, group: GroupLook) -> Iterator[Finding]:
    lags = {tp: lag for tp in group.committed if (lag := looks.lag(group, tp))}
    if not lags:
        return
    yield FINDINGS["group-no-members"].found(
        {"group": group_id, "waiting": sum(lags.values()), "where": counts_text(lags)},
        [
            Evidence("DescribeGroups", f"group {group_id}", {"state": group.description.state, "members": 0}),
            Evidence("ListOffsets", "lag by partition", by_partition(lags)),
        ],
    )


# --- stuck ------------------------------------------------------------------------------------------------------------


def _stuck(looks: Looks, group_id: str) -> Iterator[Finding]:
    frozen = frozen_partitions(looks, group_id)
    group = looks.now.groups[group_id]
    by_member: dict[str, list[TopicPartition]] = {}
    for tp, member in frozen.items():
        by_member.setdefault(member.member_id, []).append(tp)
    for partitions in by_member.values():
        member = frozen[partitions[0]]
        moved = [tp for tp in member.assignment or () if _has_moved(looks, group_id, tp)]
        worst = max(partitions, key=lambda tp: looks.lag(group, tp) or 0)
        poison = _poison(looks, group_id, member, partitions, has_others=bool(moved))
        if poison is not None:
            yield poison
            continue
        elsewhere = further(f"The member made progress on {counted(len(moved), 'other partition')}" if moved else "")
        if len(by_member) < len(group.description.members):
            elsewhere += further("Other members of the group are not stuck")
        kind = FINDINGS["static-member-gone" if has_left_for_now(member) else "group-stuck"]
        offset = group.committed[worst]
        assert offset is not None
        yield kind.found(
            {
                "group": group_id,
                "offset": offset.offset,
                "seconds": looks.apart,
                "waiting": sum(looks.lag(group, tp) or 0 for tp in partitions),
                "client": member_name(member),
                "instance": member.group_instance_id or "",
                "host": member.host or "an unknown host",
                "which": counted(len(partitions), "partition"),
                "elsewhere": elsewhere,
                "ghost": _ghost_text(group_id, member),
                "skip": _skip_text(looks, group_id, partitions) if moved else "",
                **place(worst),
            },
            [
                Evidence(
                    "DescribeGroups",
                    f"group {group_id}",
                    {"state": group.description.state, **member_values(member)},
                ),
                Evidence("OffsetFetch", "committed offsets in both samples", by_partition(_offsets(group, partitions))),
                Evidence(
                    "ListOffsets",
                    "records that arrived between the samples",
                    by_partition({tp: looks.arrived(tp) for tp in partitions}),
                ),
                *_quotas(looks, [member]),
            ],
        )


def _has_moved(looks: Looks, group_id: str, tp: TopicPartition) -> bool:
    both = looks.both(group_id)
    old, new = (None, None) if both is None else (both[0].committed.get(tp), both[1].committed.get(tp))
    return old is not None and new is not None and new.offset > old.offset


def _poison(
    looks: Looks, group_id: str, member: MemberDescription, partitions: list[TopicPartition], *, has_others: bool
) -> Finding | None:
    """Return the finding for an unreadable record of a member, or for a record that differs from previous ones."""
    group = looks.now.groups[group_id]
    reasons: dict[TopicPartition, str] = {}
    for tp, at in _offsets(group, partitions).items():
        shape, earlier = looks.now.shapes.get((tp, at)), looks.now.shapes_before.get((tp, at), ())
        if isinstance(shape, KafkaError):
            reasons[tp] = f"The batch cannot be read: {shape}"
        elif shape is not None and earlier and has_others and (reason := _difference(shape, earlier)):
            reasons[tp] = reason
    if not reasons:
        return None
    worst = max(reasons, key=lambda tp: looks.lag(group, tp) or 0)
    committed = group.committed[worst]
    assert committed is not None
    shape = looks.now.shapes[worst, committed.offset]
    read: dict[str, Value] = {"reason": reasons[worst]}
    if not isinstance(shape, KafkaError):
        read = {"size_bytes": shape.size_bytes, "is_null": shape.is_null, "schema_id": shape.schema_id}
    return FINDINGS["poison-record"].found(
        {
            "group": group_id,
            "offset": committed.offset,
            "next": _behind(looks, group, worst),
            "rest": each_of(SKIP, (_skipped(looks, group_id, tp) for tp in sorted(reasons) if tp != worst)),
            "stop": stop_text(group),
            "waiting": looks.now.ends[worst].offset - _behind(looks, group, worst),
            "reason": reasons[worst],
            "client": member_name(member),
            "host": member.host or "an unknown host",
            "more": more_text(len(reasons) - 1),
            **place(worst),
        },
        [
            Evidence("DescribeGroups", f"group {group_id}", member_values(member)),
            Evidence("OffsetFetch", "committed offsets in both samples", by_partition(_offsets(group, [worst]))),
            Evidence("Fetch", f"{worst} at offset {committed.offset}", read),
        ],
    )


def _behind(looks: Looks, group: GroupLook, tp: TopicPartition) -> int:
    committed = group.committed[tp]
    assert committed is not None
    shape = looks.now.shapes.get((tp, committed.offset))
    return (shape.offset if isinstance(shape, RecordShape) else committed.offset) + 1


def _skipped(looks: Looks, group_id: str, tp: TopicPartition) -> dict[str, Value]:
    group = looks.now.groups[group_id]
    committed = group.committed[tp]
    assert committed is not None
    return {"group": group_id, "offset": committed.offset, "next": _behind(looks, group, tp), **place(tp)}


def _ghost_text(group_id: str, member: MemberDescription) -> str:
    if member.group_instance_id is None:
        return ""
    fix = fill_command(REMOVE, {"group": group_id, "instance": member.group_instance_id})
    return further(f"If the process of this member is gone, run: {fix}")


def _skip_text(looks: Looks, group_id: str, partitions: Sequence[TopicPartition]) -> str:
    fields = [_skipped(looks, group_id, tp) for tp in sorted(partitions)]
    shown = " && ".join(fill_command(SHOW, each) for each in fields)
    skipped = " && ".join(fill_command(SKIP, each) for each in fields)
    stop = stop_text(looks.now.groups[group_id])
    return further(
        f"If the member fails at one record, show the record with: {shown}. To skip the record, "
        f"{stop or 'run: '}{skipped}"
    )


def _difference(shape: RecordShape, earlier: tuple[RecordShape, ...]) -> str:
    largest = max(each.size_bytes for each in earlier)
    if shape.size_bytes >= LARGE_BYTES and shape.size_bytes >= largest * LARGE_FACTOR:
        return (
            f"The size of the record is {size_text(shape.size_bytes)}, but earlier records have at most "
            f"{size_text(largest)}"
        )
    if shape.is_null and not any(each.is_null for each in earlier):
        return "The record is a tombstone (no value), but earlier records have values"
    schemas = {each.schema_id for each in earlier}
    if shape.schema_id not in schemas and not shape.is_null:
        before = ", ".join("no schema ID" if each is None else f"schema ID {each}" for each in sorted(schemas, key=str))
        after = "no schema ID" if shape.schema_id is None else f"schema ID {shape.schema_id}"
        return f"The record has {after}, but earlier records have {before}"
    return ""


def _quotas(looks: Looks, members: Iterable[MemberDescription]) -> list[Evidence]:
    client_ids = dict.fromkeys(member.client_id for member in members)
    return [quota_evidence(looks.now, each) for each in client_ids if quotas_of(looks.now, each)][:MOST_EVIDENCE]


def _offsets(group: GroupLook, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    return {tp: each.offset for tp in partitions if (each := group.committed.get(tp)) is not None}


# --- slow or idle -----------------------------------------------------------------------------------------------------


def _falling_behind(looks: Looks, group_id: str) -> Iterator[Finding]:
    both = looks.both(group_id)
    if both is None or looks.apart_ms < FINDINGS["falling-behind"].apart_ms:  # clients commit every few seconds
        return
    before, now = both
    topics: dict[str, list[TopicPartition]] = {}
    owners = now.owners
    for tp in owners:
        old, new = before.committed.get(tp), now.committed.get(tp)
        if old is not None and new is not None and new.offset >= old.offset:  # a group that went back rereads records
            topics.setdefault(tp.topic, []).append(tp)
    for topic, partitions in topics.items():
        arrived = sum(looks.arrived(tp) for tp in partitions)
        was, at = _offsets(before, partitions), _offsets(now, partitions)
        read = sum(at[tp] - was[tp] for tp in partitions)
        members = {owners[tp].member_id: owners[tp] for tp in partitions}
        waiting = sum(looks.lag(now, tp) or 0 for tp in partitions)
        if read * SLOW_SHARE < arrived and waiting * looks.apart_ms > arrived * SLOW_LAG_MS:
            yield FINDINGS["falling-behind"].found(
                {
                    "group": group_id,
                    "topic": topic,
                    "arrived": arrived,
                    "read": read,
                    "seconds": looks.apart,
                    "waiting": waiting,
                    **_fix_of_slow(looks, now, topic, partitions, len(members)),
                },
                [
                    Evidence("OffsetFetch", f"group {group_id} in both samples", {"committed": read}),
                    Evidence("ListOffsets", f"topic {topic}", {"arrived": arrived, "lag": waiting}),
                    Evidence(
                        "ListOffsets",
                        "arrived records by partition",
                        _most_of({tp: looks.arrived(tp) for tp in partitions}),
                    ),
                    Evidence(
                        "ListOffsets", "lag by partition", _most_of({tp: looks.lag(now, tp) for tp in partitions})
                    ),
                    Evidence("DescribeGroups", f"group {group_id}", {"consumers": len(members)}),
                    *_quotas(looks, members.values()),
                ],
            )


def _most_of(counts: Mapping[TopicPartition, int | None]) -> dict[str, Value]:
    largest = sorted(counts.items(), key=lambda item: -(item[1] or 0))[:MOST_EVIDENCE]
    return {str(tp): count for tp, count in largest}


def _hot_partition(looks: Looks, partitions: list[TopicPartition]) -> TopicPartition | None:
    arrived = {tp: looks.arrived(tp) for tp in partitions}
    hottest, total = max(partitions, key=lambda tp: arrived[tp]), sum(arrived.values())
    is_hot = arrived[hottest] >= max(HOT_SHARE * total, HOT_FACTOR * total / len(partitions))
    return hottest if is_hot and len(partitions) > 1 else None


def _fix_of_slow(
    looks: Looks, group: GroupLook, topic: str, partitions: list[TopicPartition], consumers: int
) -> dict[str, Value]:
    tp = _hot_partition(looks, partitions)
    if tp is not None:
        hot = (
            f"Partition {tp} received {looks.arrived(tp):,} of the new records and has {looks.lag(group, tp) or 0:,} "
            "unread records"
        )
        fix = (
            f"distribute the keys of {topic} evenly, or process records faster. Only one consumer of the group can "
            f"read {tp}"
        )
        return {"hot": further(hot), "fix": fix}
    spare = len(partitions) - consumers
    if spare > 0:
        fix = f"start at most {counted(spare, 'more consumer')}, or process records faster"
    else:
        fix = "process records faster, or add partitions and consumers. All partitions already have a consumer"
    return {"hot": "", "fix": fix}


def _idle(looks: Looks, group_id: str, group: GroupLook) -> Iterator[Finding]:
    topics: dict[str, list[TopicPartition]] = {}
    for tp in group.partitions:
        topics.setdefault(tp.topic, []).append(tp)
    for topic, partitions in topics.items():
        dates = [looks.now.newest[tp].timestamp_ms for tp in partitions if tp in looks.now.newest]
        has_read_all = all(looks.lag(group, tp) == 0 for tp in partitions)
        newest = max(dates, default=-1)
        age_ms = looks.now.wall_ms - newest
        if has_read_all and newest >= 0 and age_ms >= IDLE_MS:
            yield FINDINGS["idle-topic"].found(
                {"group": group_id, "topic": topic, "age": age_text(age_ms)},
                [
                    Evidence("ListOffsets", f"topic {topic}", {"newest_timestamp_ms": newest}),
                    Evidence("OffsetFetch", f"group {group_id}", {"lag": 0}),
                ],
            )
