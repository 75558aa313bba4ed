"""Output of `kctl groups describe` and `members`."""

from collections.abc import Iterable, Sequence

from kctl.cli.admin_client import admin_of
from kctl.cli.changes import report_failures
from kctl.cli.formats.listing import Listing, Section, write_listing
from kctl.cli.formats.rows import Row, Shares
from kctl.cli.groups.lag import PartitionLag, no_lag_text, partition_lags
from kctl.cli.groups.lookup import chosen_groups, find_groups
from kctl.cli.groups.positions import is_share
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.client.admin import GroupDescription, MemberDescription
from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.wording import counted

# --- describe -------------------------------------------------------------------------------------------------------


def describe_groups(common: Common, output: Output, group_ids: list[str], columns: Sequence[str]) -> int:
    missing: list[KafkaError] = []
    with admin_of(common) as admin:
        results = find_groups(common, admin, chosen_groups(admin, group_ids, missing))
        lags = partition_lags(admin, results.done.values())
    groups = [(group, lags[group.group_id]) for group in results.done.values()]
    listing = Listing(
        "groups",
        columns,
        [partition_row(lag) for _, of_group in groups for lag in of_group],
        shown=_shown(columns[1:], groups),
        sections=[Section(_facts(*each), [partition_row(lag) for lag in each[1]]) for each in groups],
        objects=[_group_object(*each) for each in groups],
    )
    if groups:
        write_listing(common.environment, output, listing)
    if output is Output.TABLE:
        for group, of_group in groups:
            if not of_group:
                common.say(f"{common.environment.program}: {no_lag_text(admin, group.group_id)}")
    errors = [
        *missing,
        *results.failed.values(),
        *(lag.error for of in lags.values() for lag in of if lag.error is not None),
    ]
    return report_failures(common, results.done, errors)


def _shown(columns: Sequence[str], groups: Sequence[tuple[GroupDescription, Sequence[PartitionLag]]]) -> list[str]:
    are_share = {is_share(group) for group, _ in groups}
    offsets = {True: ["start_offset"], False: ["committed"]}
    named = [name for kind in sorted(are_share) for name in offsets[kind]]
    others = [name for name in columns if name not in ("committed", "start_offset")]
    at = others.index("end")
    return [*others[:at], *named, *others[at:]]


def _facts(group: GroupDescription, lags: Sequence[PartitionLag]) -> list[tuple[str, str | int | None]]:
    facts: list[tuple[str, str | int | None]] = [
        ("group", group.group_id),
        ("type", group.type),
        ("state", group.state),
        ("protocol", group.protocol_type or None),
        ("assignor", group.assignor or None),
        ("coordinator", None if group.coordinator is None else str(group.coordinator)),
    ]
    if group.epoch is not None:
        facts += [("epoch", group.epoch), ("target epoch", group.target_epoch)]
    return [*facts, ("members", len(group.members)), ("lag", _total(lags) if lags else None)]


def _total(lags: Iterable[PartitionLag]) -> str:
    known = [lag.lag for lag in lags if lag.lag is not None]
    unknown = sum(lag.lag is None for lag in lags)
    partitions = counted(unknown, "partition")
    return f"{sum(known)}" + (f" (unknown for {partitions})" if unknown else "")


def partition_row(lag: PartitionLag) -> Row:
    member = lag.member
    return {
        "group": lag.group_id,
        "topic": lag.partition.topic,
        "partition": lag.partition.partition,
        "committed": None if lag.is_share else lag.committed,
        "start_offset": lag.committed if lag.is_share else None,
        "end": lag.end,
        "lag": lag.lag,
        "client": None if member is None else member.client_id,
        "host": None if member is None else member.host,
        "member": None if member is None else member.member_id,
        "note": lag.note or None,
    }


def _group_object(group: GroupDescription, lags: Sequence[PartitionLag]) -> dict[str, object]:
    coordinator = group.coordinator
    return {
        "group": group.group_id,
        "type": group.type,
        "state": group.state,
        "protocol": group.protocol_type,
        "assignor": group.assignor,
        "coordinator": None if coordinator is None else coordinator.node_id,
        "coordinator_address": None if coordinator is None else f"{coordinator.host}:{coordinator.port}",
        "epoch": group.epoch,
        "target_epoch": group.target_epoch,
        "members": [_without(member_row(group, member), "group") for member in group.members],
        "partition_offsets": [_without(partition_row(lag), "group") for lag in lags],
    }


def _without(row: Row, name: str) -> Row:
    return {key: value for key, value in row.items() if key != name}


# --- members --------------------------------------------------------------------------------------------------------


def member_row(group: GroupDescription, member: MemberDescription) -> Row:
    topics = None if member.subscribed_topics is None else " ".join(member.subscribed_topics)
    return {
        "group": group.group_id,
        "client": member.client_id,
        "host": member.host,
        "instance": member.group_instance_id,
        "member": member.member_id,
        "epoch": member.epoch,
        "partitions": None if member.assignment is None else len(member.assignment),
        "assignment": _shares(member.assignment),
        "active_tasks": member.tasks,
        "standby_tasks": member.standby_tasks,
        "target": _shares(member.target_assignment),
        "subscribed": member.subscribed_regex or topics,
    }


def _shares(partitions: Sequence[TopicPartition] | None) -> Shares | None:
    if partitions is None:
        return None
    found: dict[str, list[int]] = {}
    for topic, index in partitions:
        found.setdefault(topic, []).append(index)
    return found
