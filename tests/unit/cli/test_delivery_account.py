"""The account at the end of `kctl produce`."""

import io

import pytest

from kctl.cli.delivery_account import tell_account
from kctl.cli.environment import Environment
from kctl.cli.options import Common
from kctl.cli.settings import Settings
from kctl.client.clock import ManualClock
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ConnectionRefused
from kctl.client.producer.deliveries import CloseResult, PartitionResult


def _told(partitions: dict[TopicPartition, PartitionResult], *, quiet: bool = False) -> str:
    stderr = io.StringIO()
    environment = Environment(io.BytesIO(), io.BytesIO(), stderr, {}, ManualClock())
    result = CloseResult(
        delivered=sum(part.delivered for part in partitions.values()),
        failed=sum(part.failed for part in partitions.values()),
        unknown=sum(part.unknown for part in partitions.values()),
        partitions=partitions,
    )
    tell_account(Common(environment, Settings({}), 0, None, quiet, False), result)
    return stderr.getvalue()


def test_all_delivered() -> None:
    parts = {TopicPartition("t", 1): PartitionResult(delivered=1), TopicPartition("t", 0): PartitionResult(delivered=2)}
    assert _told(parts) == "kctl produce: 3 records delivered (t-0: 2, t-1: 1)\n"
    assert _told(parts, quiet=True) == ""


def test_nothing_at_all() -> None:
    assert _told({}) == "kctl produce: 0 records delivered\n"


@pytest.mark.parametrize("quiet", [False, True])
def test_undelivered_is_told_by_partition_and_cause_in_any_case(quiet: bool) -> None:
    parts = {
        TopicPartition("t", 0): PartitionResult(delivered=1, failed=2, error=ConnectionRefused("refused\x1b[2J")),
        TopicPartition("t", -1): PartitionResult(unknown=1),
    }
    delivered = "" if quiet else "kctl produce: 1 record delivered (t-0: 1)\n"
    assert _told(parts, quiet=quiet) == (
        f"{delivered}kctl produce: 3 records NOT delivered, 1 of them perhaps written\n"
        "  t, no partition yet: 1: not known why\n"
        "  t-0: 2: refused\\x1b[2J\n"
    )


def test_many_partitions_are_counted() -> None:
    parts = {
        TopicPartition("t", i): PartitionResult(delivered=1, failed=1, error=ConnectionRefused("no")) for i in range(12)
    }
    told = _told(parts)
    assert "t-9: 1, and 2 more partitions)" in told
    assert told.endswith("  t-9: 1: no\n  and 2 more partitions\n")
