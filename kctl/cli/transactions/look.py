"""Execution of `kctl transactions list`, `describe` and `hanging`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kctl.cli.admin_client import admin_of, nothing_found
from kctl.cli.changes import report_failures
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import Failure
from kctl.cli.formats.listing import Listing, Section, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.named_partitions import find_partitions, parse_named
from kctl.cli.nearest_names import suggest_transactions
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.client.admin import Admin, OpenTransaction, OpenTransactions, TransactionDescription, Verdict
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import duration_text
from kctl.client.cluster import NO_NODE, TopicPartition, by_topic
from kctl.client.errors import KafkaError
from kctl.client.wording import counted, listed

LIST_COLUMNS = ("transactional_id", "producer_id", "state", "coordinator")
DESCRIBE_COLUMNS = (
    "transactional_id", "state", "coordinator", "producer_id", "producer_epoch", "timeout_ms", "started_at_ms",
    "duration_ms", "topic_partitions",
)  # fmt: skip
DESCRIBE_SHOWN = (
    "transactional_id", "state", "coordinator", "producer_id", "epoch", "timeout", "open_for", "partitions",
)  # fmt: skip
OPEN_COLUMNS = (
    "topic", "partition", "start_offset", "verdict", "transactional_id", "producer_id", "producer_epoch",
    "coordinator_epoch", "timeout_ms", "last_timestamp_ms", "duration_ms", "reason",
)  # fmt: skip
OPEN_SHOWN = ("topic", "partition", "start_offset", "verdict", "transactional_id", "producer_id", "open_for", "reason")


class Filter(NamedTuple):
    """Options of `kctl transactions list`."""

    states: Sequence[str]
    producer_ids: Sequence[int]
    older_than_ms: int | None
    pattern: str | None


def list_transactions(common: Common, output: Output, wanted: Filter) -> int:
    """Print the transactional IDs of all brokers, and return the exit code."""
    with admin_of(common) as admin:
        listed = admin.list_transactions(
            states=wanted.states,
            producer_ids=wanted.producer_ids,
            longer_than_ms=wanted.older_than_ms,
            pattern=wanted.pattern,
        )
    rows: list[Row] = [
        {
            "transactional_id": each.transactional_id,
            "producer_id": each.producer_id,
            "state": each.state,
            "coordinator": each.coordinator.node_id,
        }
        for each in listed.transactions.values()
    ]
    facts = {"complete": not listed.failed}
    write_listing(common.environment, output, Listing("transactions", LIST_COLUMNS, rows, facts))
    for node in listed.failed:
        missing = Failure(ExitCode.PARTIAL_FAILURE, f"incomplete list: the transactions of broker {node} are missing")
        common.environment.say_failure(missing, is_error=False)
    if not rows and not listed.failed:
        which = "no matching transactions found" if any(wanted) else nothing_found(admin, "transactional.ids")
        common.say(f"{_program(common)}: {which}")
    return report_failures(common, True, list(listed.failed.values()))


def describe_transactions(common: Common, output: Output, ids: list[str]) -> int:
    with admin_of(common) as admin:
        results = admin.describe_transactions(ids)
        suggest_transactions(admin, results.failed)
    wall_ms = common.environment.clock.wall_ms()
    found = [results.done[name] for name in ids if name in results.done]
    listing = Listing(
        "transactions",
        DESCRIBE_COLUMNS,
        [_describe_row(each, wall_ms) for each in found],
        shown=DESCRIBE_SHOWN,
        sections=[Section((), [_shown_description(each, wall_ms) for each in found])],
    )
    if found:
        write_listing(common.environment, output, listing)
    return report_failures(common, found, list(results.failed.values()))


def _describe_row(each: TransactionDescription, wall_ms: int) -> Row:
    return {
        "transactional_id": each.transactional_id,
        "state": each.state,
        "coordinator": None if each.coordinator is None else each.coordinator.node_id,
        "producer_id": each.producer_id,
        "producer_epoch": each.producer_epoch,
        "timeout_ms": each.timeout_ms,
        "started_at_ms": each.started_at_ms,
        "duration_ms": _duration_ms(each, wall_ms),
        "topic_partitions": by_topic(each.partitions),
    }


def _shown_description(each: TransactionDescription, wall_ms: int) -> Row:
    row = _describe_row(each, wall_ms)
    return {
        **row,
        "epoch": each.producer_epoch,
        "timeout": duration_text(each.timeout_ms),
        "open_for": _text_of(_duration_ms(each, wall_ms)),
        "partitions": by_topic(each.partitions) or None,
    }


def _duration_ms(each: TransactionDescription, wall_ms: int) -> int | None:
    is_open = each.started_at_ms is not None and each.state in ("Ongoing", "PrepareCommit", "PrepareAbort")
    return max(0, wall_ms - (each.started_at_ms or 0)) if is_open else None


# --- hanging --------------------------------------------------------------------------------------------------------


def show_hanging(common: Common, output: Output, topics: Sequence[str], broker: int | None, *, show_all: bool) -> int:
    """Print transactions that are not running, or all transactions, and return the exit code."""
    wanted = parse_named(topics)
    with admin_of(common) as admin:
        partitions, leaderless = led_partitions(admin, wanted, broker)
        found = admin.open_transactions(partitions)
    transactions = [each for each in found.transactions if show_all or each.verdict is not Verdict.RUNNING]
    wall_ms = common.environment.clock.wall_ms()
    failed = {**leaderless, **found.failed}
    listing = Listing(
        "transactions",
        OPEN_COLUMNS,
        [open_row(each, wall_ms) for each in transactions],
        {"complete": not failed and not found.missing},
        shown=OPEN_SHOWN,
        sections=[Section((), [shown_row(each, wall_ms) for each in transactions])],
    )
    write_listing(common.environment, output, listing)
    errors = report_missing(common, found, failed)
    if not transactions and not errors:
        running = len(found.transactions)
        more = f", {counted(running, 'open transaction')} running" if running else ""
        checked = f"no hanging transactions found ({counted(len(partitions), 'partition')} checked{more})"
        is_hidden = not partitions and not topics and broker is None
        common.say(f"{_program(common)}: {nothing_found(admin, 'topics') if is_hidden else checked}")
    return report_failures(common, True, errors)


def led_partitions(
    admin: Admin, wanted: Mapping[str, list[int] | None], broker: int | None = None
) -> tuple[list[TopicPartition], dict[TopicPartition, KafkaError]]:
    """Return partitions with a leader, and errors of partitions without a leader.

    Args:
        wanted: partition numbers by topic, None for all of a topic; an empty dict for all topics.
        broker: return only partitions that this broker leads.
    Raises:
        CommandError: a partition does not exist.
        KafkaError: a topic or the broker does not exist.
    """
    leaders: dict[TopicPartition, int] = {}
    if wanted:
        found = find_partitions(admin, wanted)
        described = admin.describe_topics(list(found))
        for topic, indexes in found.items():
            infos = described[topic].partitions
            leaders |= {TopicPartition(topic, index): infos[index].leader_id for index in indexes}
    else:
        for topic, listing in admin.list_topics(include_internal=True).items():
            leaders |= {TopicPartition(topic, each.partition): each.leader_id for each in listing.partitions.values()}
    if broker is not None:
        known = [node.node_id for node in admin.describe_cluster().nodes]
        if broker not in known:
            raise broker_error(ErrorCode.BROKER_ID_NOT_REGISTERED, f"find broker {broker}")
        return [tp for tp, leader in leaders.items() if leader == broker], {}
    leaderless: dict[TopicPartition, KafkaError] = {
        tp: broker_error(ErrorCode.LEADER_NOT_AVAILABLE, f"find the leader of {tp}")
        for tp, leader in leaders.items()
        if leader == NO_NODE
    }
    return [tp for tp, leader in leaders.items() if leader != NO_NODE], leaderless


def report_missing(
    common: Common, found: OpenTransactions, failed: Mapping[TopicPartition, KafkaError]
) -> list[KafkaError]:
    """Print the partitions and coordinators that could not be checked, and return their errors."""
    if failed:
        what = f"transactions of {listed(failed)} are missing"
        common.environment.say_failure(Failure(ExitCode.PARTIAL_FAILURE, f"incomplete list: {what}"), is_error=False)
    if found.missing:
        what = f"the coordinators on {listed(found.missing)} did not report their transactions"
        common.environment.say_failure(Failure(ExitCode.PARTIAL_FAILURE, f"undecided: {what}"), is_error=False)
    return _distinct([*failed.values(), *found.missing.values()])


def _distinct(errors: Iterable[KafkaError]) -> list[KafkaError]:
    """Return one error of each kind: a broker that is down has one for each partition."""
    kinds: dict[str, KafkaError] = {}
    for error in errors:
        kinds.setdefault(f"{type(error).__name__} {getattr(error, 'code', error)}", error)
    return list(kinds.values())


def open_row(each: OpenTransaction, wall_ms: int) -> Row:
    producer = each.producer
    return {
        "topic": each.partition.topic,
        "partition": each.partition.partition,
        "start_offset": each.start_offset,
        "verdict": each.verdict.value,
        "transactional_id": each.transactional_id,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "coordinator_epoch": producer.coordinator_epoch,
        "timeout_ms": each.timeout_ms,
        "last_timestamp_ms": None if producer.last_timestamp_ms < 0 else producer.last_timestamp_ms,
        "duration_ms": each.age_ms(wall_ms),
        "reason": each.reason,
    }


def shown_row(each: OpenTransaction, wall_ms: int) -> Row:
    return {**open_row(each, wall_ms), "open_for": _text_of(each.age_ms(wall_ms))}


def _text_of(ms: int | None) -> str | None:
    return None if ms is None else duration_text(ms)


def _program(common: Common) -> str:
    return common.environment.program
