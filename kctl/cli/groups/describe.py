"""Groups as `kctl groups describe`, `lag` and `members` show them: rows, objects and what was not to be had.

Owns the fields of rows and objects, and the rounds of --watch. Shown by tests/cli/test_groups.py.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kctl.cli.admin_client import admin_of, open_admin
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import Listing, Section, write_listing
from kctl.cli.formats.rows import Row, Shares
from kctl.cli.groups.lag import PartitionLag, partition_lags
from kctl.cli.groups.lookup import find_groups, find_partitions, report_failures
from kctl.cli.options import Common, Output
from kctl.client.admin import Admin, GroupDescription, MemberDescription
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ApiTimeout
from kctl.client.network.system import system_runtime
from kctl.client.wording import counted


class LagLook(NamedTuple):
    """What a look at the lag is about.

    Attributes: topics: partition numbers by topic, None for all; empty: what the groups have.
    """

    group_ids: list[str]
    topics: Mapping[str, list[int] | None]
    threshold: int | None


# --- describe -------------------------------------------------------------------------------------------------------


def describe_groups(common: Common, output: Output, group_ids: list[str], columns: Sequence[str]) -> int:
    """Show groups, each with its partitions."""
    with admin_of(common) as admin:
        results = find_groups(common, admin, group_ids)
        lags = partition_lags(admin, results.done.values())
    groups = [(group, lags[group.group_id]) for group in results.done.values()]
    listing = Listing(
        "groups",
        columns,
        [_describe_row(lag) for _, of_group in groups for lag in of_group],
        shown=columns[1:],
        sections=[Section(_facts(*each), [_describe_row(lag) for lag in each[1]]) for each in groups],
        objects=[_group_object(*each) for each in groups],
    )
    if groups:
        write_listing(common.environment, output, listing)
    errors = [*results.failed.values(), *(lag.error for of in lags.values() for lag in of if lag.error is not None)]
    return report_failures(common, results.done, errors)


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
    return [*facts, ("members", len(group.members)), ("lag", _total(lags))]


def _total(lags: Iterable[PartitionLag]) -> str:
    known = [lag.lag for lag in lags if lag.lag is not None]
    unknown = sum(lag.lag is None for lag in lags)
    partitions = counted(unknown, "partition")
    return f"{sum(known)}" + (f" (unknown for {partitions})" if unknown else "")


def _describe_row(lag: PartitionLag) -> Row:
    member = lag.member
    return {
        "group": lag.group_id,
        "topic": lag.partition.topic,
        "partition": lag.partition.partition,
        "committed": lag.committed,
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
        "partition_offsets": [_without(_describe_row(lag), "group") for lag in lags],
    }


def _without(row: Row, name: str) -> Row:
    return {key: value for key, value in row.items() if key != name}


# --- members --------------------------------------------------------------------------------------------------------


def member_row(group: GroupDescription, member: MemberDescription) -> Row:
    """Return who a member is and what it has."""
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


# --- lag ------------------------------------------------------------------------------------------------------------


def show_lag(
    common: Common, output: Output, look: LagLook, columns: Sequence[str], *, rounds: int | None, interval_ms: int
) -> int:
    """Look `rounds` times, or for ever, each within the API timeout; the code is that of the last look."""
    runtime = system_runtime()
    waiter = runtime.driver.waiter()
    number = 0
    with open_admin(common) as admin:
        while True:
            number += 1
            next_at_ms = runtime.clock.start_ms() + interval_ms
            extra: dict[str, int] = {} if rounds == 1 else {"look": number, "wall_ms": runtime.clock.wall_ms()}
            if number > 1 and output is Output.TABLE:
                common.environment.stdout.write(memoryview(b"\n"))
            try:
                with admin.within():
                    code = _look(common, admin, output, look, columns, extra)
            except ApiTimeout as error:
                if rounds == 1:
                    raise
                code = report_failures(common, (), [error])
            if number == rounds:
                return code
            runtime.driver.wait(waiter, next_at_ms)


def _look(
    common: Common, admin: Admin, output: Output, look: LagLook, columns: Sequence[str], extra: Mapping[str, int]
) -> int:
    results = find_groups(common, admin, look.group_ids)
    wanted = _wanted(admin, look, results.done.values())
    lags = partition_lags(admin, results.done.values(), wanted)
    rows: list[Row] = [{name: value for name, value in _describe_row(lag).items() if name in columns}
            for of in lags.values() for lag in of]  # fmt: skip
    if output is Output.CSV and extra:
        rows = [{**extra, **row} for row in rows]
        columns = [*extra, *columns]
        extra = {}
    if results.done:
        write_listing(common.environment, output, Listing("partitions", columns, rows, extra))
    errors = [*results.failed.values(), *(lag.error for of in lags.values() for lag in of if lag.error is not None)]
    code = report_failures(common, results.done, errors)
    behind = [lag for of in lags.values() for lag in of if lag.lag is not None and _is_above(lag.lag, look.threshold)]
    if behind:
        worst = max(behind, key=lambda lag: lag.lag or 0)
        common.say(
            f"kctl groups: {counted(len(behind), 'partition')} more than {look.threshold} behind; "
            f"the worst is {worst.partition} of group {worst.group_id} with {worst.lag}"
        )
        return code or ExitCode.DEGRADED
    return code


def _is_above(lag: int, threshold: int | None) -> bool:
    return threshold is not None and lag > threshold


def _wanted(admin: Admin, look: LagLook, groups: Iterable[GroupDescription]) -> dict[str, list[int]] | None:
    """Return the partitions that were named; a topic that is gone counts where a group has committed for it.

    Raises: KafkaError: there is no such topic, and no group knows of it either.
    """
    if not look.topics:
        return None
    described = admin.describe_topics(list(look.topics))
    wanted = find_partitions(admin, {topic: look.topics[topic] for topic in described.done}) if described.done else {}
    for topic, error in described.failed.items():
        known = sorted(_committed_of(admin, groups, topic))
        if not known:
            raise error
        wanted[topic] = known if look.topics[topic] is None else list(look.topics[topic] or ())
    return wanted


def _committed_of(admin: Admin, groups: Iterable[GroupDescription], topic: str) -> list[int]:
    found: dict[int, None] = {}
    for group in groups:
        offsets = admin.list_group_offsets(group.group_id)
        found |= {tp.partition: None for tp in offsets.done if tp.topic == topic}
    return list(found)
