"""The account of a producer: delivered records by partition, and causes of undelivered records."""

from collections.abc import Collection

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import Failure, exit_code, explain
from kctl.cli.formats.listing import Listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common
from kctl.client.cluster import TopicPartition
from kctl.client.errors import AdvertisedAddressError, DeliveryTimeout, TransactionAbortedError
from kctl.client.producer import CloseResult, PartitionResult
from kctl.client.wording import counted

COLUMNS = ("topic", "partition", "delivered", "failed", "unknown", "last_offset", "error")
MOST_NAMED = 10
"""Maximum number of partitions to list; further ones are counted."""


def report_account(
    common: Common,
    result: CloseResult,
    *,
    oldest_ms: int | None = None,
    is_taken_back: bool = False,
    announced: Collection[str] = (),
) -> None:
    """Print the undelivered records, and the delivered records unless --quiet is set.

    Args:
        oldest_ms: age at which the oldest undelivered record failed.
        is_taken_back: whether the transaction of all records is not committed.
        announced: causes that were already printed.
    """
    failed = _failed(result)
    if is_taken_back:
        failed = [(tp, part) for tp, part in failed if not isinstance(part.error, TransactionAbortedError | None)]
        aborted = "aborted" if result.transaction in (None, "aborted") else "not committed"
        sent = counted(result.delivered + not_delivered(result), "record")
        text = f"transaction {aborted}: 0 of {sent} delivered"
    else:
        common.say(f"kctl produce: {counted(result.delivered, 'record')} delivered{_delivered_by_partition(result)}")
        if not failed:
            return
        unknown = f", {result.unknown} of which may have been written" if result.unknown else ""
        oldest = "" if oldest_ms is None else f", the oldest failed after {oldest_ms / 1000:.1f} s"
        text = f"{counted(result.undelivered, 'record')} NOT delivered{unknown}{oldest}"
    details = []
    for tp, part in failed[:MOST_NAMED]:
        cause = _cause(part)
        why = "see above" if cause in announced else cause
        details.append(f"{_name(tp)}: {part.failed + part.unknown + part.aborted}: {why}")
    if len(failed) > MOST_NAMED:
        details.append(f"and {len(failed) - MOST_NAMED} more partitions")
    causes = [explain(part.error) for _, part in failed if part.error is not None]
    cause_of_first = causes[0] if causes else Failure(ExitCode.UNDELIVERED, "")
    failure = cause_of_first._replace(
        code=account_code(result) or ExitCode.UNDELIVERED,
        message=text,
        hint=next((each.hint for each in causes if each.hint), ""),
        details=tuple(details),
    )
    common.environment.say_failure(failure, is_error=False)


def delivery_listing(result: CloseResult, transaction: str | None) -> Listing:
    """Return the account as a listing with a row for each partition.

    Args: transaction: outcome of the transaction, or None. Delivered records are invisible unless it is committed.
    """
    rows: list[Row] = [
        {
            "topic": tp.topic,
            "partition": tp.partition if tp.partition >= 0 else None,
            "delivered": part.delivered,
            "failed": part.failed + part.aborted,
            "unknown": part.unknown,
            "last_offset": part.last_offset if part.last_offset >= 0 else None,
            "error": None if part.error is None else explain(part.error).cause,
        }
        for tp, part in sorted(result.partitions.items())
    ]
    facts = {
        "delivered_records": result.delivered,
        "undelivered_records": not_delivered(result),
        "transaction": transaction,
    }
    return Listing("deliveries", COLUMNS, rows, facts)


def not_delivered(result: CloseResult) -> int:
    """Return the number of failed, unknown and aborted records."""
    return result.undelivered + result.aborted


def account_code(result: CloseResult) -> ExitCode:
    """Return OK if all records are delivered, otherwise UNDELIVERED or the exit code of a failed advertised address."""
    if not_delivered(result) == 0:
        return ExitCode.OK
    errors = [part.error for _, part in _failed(result)]
    causes = [error.cause if isinstance(error, DeliveryTimeout) else error for error in errors]
    return next((exit_code(each) for each in causes if isinstance(each, AdvertisedAddressError)), ExitCode.UNDELIVERED)


def _failed(result: CloseResult) -> list[tuple[TopicPartition, PartitionResult]]:
    return [(tp, part) for tp, part in sorted(result.partitions.items()) if part.failed + part.unknown + part.aborted]


def _delivered_by_partition(result: CloseResult) -> str:
    named = [f"{_name(tp)}: {part.delivered}" for tp, part in sorted(result.partitions.items()) if part.delivered]
    if not named:
        return ""
    more = f", and {len(named) - MOST_NAMED} more partitions" if len(named) > MOST_NAMED else ""
    return f" ({', '.join(named[:MOST_NAMED])}{more})"


def _name(tp: TopicPartition) -> str:
    return str(tp) if tp.partition >= 0 else f"{tp.topic}, no partition yet"


def _cause(part: PartitionResult) -> str:
    return "unknown cause" if part.error is None else explain(part.error).message
