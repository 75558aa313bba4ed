"""The account at the end of `kctl produce`."""

import io
from collections.abc import Collection

import pytest

from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.cli.exit_codes import ExitCode
from kctl.cli.options import Common
from kctl.cli.produce.delivery_account import account_code, delivery_listing, report_account
from kctl.cli.settings import Settings
from kctl.client.clock import ManualClock
from kctl.client.cluster import TopicPartition
from kctl.client.errors import AdvertisedAddressError, ConnectionRefused, DeliveryTimeout, KafkaError
from kctl.client.loop.close import CloseResult, PartitionResult


def _told(
    partitions: dict[TopicPartition, PartitionResult], *, quiet: bool = False, announced: Collection[str] = ()
) -> str:
    stderr = io.StringIO()
    environment = Environment(
        io.BytesIO(),
        io.BytesIO(),
        stderr,
        {},
        ManualClock(),
        closing_notice=ClosingNotice(),
        secrets=Secrets(),
        program="kctl produce",
    )
    result = CloseResult(
        delivered=sum(part.delivered for part in partitions.values()),
        failed=sum(part.failed for part in partitions.values()),
        unknown=sum(part.unknown for part in partitions.values()),
        partitions=partitions,
    )
    report_account(Common(environment, Settings({}), 0, None, quiet, False), result, announced=announced)
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
        f"{delivered}kctl produce: 3 records NOT delivered, 1 of which may have been written\n"
        "  t (no partition assigned): 1: unknown cause\n"
        "  t-0: 2: refused\\x1b[2J\n"
    )


def test_cause_that_was_announced_is_not_repeated() -> None:
    parts = {TopicPartition("t", 0): PartitionResult(failed=2, error=ConnectionRefused("refused"))}
    assert "  t-0: 2: see above\n" in _told(parts, announced={"refused"})


def test_many_partitions_are_counted() -> None:
    parts = {
        TopicPartition("t", i): PartitionResult(delivered=1, failed=1, error=ConnectionRefused("no")) for i in range(12)
    }
    told = _told(parts)
    assert "t-9: 1, and 2 more partitions)" in told
    assert told.endswith("  t-9: 1: no\n  and 2 more partitions\n")


def _result(*failed: KafkaError) -> CloseResult:
    parts = {TopicPartition("t", i): PartitionResult(failed=1, error=error) for i, error in enumerate(failed)}
    return CloseResult(1, len(parts), 0, parts)


def test_the_hint_of_the_first_cause_is_given_once() -> None:
    error = ConnectionRefused("refused", hint="nothing listens there")
    told = _told(dict(_result(error, error).partitions))
    assert told.endswith("  t-1: 1: refused\nhint: nothing listens there\n")


def test_undelivered_is_the_code_save_where_an_advertised_address_was_in_the_way() -> None:
    refused = ConnectionRefused("b:1: refused")
    advertised = AdvertisedAddressError(1, refused)

    def late(cause: KafkaError) -> DeliveryTimeout:
        return DeliveryTimeout("waiting", timeout_ms=1, elapsed_ms=1, cause=cause)

    assert account_code(_result()) is ExitCode.OK
    assert account_code(_result(refused)) is ExitCode.UNDELIVERED
    assert account_code(_result(late(refused))) is ExitCode.UNDELIVERED
    assert account_code(_result(late(refused), late(advertised))) is ExitCode.ADVERTISED_ADDRESS
    assert account_code(_result(advertised)) is ExitCode.ADVERTISED_ADDRESS


def test_account_for_programs_has_a_row_for_each_partition() -> None:
    refused = DeliveryTimeout("x", timeout_ms=1, elapsed_ms=1, cause=ConnectionRefused("no"))
    parts = {
        TopicPartition("t", 0): PartitionResult(delivered=2, last_offset=7),
        TopicPartition("t", -1): PartitionResult(failed=1, unknown=1, error=refused),
    }
    listing = delivery_listing(CloseResult(2, 1, 1, parts), "unknown")
    assert [tuple(row.values()) for row in listing.rows] == [
        ("t", None, 0, 1, 1, None, "ConnectionRefused"),
        ("t", 0, 2, 0, 0, 7, None),
    ]
    assert listing.facts == {"delivered_records": 2, "undelivered_records": 2, "transaction": "unknown"}
