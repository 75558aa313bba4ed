"""Findings about committed offsets: lost, expiring, or uncommitted records.

Offsets are read before the logs, so a commit is never beyond a log end that was read.
"""

from collections.abc import Iterator, Mapping

from kctl.client.cluster import TopicPartition
from kctl.grammar.command_lines import Words
from kctl.why.finding import Evidence, Finding, Value
from kctl.why.look import GroupLook, Looks
from kctl.why.table import FINDINGS
from kctl.why.wording import (
    age_text,
    all_of,
    by_partition,
    each_of,
    member_name,
    member_values,
    more_text,
    place,
    stop_text,
    worst_of,
)

Offsets = Mapping[TopicPartition, int]


def group_offsets(looks: Looks) -> Iterator[Finding]:
    for group_id, group in looks.now.groups.items():
        committed = {tp: each.offset for tp, each in group.committed.items() if each is not None}
        yield from _lost(looks, group_id, group, committed)
        yield from _truncated(looks, group_id, group)
        yield from _will_lose(looks, group_id, group, committed)
        yield from _went_back(looks, group_id)
        yield from _nothing_committed(looks, group_id)
        yield from _uncommitted(looks, group_id, group)
        yield from _missing_topics(looks, group_id, group)


_RESET = "kctl groups reset-offsets {group} --topic {topic}:{number} --to-offset {to} --execute"


def _resets(group_id: str, offsets: Offsets) -> Words:
    return each_of(_RESET, ({"group": group_id, "to": offset, **place(tp)} for tp, offset in sorted(offsets.items())))


def _lost(looks: Looks, group_id: str, group: GroupLook, committed: Offsets) -> Iterator[Finding]:
    # with two looks, use the first starts: a member may commit after its offset was read
    starts = (looks.before or looks.now).starts
    lost = {
        tp: starts[tp].offset - offset
        for tp, offset in committed.items()
        if tp in starts and offset < starts[tp].offset
    }
    if lost:
        worst, where = worst_of(lost)
        yield FINDINGS["lost-data"].found(
            {
                "group": group_id,
                "stop": stop_text(group),
                "lost": lost[worst],
                "offset": committed[worst],
                "start": starts[worst].offset,
                **where,
                **all_of(worst, lost),
            },
            [
                Evidence("OffsetFetch", f"group {group_id}", by_partition({tp: committed[tp] for tp in lost})),
                Evidence("ListOffsets", "log start offsets", by_partition({tp: starts[tp].offset for tp in lost})),
            ],
        )


def _truncated(looks: Looks, group_id: str, group: GroupLook) -> Iterator[Finding]:
    cut: dict[TopicPartition, int] = {}
    ends: dict[TopicPartition, int] = {}
    epochs: dict[TopicPartition, int] = {}
    """Leader epochs of partitions whose records were replaced after the group read them."""
    for tp, committed in group.committed.items():
        end = looks.now.ends.get(tp)
        if committed is None or end is None:
            continue
        of_epoch = looks.now.epoch_ends.get((tp, committed.leader_epoch))
        ends[tp] = end.offset
        if of_epoch is not None and 0 <= of_epoch.end_offset < min(end.offset, committed.offset):
            ends[tp], epochs[tp] = of_epoch.end_offset, committed.leader_epoch
        if committed.offset > ends[tp]:
            cut[tp] = committed.offset - ends[tp]
    if cut:
        worst, of_worst = worst_of(cut)
        where = f"the log ends at offset {ends[worst]:,}"
        read_in: dict[str, Value] = {}
        if worst in epochs:
            read_in = {f"leader epoch of {worst}": epochs[worst]}
            where = f"leader epoch {epochs[worst]} ends at offset {ends[worst]:,} in the log"
        committed_at = {tp: each.offset for tp, each in group.committed.items() if each is not None and tp in cut}
        yield FINDINGS["log-truncated"].found(
            {
                "group": group_id,
                "stop": stop_text(group),
                "lost": cut[worst],
                "offset": committed_at[worst],
                "where": where,
                "end": ends[worst],
                "rest": _resets(group_id, {tp: ends[tp] for tp in cut if tp != worst}),
                **of_worst,
            },
            [
                Evidence("OffsetFetch", f"group {group_id}", by_partition(committed_at) | read_in),
                Evidence(
                    "OffsetForLeaderEpoch" if worst in epochs else "ListOffsets",
                    "end offsets of leader epochs" if worst in epochs else "log end offsets",
                    by_partition({tp: ends[tp] for tp in cut}),
                ),
            ],
        )


