"""Execution of `kctl topics offsets`, and of `kctl topics trim`, which deletes records up to an offset."""

from collections.abc import Mapping
from typing import NamedTuple

from kctl.cli import click
from kctl.cli.admin_client import admin_of, half_of_rest_s, open_admin
from kctl.cli.changes import Consent, after_yes, checking, report_failures, result_word, say_dry_run
from kctl.cli.formats.listing import Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.named_partitions import find_partitions, parse_named
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.client.admin import EARLIEST, LATEST, MAX_TIMESTAMP, Admin, OffsetAndTimestamp, Results
from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.wording import counted
from kctl.grammar.offset_grammar import parse_offset
from kctl.grammar.offsets import END, Absolute, AtTime, OffsetSpec, Position

ENDS_COLUMNS = ("topic", "partition", "start", "end", "records")
AT_COLUMNS = ("topic", "partition", "offset", "timestamp_ms", "leader_epoch")
TRIM_COLUMNS = ("topic", "partition", "start", "end", "before", "records", "result")
PLACES = {"start": EARLIEST, "end": LATEST, "max-timestamp": MAX_TIMESTAMP}

Offsets = Mapping[TopicPartition, int]


class Trim(NamedTuple):
    """Deletion of records in one partition. `before`: new start offset."""

    start: int
    end: int
    before: int

    @property
    def records(self) -> int:
        """Return the number of offsets to delete, which is at least the number of records."""
        return self.before - self.start


def show_offsets(common: Common, output: Output, name: str, at: str | None) -> int:
    """Print offsets of a topic, and return the exit code.

    Args: at: time or name of a special offset; None for start and end offsets.
    """
    spec = None if at is None else PLACES[at] if at in PLACES else _instant_ms(common, at, "'--at'")
    with admin_of(common) as admin:
        partitions = _partitions(admin, name)
        if spec is None:
            return _show_ends(common, output, admin, partitions)
        results = admin.list_offsets(dict.fromkeys(partitions, spec))
    rows = [_at_row(tp, found) for tp, found in sorted(results.done.items())]
    write_listing(common.environment, output, Listing("partitions", AT_COLUMNS, rows))
    return report_failures(common, results.done, list(results.failed.values()))


def _show_ends(common: Common, output: Output, admin: Admin, partitions: list[TopicPartition]) -> int:
    starts, ends = _ends(admin, partitions)
    rows: list[Row] = []
    for tp in partitions:
        if tp in starts.done and tp in ends.done:
            start, end = starts[tp].offset, ends[tp].offset
            rows.append(
                {"topic": tp.topic, "partition": tp.partition, "start": start, "end": end, "records": end - start}
            )
    write_listing(common.environment, output, Listing("partitions", ENDS_COLUMNS, rows))
    failed = {**ends.failed, **starts.failed}
    return report_failures(common, rows, list(failed.values()))


def _at_row(tp: TopicPartition, found: OffsetAndTimestamp) -> Row:
    return {
        "topic": tp.topic,
        "partition": tp.partition,
        "offset": None if found.offset < 0 else found.offset,
        "timestamp_ms": None if found.timestamp_ms < 0 else found.timestamp_ms,
        "leader_epoch": None if found.leader_epoch < 0 else found.leader_epoch,
    }


def trim_topic(common: Common, output: Output, name: str, before: str, consent: Consent) -> int:
    """Show the records to delete, and delete them with consent; return the exit code."""
    position = _position(common, before)
    with open_admin(common) as admin:
        with admin.within():
            trims, unseen = _trims(admin, _partitions(admin, name), position)
            wanted = {tp: trim.before for tp, trim in trims.items() if trim.records > 0}
            results = admin.delete_records(wanted) if consent is Consent.GIVEN and wanted else None
        if results is None and wanted:
            results = after_yes(
                common, admin, consent, _facts(trims), "Delete these records?", lambda: admin.delete_records(wanted)
            )
    failed = None if results is None else results.failed
    rows = [
        _trim_row(tp, trim, result_word(tp, failed, "deleted") if tp in wanted else "nothing to delete")
        for tp, trim in trims.items()
    ]
    write_listing(common.environment, output, Listing("partitions", TRIM_COLUMNS, rows))
    if results is not None:
        check = checking("kctl topics offsets", results.failed, lambda key: key.topic)
        return report_failures(common, results.done, [*unseen.values(), *results.failed.values()], check)
    if wanted:
        total = sum(trims[tp].records for tp in wanted)
        say_dry_run(common, f"up to {counted(total, 'record')} of {counted(len(wanted), 'partition')} would be deleted")
    return report_failures(common, trims, list(unseen.values()))


def _trim_row(tp: TopicPartition, trim: Trim, result: str) -> Row:
    return {
        "topic": tp.topic,
        "partition": tp.partition,
        "start": trim.start,
        "end": trim.end,
        "before": trim.before,
        "records": trim.records,
        "result": result,
    }


def _facts(trims: Mapping[TopicPartition, Trim]) -> list[str]:
    return [
        f"{tp}: {counted(trim.records, 'record')} before offset {trim.before}"
        for tp, trim in trims.items()
        if trim.records
    ]


def _trims(
    admin: Admin, partitions: list[TopicPartition], position: Position
) -> tuple[dict[TopicPartition, Trim], dict[TopicPartition, KafkaError]]:
    starts, ends = _ends(admin, partitions)
    failed = {**starts.failed, **ends.failed}
    at: Offsets = {}
    if isinstance(position, AtTime):
        found = admin.list_offsets(dict.fromkeys(ends.done, position.at_ms))
        failed |= found.failed
        at = {tp: offset.offset for tp, offset in found.done.items() if offset.offset >= 0}
    trims = {}
    for tp in partitions:
        if tp in failed:
            continue
        start, end = starts[tp].offset, ends[tp].offset
        wanted = position.offset if isinstance(position, Absolute) else at.get(tp, end)
        trims[tp] = Trim(start, end, min(max(start, wanted), end))
    return trims, failed


def _ends(
    admin: Admin, partitions: list[TopicPartition]
) -> tuple[Results[TopicPartition, OffsetAndTimestamp], Results[TopicPartition, OffsetAndTimestamp]]:
    """Return start and end offsets. Partitions whose start offset is unknown have no end offset."""
    starts = admin.list_offsets(dict.fromkeys(partitions, EARLIEST), partial_timeout=half_of_rest_s(admin))
    return starts, admin.list_offsets(dict.fromkeys(starts.done, LATEST))


def _partitions(admin: Admin, name: str) -> list[TopicPartition]:
    found = find_partitions(admin, parse_named([name], "TOPIC"))
    return [TopicPartition(topic, index) for topic, indexes in found.items() for index in indexes]


def _position(common: Common, text: str) -> Position:
    spec = _spec(common, text, "'--before'")
    start = spec.start
    if spec.end is not None or spec.spans or not (isinstance(start, Absolute | AtTime) or start == END):
        raise click.BadParameter(f"use an offset, @TIME, or end instead of {text!r}", param_hint="'--before'")
    assert start is not None
    return start


def _instant_ms(common: Common, text: str, where: str) -> int:
    spec = _spec(common, text, where)
    if spec.end is not None or spec.spans or not isinstance(spec.start, AtTime):
        raise click.BadParameter(f"use {', '.join(PLACES)}, or @TIME instead of {text!r}", param_hint=where)
    return spec.start.at_ms


def _spec(common: Common, text: str, where: str) -> OffsetSpec:
    try:
        return parse_offset(text, common.environment.clock.wall_ms())
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint=where) from None
