"""What is said of a partition whose commit or end is not known, or that contradict each other."""

import pytest

from kctl.cli.groups.lag import partition_lag, short
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import TopicPartition
from kctl.client.errors import (
    AdvertisedAddressError,
    ApiTimeout,
    ConnectionRefused,
    KafkaError,
    RequestTimeout,
)

TP = TopicPartition("t", 0)
UNKNOWN = broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "ListOffsets")
LEADERLESS = broker_error(ErrorCode.LEADER_NOT_AVAILABLE, "t-0")


@pytest.mark.parametrize(
    ("committed", "start", "end", "shown", "note"),
    [
        (4, 0, 10, (4, 10, 6), ""),
        (10, 0, 10, (10, 10, 0), ""),
        (0, 0, 0, (0, 0, 0), ""),
        (None, 0, 10, (None, 10, None), "no committed offset"),
        (11, 0, 10, (11, 10, None), "committed offset is beyond the end: the topic was recreated or truncated"),
        (2, 5, 10, (2, 10, 8), "3 unread records were deleted: the log starts at 5"),
        (4, 0, UNKNOWN, (4, None, None), "no such topic or partition"),
        (4, 0, LEADERLESS, (4, None, None), "end unknown: LEADER_NOT_AVAILABLE"),
        (None, 0, UNKNOWN, (None, None, None), "no such topic or partition"),
        (LEADERLESS, 0, 10, (None, None, None), "committed offset unknown: LEADER_NOT_AVAILABLE"),
    ],
)
def test_lag_of_each_kind_of_answer_has_its_figures_and_note(
    committed: int | KafkaError | None,
    start: int,
    end: int | KafkaError,
    shown: tuple[int | None, ...],
    note: str,
) -> None:
    lag = partition_lag("g", TP, committed, start, end, None)
    assert (lag.committed, lag.end, lag.lag) == shown
    assert lag.note == note
    assert (lag.error is not None) == ("unknown" in note)


def test_errors_in_a_word() -> None:
    refused = ConnectionRefused("no")
    late = {"timeout_ms": 1, "elapsed_ms": 1}
    assert short(LEADERLESS) == "LEADER_NOT_AVAILABLE"
    assert short(refused) == short(AdvertisedAddressError(1, refused)) == "ConnectionRefused"
    assert short(ApiTimeout("x", **late, cause=refused)) == "ConnectionRefused"  # type: ignore[arg-type]  # two numbers
    assert short(RequestTimeout("x", **late)) == "no response in time"  # type: ignore[arg-type]  # keywords of one kind for several errors
