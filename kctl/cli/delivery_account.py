"""The account of a producer: how many records of which partition were delivered, and why the others were not.

Shown by tests/unit/cli/test_delivery_account.py.
"""

from kctl.cli.formats.terminal import harmless_text
from kctl.cli.options import Common
from kctl.client.cluster import TopicPartition
from kctl.client.producer.deliveries import CloseResult, PartitionResult

MOST_NAMED = 10
"""Partitions that are named; further ones are only counted."""


def tell_account(common: Common, result: CloseResult) -> None:
    """Say what became of the records: what was delivered unless --quiet, what was not in any case."""
    common.say(f"kctl produce: {_count(result.delivered)} delivered{_delivered_by_partition(result)}")
    if result.undelivered == 0:
        return
    unknown = f", {result.unknown} of them perhaps written" if result.unknown else ""
    common.environment.say(f"kctl produce: {_count(result.undelivered)} NOT delivered{unknown}")
    failed = [(tp, part) for tp, part in sorted(result.partitions.items()) if part.failed + part.unknown]
    for tp, part in failed[:MOST_NAMED]:
        common.environment.say(f"  {_name(tp)}: {part.failed + part.unknown}: {_cause(part)}")
    if len(failed) > MOST_NAMED:
        common.environment.say(f"  and {len(failed) - MOST_NAMED} more partitions")


def _delivered_by_partition(result: CloseResult) -> str:
    named = [f"{_name(tp)}: {part.delivered}" for tp, part in sorted(result.partitions.items()) if part.delivered]
    if not named:
        return ""
    more = f", and {len(named) - MOST_NAMED} more partitions" if len(named) > MOST_NAMED else ""
    return f" ({', '.join(named[:MOST_NAMED])}{more})"


def _name(tp: TopicPartition) -> str:
    return str(tp) if tp.partition >= 0 else f"{tp.topic}, no partition yet"


def _cause(part: PartitionResult) -> str:
    return "not known why" if part.error is None else harmless_text(str(part.error))


def _count(records: int) -> str:
    return "1 record" if records == 1 else f"{records} records"
