"""Findings about members of groups: rebalances, duplicate instance ids, and unassigned partitions."""

import itertools
from collections.abc import Iterator, Sequence

from kctl.client.admin import GroupDescription, MemberDescription
from kctl.client.admin.group_values import CLASSIC, CONSUMER
from kctl.client.cluster import TopicPartition
from kctl.client.wording import counted
from kctl.why.finding import Evidence, Finding
from kctl.why.look import STABLE, GroupLook, Looks, is_settled
from kctl.why.table import FINDINGS
from kctl.why.wording import MOST_EVIDENCE, member_name, member_values, named

STORM_EPOCHS = 3
"""Number of membership changes between two looks that a restart does not explain."""
LOOP_IDS = 3
"""Number of member IDs of a static member between two looks that a restart does not explain."""
MOST_NAMED = 3
"""Maximum number of members in a finding about a rebalance storm."""
_UNSETTLED = frozenset({"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"})


def group_members(looks: Looks) -> Iterator[Finding]:
    for group_id, group in looks.now.groups.items():
        yield from _storm(looks, group_id)
        yield from _duplicate_instance(looks, group_id)
        yield from _unassigned(looks, group_id, group)


def _storm(looks: Looks, group_id: str) -> Iterator[Finding]:
    history = looks.history(group_id)
    if not history:
        return
    before, now = history[0], history[-1]
    steps = list(itertools.pairwise(history))
    replaced = [member for old, new in steps for member in _replaced(old.members, new.members)]
    unsettled = sum(map(_is_unsettled, history))
    rebalances = sum(_ids(old) != _ids(new) or _begins(old, new) for old, new in steps)
    changes = ""
    if before.epoch is not None and now.epoch is not None and now.epoch - before.epoch >= STORM_EPOCHS:
        changes = f"its epoch rose by {now.epoch - before.epoch}, from {before.epoch} to {now.epoch}"
    elif rebalances >= STORM_EPOCHS:
        changes = f"it rebalanced at least {rebalances} times in {len(history)} samples"
    elif len({member.member_id for member in replaced}) >= max(2, len(now.members) / 2):
        changes = f"{len(replaced)} of {counted(len(now.members), 'member')} rejoined with new member IDs"
    elif _is_unsettled(before) and _is_unsettled(now) and 2 * unsettled > len(history):
        changes = f"it was {before.state} and is {now.state}"
    if not changes:
        return
    named_members = {f"{member_name(each)} ({each.host})": each for each in replaced[:MOST_EVIDENCE]}
    names = list(named_members)[:MOST_NAMED]
    yield FINDINGS["rebalance-storm"].found(
        {
            "group": group_id,
            "changes": changes,
            "seconds": looks.apart,
            "who": f". New member IDs: {', '.join(names)}" if names else "",
            "cause": _cause(steps, is_waiting=2 * unsettled > len(history)),
        },
        [
            Evidence("DescribeGroups", "first sample", {"state": before.state, "epoch": before.epoch}),
            *(
                Evidence("DescribeGroups", "between", {"state": each.state, "members": len(each.members)})
                for each in history[1:-1]
            ),
            Evidence("DescribeGroups", "second sample", {"state": now.state, "epoch": now.epoch}),
            *(Evidence("DescribeGroups", "new member", member_values(named_members[name])) for name in names),
        ],
    )


def _ids(description: GroupDescription) -> set[str]:
    return {member.member_id for member in description.members}


def _begins(old: GroupDescription, new: GroupDescription) -> bool:
    return _is_unsettled(new) and not _is_unsettled(old)


def _is_unsettled(description: GroupDescription) -> bool:
    return description.state in _UNSETTLED and not is_settled(description)


def _cause(steps: Sequence[tuple[GroupDescription, GroupDescription]], *, is_waiting: bool) -> str:
    """Return the likely cause of new member IDs. If the old ones are still present, it is another timeout than if they
    left.
    """
    left = sum(len(_replaced(old.members, new.members)) for old, new in steps)
    beside = sum(len(_beside(old.members, new.members)) for old, new in steps)
    if beside > left:
        return (
            ". Processes restart without leaving the group, so old member IDs remain until session.timeout.ms (killed "
            "or crashed)"
        )
    if left:
        return (
            ". Old member IDs leave as new IDs join: processes restart, or more than max.poll.interval.ms passes "
            "between two calls of poll()"
        )
    if is_waiting:
        return ". The group waits for members that do not rejoin, up to their max.poll.interval.ms"
    return ""