def _will_lose(looks: Looks, group_id: str, group: GroupLook, committed: Offsets) -> Iterator[Finding]:
    late: dict[TopicPartition, int] = {}
    for tp, offset in committed.items():
        old, start, end = looks.now.expiring.get(tp), looks.now.starts.get(tp), looks.now.ends.get(tp)
        if old is None or start is None or end is None or not start.offset <= offset < end.offset:
            continue
        if not looks.lag(group, tp):
            continue
        if offset < old.until_offset:
            late[tp] = old.retention_ms
    if late:
        worst = max(late, key=lambda tp: looks.lag(group, tp) or 0)
        age_ms = looks.now.expiring[worst].age_ms
        date = looks.now.next_time_ms(group, worst)
        age = f"more than {age_text(age_ms)}" if date is None else age_text(max(0, looks.now.wall_ms - date))
        yield FINDINGS["will-lose-data"].found(
            {
                "group": group_id,
                "offset": committed[worst],
                "age": age,
                "retention": age_text(late[worst]),
                "longer": 2 * late[worst],
                "waiting": looks.lag(group, worst),
                "more": more_text(len(late) - 1),
                **place(worst),
            },
            [
                Evidence("OffsetFetch", f"group {group_id}", by_partition({tp: committed[tp] for tp in late})),
                Evidence(
                    "ListOffsets",
                    f"first offset of records younger than {age_text(age_ms)}",
                    by_partition({tp: looks.now.expiring[tp].until_offset for tp in late}),
                ),
                Evidence("DescribeConfigs", f"topic {worst.topic}", {"retention.ms": late[worst]}),
            ],
        )


def _went_back(looks: Looks, group_id: str) -> Iterator[Finding]:
    """Yield offsets that went back although the log still has the old offset.

    Ignores jumps ahead, because skipping records cannot be distinguished from fast reading.
    """
    both = looks.both(group_id)
    if both is None:
        return
    before, now = both
    found: dict[TopicPartition, tuple[int, int]] = {}
    for tp, old in before.committed.items():
        new, start, end = now.committed.get(tp), looks.now.starts.get(tp), looks.now.ends.get(tp)
        if old is None or new is None or start is None or end is None:
            continue
        if start.offset <= new.offset < old.offset <= end.offset:
            found[tp] = (old.offset, new.offset)
    if found:
        worst = max(found, key=lambda tp: found[tp][0] - found[tp][1])
        was, offset = found[worst]
        yield FINDINGS["offset-moved-backward"].found(
            {
                "group": group_id,
                "stop": stop_text(now),
                "before": was,
                "rest": _resets(group_id, {tp: old for tp, (old, _) in found.items() if tp != worst}),
                "offset": offset,
                "again": was - offset,
                "seconds": looks.apart,
                "start": looks.now.starts[worst].offset,
                "more": more_text(len(found) - 1),
                **place(worst),
            },
            [
                Evidence("OffsetFetch", "first sample", by_partition({tp: was for tp, (was, _) in found.items()})),
                Evidence("OffsetFetch", "second sample", by_partition({tp: now for tp, (_, now) in found.items()})),
                Evidence(
                    "ListOffsets", "log start offsets", by_partition({tp: looks.now.starts[tp].offset for tp in found})
                ),
            ],
        )


def _arrived_uncommitted(looks: Looks, group_id: str) -> dict[TopicPartition, int]:
    both = looks.both(group_id)
    if both is None:
        return {}
    before, now = both
    owners_before = before.owners
    found: dict[TopicPartition, int] = {}
    for tp, member in now.owners.items():
        was = owners_before.get(tp)
        is_new = was is None or was.member_id != member.member_id
        if not is_new and before.committed.get(tp) is None and now.committed.get(tp) is None and looks.arrived(tp):
            found[tp] = looks.arrived(tp)
    return found


def _nothing_committed(looks: Looks, group_id: str) -> Iterator[Finding]:
    found = _arrived_uncommitted(looks, group_id)
    if found:
        worst, where = worst_of(found)
        member = looks.now.groups[group_id].owners[worst]
        yield FINDINGS["no-committed-offsets"].found(
            {
                "group": group_id,
                "client": member_name(member),
                "host": member.host,
                "arrived": found[worst],
                "seconds": looks.apart,
                **where,
            },
            [
                Evidence("DescribeGroups", f"group {group_id}", member_values(member)),
                Evidence("OffsetFetch", f"group {group_id} in both samples", by_partition(dict.fromkeys(found))),
                Evidence("ListOffsets", "records that arrived between the samples", by_partition(found)),
            ],
        )


def _unread(looks: Looks, group: GroupLook) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    for tp in looks.now.uncommitted_partitions(group):
        start, end = looks.now.starts.get(tp), looks.now.ends.get(tp)
        if start is None or end is None:
            continue
        if start.offset < looks.now.markers_from.get(tp, end.offset):
            found[tp] = end.offset - start.offset
    return found


def _uncommitted(looks: Looks, group_id: str, group: GroupLook) -> Iterator[Finding]:
    """Yield a finding for a group without members. If it has members, a member may be about to commit."""
    found = {} if group.description.members else _unread(looks, group)
    if found:
        worst, where = worst_of(found)
        yield FINDINGS["uncommitted-partition"].found(
            {"group": group_id, "waiting": found[worst], **where, **all_of(worst, found)},
            [
                Evidence("OffsetFetch", f"group {group_id}", by_partition(dict.fromkeys(found))),
                Evidence("ListOffsets", "records by partition", by_partition(found)),
            ],
        )


def _missing_topics(looks: Looks, group_id: str, group: GroupLook) -> Iterator[Finding]:
    for topic in group.topics:
        error = looks.now.missing_topics.get(topic)
        if error is not None:
            yield FINDINGS["topic-missing"].found(
                {"group": group_id, "topic": topic},
                [Evidence("Metadata", f"topic {topic}", {"error": str(error)})],
            )
