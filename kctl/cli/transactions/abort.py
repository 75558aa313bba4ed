"""Execution of `kctl transactions abort`.

Transactions known to their coordinator are rejected, because an abort on one partition would split them.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kctl.cli import click
from kctl.cli.admin_client import open_admin
from kctl.cli.changes import Consent, after_yes, end_change, result_word
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.formats.listing import Listing, Section, write_listing
from kctl.cli.named_partitions import parse_named
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.cli.transactions.look import OPEN_COLUMNS, led_partitions, open_row, report_missing, shown_row
from kctl.client.admin import Admin, OpenTransaction, Verdict
from kctl.client.clock import duration_text
from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.wording import counted

SHOWN = ("topic", "partition", "start_offset", "verdict", "transactional_id", "producer_id", "open_for", "result")
ABORTED_WITHOUT_FORCE = (Verdict.HANGING, Verdict.OVERDUE)


class Abort(NamedTuple):
    """Options of the command. `partition`: TOPIC:P, not parsed."""

    partition: str
    start_offset: int | None
    is_forced: bool
    consent: Consent


def run_abort(common: Common, output: Output, wanted: Abort) -> int:
    """Show the transactions, abort them with consent, and return the exit code."""
    partition = _partition(wanted.partition)
    with open_admin(common) as admin:
        with admin.within():
            chosen = _chosen(common, admin, partition, wanted)
            failed = _abort(admin, partition, chosen) if wanted.consent is Consent.GIVEN else None
        if chosen and failed is None:
            facts = [_fact(each) for each in chosen]
            failed = after_yes(
                common,
                admin,
                wanted.consent,
                facts,
                "Abort these transactions?",
                lambda: _abort(admin, partition, chosen),
            )
    listing = _listing(chosen, failed, common.environment.clock.wall_ms())
    if chosen:
        check = f"kctl transactions hanging --topic {partition.topic}:{partition.partition} --all"
        return end_change(
            common, output, listing, failed, f"{counted(len(chosen), 'transaction')} would be aborted", check
        )
    write_listing(common.environment, output, listing)
    common.say(f"{common.environment.program}: no hanging transactions found on {partition}")
    return ExitCode.OK


def _partition(text: str) -> TopicPartition:
    topics = list(parse_named([text], "'TOPIC:P'").items())
    topic, indexes = topics[0]
    if indexes is None or len(indexes) != 1:
        raise click.BadParameter(
            f"{text[:80]!r} is not a partition: use TOPIC:P, such as orders:0", param_hint="'TOPIC:P'"
        )
    return TopicPartition(topic, indexes[0])


def _chosen(common: Common, admin: Admin, partition: TopicPartition, wanted: Abort) -> list[OpenTransaction]:
    partitions, leaderless = led_partitions(admin, {partition.topic: [partition.partition]})
    for error in leaderless.values():
        raise error
    found = admin.open_transactions(partitions)
    for error in found.failed.values():
        raise error
    if wanted.start_offset is None:
        report_missing(common, found, {})
        return [each for each in found.transactions if each.verdict in ABORTED_WITHOUT_FORCE]
    named = [each for each in found.transactions if each.start_offset == wanted.start_offset]
    if not named:
        raise CommandError(
            ExitCode.UNKNOWN_RESOURCE,
            f"no open transaction begins at offset {wanted.start_offset} of {partition}",
            "list open transactions with: kctl transactions hanging --topic "
            f"{partition.topic}:{partition.partition} --all",
        )
    if named[0].verdict not in ABORTED_WITHOUT_FORCE and not wanted.is_forced:
        report_missing(common, found, {})
        raise _refusal(named[0], has_missing=bool(found.missing))
    return named


def _refusal(each: OpenTransaction, *, has_missing: bool) -> CommandError:
    if each.verdict is Verdict.RUNNING:
        limit = "" if each.timeout_ms is None else f" of {duration_text(each.timeout_ms)}"
        hint = f"stop the producer and wait for transaction.timeout.ms{limit}, or add --force"
    elif has_missing or each.transactional_id is not None:
        hint = "retry when all brokers respond, or add --force"
    else:
        hint = "retry with permission to describe the transactional ID, or add --force"
    what = f"the {each.verdict.value} transaction at offset {each.start_offset} of {each.partition}"
    return CommandError(ExitCode.UNAVAILABLE, f"cannot abort {what}: {each.reason}", hint)


def _abort(admin: Admin, partition: TopicPartition, chosen: list[OpenTransaction]) -> dict[int, KafkaError]:
    failed: dict[int, KafkaError] = {}
    for each in chosen:
        try:
            admin.abort_transaction(partition, each.start_offset)
        except KafkaError as error:
            failed[each.start_offset] = error
    return failed


def _fact(each: OpenTransaction) -> str:
    who = each.transactional_id or f"producer ID {each.producer.producer_id}"
    return f"{each.partition}: transaction of {who} from offset {each.start_offset}: {each.reason}"


def _listing(chosen: list[OpenTransaction], failed: Mapping[int, KafkaError] | None, wall_ms: int) -> Listing:
    results = [result_word(each.start_offset, failed, "aborted") for each in chosen]
    pairs = list(zip(chosen, results, strict=True))
    return Listing(
        "transactions",
        (*OPEN_COLUMNS, "result"),
        [{**open_row(each, wall_ms), "result": result} for each, result in pairs],
        {"executed": failed is not None},
        shown=SHOWN,
        sections=[Section((), [{**shown_row(each, wall_ms), "result": result} for each, result in pairs])],
    )
