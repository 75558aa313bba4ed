"""Execution of `kctl groups reset-offsets` and `delete-offsets`. All checks precede the first write."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kctl.cli.admin_client import no_offsets_found, open_admin
from kctl.cli.changes import Consent, after_yes, end_change, result_word
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.formats.listing import SHAPES, Listing
from kctl.cli.formats.rows import Row
from kctl.cli.groups.files import read_offsets, write_offsets
from kctl.cli.groups.lookup import find_group, refuse_members
from kctl.cli.groups.plan import OffsetChange, ago_ms, aim_at_times, aim_of, find_places, instant_ms, plan
from kctl.cli.groups.positions import forget_positions, is_share, positions, set_positions
from kctl.cli.named_partitions import find_partitions, parse_named, with_matching
from kctl.cli.options import Common
from kctl.cli.overtime import interrupted_after
from kctl.client.admin import Admin, GroupDescription, MemberDescription
from kctl.client.cluster import TopicPartition
from kctl.client.config import AdminConfig
from kctl.client.errors import KafkaError
from kctl.client.wording import counted, listed
from kctl.grammar.command_lines import fill_command

RESET_COLUMNS = ("group", "topic", "partition", "old", "new", "result", "note")
DELETE_COLUMNS = ("group", "topic", "partition", "old", "result")
CHECK = "kctl groups describe {group}"
"""Command that shows whether offsets were changed."""


class Reset(NamedTuple):
    """Options of a reset. `flag` and `value`: option that sets the new offsets, and its value."""

    group_id: str
    topics: tuple[str, ...]
    flag: str
    value: object
    export: Path | None
    creates: bool
    consent: Consent


def run_reset(common: Common, reset: Reset) -> int:
    """Show the new offsets, set them with consent, and return the exit code."""
    output = common.choose_output(*SHAPES)
    parsed = _parse(common, reset)
    with open_admin(common) as admin:
        with admin.within():
            group = find_group(
                admin, reset.group_id, may_lack=reset.creates, missing_hint="create the group with --create"
            )
            if group is not None:
                refuse_members(group, group.members, "reset offsets of")
            changes = _changes(admin, reset, parsed, group)
            new = {change.partition: change.new for change in changes}
            if reset.export is not None:
                write_offsets(reset.export, reset.group_id, new)
            results = set_positions(admin, reset.group_id, group, new) if reset.consent is Consent.GIVEN else None
        if results is None:
            facts, question = _reset_facts(changes), f"Set these offsets of {reset.group_id}?"
            results = after_yes(
                common, admin, reset.consent, facts, question, lambda: set_positions(admin, reset.group_id, group, new)
            )
    failed = None if results is None else results.failed
    moved = sum(change.old != change.new for change in changes)
    new_group = "" if group is not None else f"group {reset.group_id} would be created, and "
    would = f"{new_group}{moved} of {counted(len(changes), 'partition')} would get a new offset"
    check = fill_command(CHECK, {"group": reset.group_id})
    return end_change(common, output, _reset_listing(reset.group_id, changes, failed), failed, would, check)


class _Parsed(NamedTuple):
    topics: Mapping[str, list[int] | None]
    file_offsets: Mapping[TopicPartition, int]
    at_ms: int | None


def _parse(common: Common, reset: Reset) -> _Parsed:
    return _Parsed(parse_named(reset.topics), _file_offsets(common, reset), _instant(common, reset))


def _file_offsets(common: Common, reset: Reset) -> Mapping[TopicPartition, int]:
    if not isinstance(reset.value, Path):
        return {}
    timeout_ms = common.settings.parse(AdminConfig).default_api_timeout_ms
    with interrupted_after(timeout_ms, common.environment.clock, f"reading {reset.value}"):
        return read_offsets(reset.value, reset.group_id)


def _changes(admin: Admin, reset: Reset, parsed: _Parsed, group: GroupDescription | None) -> list[OffsetChange]:
    old = _old(admin, reset.group_id, group)
    places = find_places(admin, _partitions(admin, reset.group_id, parsed, old))
    if parsed.at_ms is not None:
        return plan(places, aim_at_times(admin, [place.partition for place in places], parsed.at_ms))
    return plan(places, aim_of(reset.flag, reset.value, parsed.file_offsets))


def _reset_facts(changes: Sequence[OffsetChange]) -> list[str]:
    return [
        f"{change.partition}: {'none' if change.old is None else change.old} -> {change.new}"
        for change in changes
        if change.old != change.new
    ]


def _instant(common: Common, reset: Reset) -> int | None:
    if reset.flag == "--to-datetime":
        return instant_ms(str(reset.value), common.environment.clock.wall_ms())
    if reset.flag == "--by-duration":
        return ago_ms(str(reset.value), common.environment.clock.wall_ms())
    return None


def _old(admin: Admin, group_id: str, group: GroupDescription | None) -> dict[TopicPartition, int | None]:
    found = positions(admin, group_id, group)
    found.raise_first()
    return found.done


def _partitions(
    admin: Admin,
    group_id: str,
    parsed: _Parsed,
    old: Mapping[TopicPartition, int | None],
) -> dict[TopicPartition, int | None]:
    """Return the committed offset of each chosen partition.

    Raises:
        CommandError: there is no partition to reset.
        KafkaError: a topic or partition does not exist.
    """
    if parsed.file_offsets:
        named: dict[str, list[int] | None] = {}
        for topic, index in parsed.file_offsets:
            named.setdefault(topic, []).append(index)  # type: ignore[union-attr]  # made a list here
        find_partitions(admin, named)
        return {tp: old.get(tp) for tp in parsed.file_offsets}
    if parsed.topics:
        found = find_partitions(admin, parsed.topics)
        return {tp: old.get(tp) for topic in found for index in found[topic] if (tp := TopicPartition(topic, index))}
    if not old:
        raise CommandError(
            ExitCode.UNKNOWN_RESOURCE,
            f"cannot reset offsets of group {group_id}: {no_offsets_found(admin)}",
            "choose topics with --topic",
        )
    return dict(old)


def _reset_listing(
    group_id: str, changes: Sequence[OffsetChange], failed: Mapping[TopicPartition, KafkaError] | None
) -> Listing:
    rows: list[Row] = [
        {
            "group": group_id,
            "topic": change.partition.topic,
            "partition": change.partition.partition,
            "old": change.old,
            "new": change.new,
            "result": _reset_result(change, failed),
            "note": change.note or None,
        }
        for change in changes
    ]
    return Listing("partitions", RESET_COLUMNS, rows, {"executed": failed is not None})


def _reset_result(change: OffsetChange, failed: Mapping[TopicPartition, KafkaError] | None) -> str:
    if failed is None and change.old == change.new:
        return "unchanged"
    return result_word(change.partition, failed, "set")


# --- delete-offsets -------------------------------------------------------------------------------------------------


def run_delete(common: Common, group_id: str, topics: Sequence[str], consent: Consent) -> int:
    """Show the committed offsets of the topics, delete them with consent, and return the exit code."""
    output = common.choose_output(*SHAPES)
    wanted = parse_named(topics)
    with open_admin(common) as admin:
        with admin.within():
            group, old = _to_forget(admin, group_id, wanted)
            failed = forget_positions(admin, group_id, group, old) if consent is Consent.GIVEN else None
        if failed is None:
            facts = [f"{tp}: {'no offset' if offset is None else offset}" for tp, offset in sorted(old.items())]
            question = f"Delete these offsets of {group_id}?"
            failed = after_yes(
                common, admin, consent, facts, question, lambda: forget_positions(admin, group_id, group, old)
            )
    rows: list[Row] = []
    for tp, offset in sorted(old.items()):
        row: Row = {"group": group_id, "topic": tp.topic, "partition": tp.partition, "old": offset}
        rows.append({**row, "result": result_word(tp, failed, "deleted")})
    listing = Listing("partitions", DELETE_COLUMNS, rows, {"executed": failed is not None})
    return end_change(
        common,
        output,
        listing,
        failed,
        f"the offsets of {counted(len(old), 'partition')} would be deleted",
        fill_command(CHECK, {"group": group_id}),
    )


def _to_forget(
    admin: Admin, group_id: str, wanted: Mapping[str, list[int] | None]
) -> tuple[GroupDescription, dict[TopicPartition, int | None]]:
    wanted = with_matching(admin, wanted)
    group = find_group(admin, group_id)
    assert group is not None
    refuse_members(group, _readers(group, wanted), "delete offsets of")
    if is_share(group) and any(numbers is not None for numbers in wanted.values()):
        raise CommandError(
            ExitCode.USAGE,
            f"cannot delete offsets of single partitions: share group {group_id} supports only whole topics",
            "give topics without partitions",
        )
    old = {
        tp: offset
        for tp, offset in _old(admin, group_id, group).items()
        if (offset is not None or is_share(group)) and tp.topic in wanted and _is_meant(tp, wanted)
    }
    _refuse_missing(group_id, wanted, old)
    return group, old


def _readers(group: GroupDescription, wanted: Mapping[str, list[int] | None]) -> list[MemberDescription]:
    return [
        member
        for member in group.members
        if any(topic in wanted for topic in member.subscribed_topics or ())
        or any(tp.topic in wanted for tp in member.assignment or ())
    ]


def _is_meant(tp: TopicPartition, wanted: Mapping[str, list[int] | None]) -> bool:
    numbers = wanted[tp.topic]
    return numbers is None or tp.partition in numbers


def _refuse_missing(group_id: str, wanted: Mapping[str, list[int] | None], old: Iterable[TopicPartition]) -> None:
    for topic, numbers in wanted.items():
        missing = [str(TopicPartition(topic, n)) for n in numbers or () if TopicPartition(topic, n) not in old]
        if not numbers and not any(tp.topic == topic for tp in old):
            missing = [f"topic {topic}"]
        if missing:
            raise CommandError(
                ExitCode.UNKNOWN_RESOURCE,
                f"group {group_id} has no committed offsets for {listed(missing)}",
                "list committed offsets with: kctl groups lag",
            )
