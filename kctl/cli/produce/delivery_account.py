"""The account of a producer: how many records of which partition were delivered, and why the others were not."""

from collections.abc import Collection

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import exit_code, explain
from kctl.cli.options import Common
from kctl.client.cluster import TopicPartition
from kctl.client.errors import AdvertisedAddressError, DeliveryTimeout, TransactionAbortedError
from kctl.client.producer import CloseResult, PartitionResult
from kctl.client.wording import counted

MOST_NAMED = 10
"""Partitions that are named; further ones are only counted."""


def report_account(
    common: Common,
    result: CloseResult,
    *,
    oldest_ms: int | None = None,
    is_taken_back: bool = False,
    announced: Collection[str] = (),
) -> None:
    """Say what became of the records: what was delivered unless --quiet, what was not in any case.

    Args:
        oldest_ms: how old the oldest was when it failed.
        is_taken_back: all were in a transaction that is not committed.
        announced: causes that were reported when they happened; they are not repeated.
    """
    if is_taken_back:
        sent = result.delivered + not_delivered(result)
        aborted = "aborted" if result.transaction in (None, "aborted") else "not committed"
        common.environment.say(f"kctl produce: transaction {aborted}: none of {counted(sent, 'record')} was delivered")
    else:
        common.say(f"kctl produce: {counted(result.delivered, 'record')} delivered{_delivered_by_partition(result)}")
    failed = _failed(result)
    if is_taken_back:
        failed = [(tp, part) for tp, part in failed if not isinstance(part.error, TransactionAbortedError | None)]
    if not failed:
        return
    unknown = f", {result.unknown} of which may have been written" if result.unknown else ""
    oldest = "" if oldest_ms is None else f", the oldest after {oldest_ms / 1000:.1f} s"
    if not is_taken_back:
        common.environment.say(f"kctl produce: {counted(result.undelivered, 'record')} NOT delivered{unknown}{oldest}")
    for tp, part in failed[:MOST_NAMED]:
        cause = _cause(part)
        why = "see above" if cause in announced else cause
        common.environment.say(f"  {_name(tp)}: {part.failed + part.unknown + part.aborted}: {why}")
    if len(failed) > MOST_NAMED:
        common.environment.say(f"  and {len(failed) - MOST_NAMED} more partitions")
    hint = next((hint for _, part in failed if part.error is not None and (hint := explain(part.error).hint)), "")
    if hint:
        common.environment.say(f"hint: {hint}")


def not_delivered(result: CloseResult) -> int:
    """Return how many records were not delivered: failed, unknown, or in an aborted transaction."""
    return result.undelivered + result.aborted


def account_code(result: CloseResult) -> ExitCode:
    """Return the exit code: undelivered, except where an advertised address was in the way, which has its own."""
    if not_delivered(result) == 0:
        return ExitCode.OK
    errors = [part.error for _, part in _failed(result)]
    causes = [error.cause if isinstance(error, DeliveryTimeout) else error for error in errors]
    return next((exit_code(each) for each in causes if isinstance(each, AdvertisedAddressError)), ExitCode.UNDELIVERED)


def _failed(result: CloseResult) -> list[tuple[TopicPartition, PartitionResult]]:
    """Return the partitions of which not every record was delivered."""
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