def _beside(before: tuple[MemberDescription, ...], now: tuple[MemberDescription, ...]) -> list[MemberDescription]:
    """Return dynamic members with a new ID, if an older ID of their client and host is still present.

    Processes with several members do not count.
    """
    known = {member.member_id for member in before}
    found = []
    for member in now:
        if member.member_id in known or member.group_instance_id is not None:
            continue
        of_process = [(each.client_id, each.host) for each in before].count((member.client_id, member.host))
        present = [(each.client_id, each.host) for each in now].count((member.client_id, member.host))
        if of_process and present > of_process:
            found.append(member)
    return found


def _replaced(before: tuple[MemberDescription, ...], now: tuple[MemberDescription, ...]) -> list[MemberDescription]:
    present = {member.member_id for member in now}
    gone = [(member.client_id, member.host) for member in before if member.member_id not in present]
    known = {member.member_id for member in before}
    found = []
    for member in now:
        if member.member_id not in known and (member.client_id, member.host) in gone:
            gone.remove((member.client_id, member.host))
            found.append(member)
    return found


def _duplicate_instance(looks: Looks, group_id: str) -> Iterator[Finding]:
    """Yield duplicate instance IDs.

    Coordinators assign a new member ID at each start, but keep the first client ID and host.
    """
    for instance, members in _by_instance(looks.history(group_id)).items():
        what = _instance_trouble(members, looks.apart)
        if what:
            places = ["first sample", *["between"] * (len(members) - 2), "last"]
            yield FINDINGS["duplicate-instance-id"].found(
                {"group": group_id, "instance": instance, "what": what},
                [
                    Evidence("DescribeGroups", where, {"member": each.member_id, "host": each.host})
                    for where, each in zip(places, members, strict=True)
                ],
            )


def _by_instance(history: Sequence[GroupDescription]) -> dict[str, list[MemberDescription]]:
    seen: dict[str, list[MemberDescription]] = {}
    for description in history:
        for member in description.members:
            of_instance = seen.setdefault(member.group_instance_id or "", [])
            if not of_instance or of_instance[-1].member_id != member.member_id:
                of_instance.append(member)
    seen.pop("", None)
    return seen


def _instance_trouble(members: Sequence[MemberDescription], apart: str) -> str:
    old, member = members[0], members[-1]
    if (old.client_id, old.host) != (member.client_id, member.host):
        now = f"{member.client_id} on {member.host}"
        return f"belonged to {old.client_id} on {old.host}, and {apart} later to {now}"
    ids = len({each.member_id for each in members})
    if ids < LOOP_IDS:
        return ""
    return (
        f"had {ids} member IDs within {apart}. Processes that use it ({member.client_id} on {member.host}) fence "
        "each other, or one process keeps restarting"
    )


def _unassigned(looks: Looks, group_id: str, group: GroupLook) -> Iterator[Finding]:
    members = group.description.members
    if group.description.state != STABLE or not members or group.description.type not in (CLASSIC, CONSUMER):
        return
    if any(member.assignment is None or member.subscribed_topics is None for member in members):
        return  # other protocol type, or a member that is joining
    both = looks.both(group_id)
    assigned = set(group.owners) | (set(both[0].owners) if both is not None else set())
    subscribed = {topic for member in members for topic in member.subscribed_topics or ()}
    partitions = [
        TopicPartition(topic, number) for topic in sorted(subscribed) for number in looks.now.topics.get(topic, ())
    ]
    has_manual = any(member.subscribed_regex for member in members)
    missing = [tp for tp in partitions if tp not in assigned]
    evidence = Evidence(
        "DescribeGroups",
        f"group {group_id}",
        {"state": group.description.state, "members": len(members), "assignor": group.description.assignor},
    )
    if missing and not has_manual:
        yield FINDINGS["no-assignment"].found(
            {
                "group": group_id,
                "members": counted(len(members), "member"),
                "partitions": counted(len(missing), "partition"),
                "topic": missing[0].topic,
            },
            [evidence, Evidence("Metadata", "unassigned partitions", {"partitions": named(missing)})],
        )
        return
    idle = [member for member in members if not member.assignment]
    if idle and partitions and len(members) > len(partitions):
        yield FINDINGS["members-idle"].found(
            {
                "group": group_id,
                "idle": len(idle),
                "members": len(members),
                "partitions": counted(len(partitions), "partition"),
            },
            [evidence, Evidence("Metadata", "subscribed topics", {"partitions": len(partitions)})],
        )
