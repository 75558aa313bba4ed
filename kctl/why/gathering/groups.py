"""Part of a look about groups: descriptions and committed offsets, with few requests to each coordinator."""

from collections.abc import Sequence

from kctl.client.admin import GroupDescription
from kctl.client.broker_errors import ErrorCode
from kctl.client.wording import counted
from kctl.pipeline.mirrored_offsets import is_of_mirror
from kctl.why.gathering.asker import BUDGET_SPENT, Asker
from kctl.why.look import Gap, GroupLook
from kctl.why.table import missing_right

FIRST_GROUPS, MORE_GROUPS = 100, 10
"""Number of groups in the first call for offsets, which estimates the cost, and growth factor of later calls."""
MOST_REQUESTS_EACH = 2
"""Number of requests for each group if coordinators support only one group in a request."""
NO_OFFSETS = "no committed offsets found, or kctl has no Describe permission on the topics of the group"


def read_groups(asker: Asker, selected: Sequence[str] | None, reserve: int) -> dict[str, GroupLook]:
    """Return the selected groups, or all groups.

    Args:
        reserve: number of requests of the budget to keep.
    """
    names = _names(asker) if selected is None else list(selected)
    if not names:
        return {}
    described = asker.each(
        "DescribeGroups",
        names[0] if len(names) == 1 else counted(len(names), "group"),
        lambda s: asker.admin.describe_groups(names, timeout=s, partial_timeout=asker.partial_s()),
        selected or (),
    )
    found: dict[str, GroupLook] = {}
    left = list(described)
    cost = float(MOST_REQUESTS_EACH)  # requests for each group, below 1 if several share one
    most = FIRST_GROUPS
    while left:
        room = most
        if asker.admin.requests_left is not None:
            room = min(room, int((asker.admin.requests_left - reserve) / cost))
        if found and room < 1:
            asker.gaps.append(Gap("OffsetFetch", counted(len(left), "group"), None, BUDGET_SPENT))
            break
        some, left = left[: max(1, room)], left[max(1, room) :]
        sent_before = asker.admin.requests_sent
        found |= _with_offsets(asker, {group_id: described[group_id] for group_id in some})
        cost = max(1, asker.admin.requests_sent - sent_before) / len(some)
        most *= MORE_GROUPS
    return found


def _names(asker: Asker) -> list[str]:
    alive = asker.alive
    listed = asker.ask(
        "ListGroups", "the cluster", lambda s: asker.admin.list_groups(broker_ids=alive, timeout=s) if alive else None
    )
    for node_id, silence in asker.silent.items():
        asker.gap("ListGroups", f"broker {node_id}", silence.error)
    if listed is None:
        return []
    for node, error in listed.failed.items():
        asker.gap("ListGroups", f"broker {node.node_id}", error)
    return list(listed.groups)


def _with_offsets(asker: Asker, described: dict[str, GroupDescription]) -> dict[str, GroupLook]:
    names = list(described)
    results = asker.each(
        "OffsetFetch",
        f"group {names[0]}" if len(names) == 1 else counted(len(names), "group"),
        lambda s: asker.admin.list_offsets_of_groups(names, timeout=s),
    )
    found: dict[str, GroupLook] = {}
    empty: list[str] = []
    for group_id, of_group in results.items():
        if not of_group.done and not of_group.failed and not _may_lack_offsets(described[group_id]):
            empty.append(f"group {group_id}")
        for error in list(of_group.failed.values())[:1]:
            asker.gap("OffsetFetch", f"group {group_id}", error)
        committed = {tp: each for tp, each in of_group.done.items() if not is_of_mirror(each)}
        found[group_id] = GroupLook(described[group_id], committed)
    if empty:
        of = empty[0] if len(empty) == 1 else counted(len(empty), "group")
        right = missing_right("OffsetFetch", ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        asker.gaps.append(Gap("OffsetFetch", of, None, NO_OFFSETS, right))
    return found


def _may_lack_offsets(group: GroupDescription) -> bool:
    return bool(group.members) or group.type == "share"
