"""Why nothing comes, in few words."""

import pytest

from kctl.cli.consume.waiting_words import WaitingWords, waiting_words, without_figures
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.waiting import WaitKind, WaitReason
from kctl.client.errors import ConnectionRefused

TPS = [TopicPartition("t", number) for number in range(9)]
CAUSE = ConnectionRefused("refused")
GONE = WaitReason(WaitKind.CONNECTION, "node 1 is gone", node_id=1, cause=CAUSE)
AT_END = WaitReason(WaitKind.AT_END, "reached the end of the partition, offset 5")
OPEN = WaitReason(WaitKind.OPEN_TRANSACTION, "an open transaction begins at offset 5")
NEW = WaitReason(WaitKind.NOT_STARTED, "the next poll starts the fetch")
JOINING = WaitReason(WaitKind.JOINING, "joining group g")
ALONE = WaitReason(WaitKind.NO_SHARE, "no partition for this member")


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [
        ([], WaitingWords()),
        ([NEW, NEW], WaitingWords()),
        ([AT_END], WaitingWords("at the end of the partition")),
        ([AT_END, AT_END], WaitingWords("at the end of all 2 partitions")),
        ([AT_END, NEW], WaitingWords("at the end of 1 of 2 partitions")),
        ([OPEN], WaitingWords("t-0: an open transaction begins at offset 5")),
        ([GONE, AT_END], WaitingWords("t-0: node 1 is gone; at the end of 1 of 2 partitions", True, CAUSE)),
        ([GONE] * 5, WaitingWords("t-0, t-1, t-2 and 2 more: node 1 is gone", True, CAUSE)),
        (
            [GONE._replace(text=f"gone {at}") for at in range(6)],
            WaitingWords("t-0: gone 0; t-1: gone 1; t-2: gone 2; t-3: gone 3; and 2 more reasons", True, CAUSE),
        ),
    ],
)
def test_of_partitions(reasons: list[WaitReason], expected: WaitingWords) -> None:
    assert waiting_words(dict(zip(TPS, reasons, strict=False)))[:3] == expected[:3]


def test_wait_of_the_group_is_reported_first() -> None:
    assert waiting_words({TPS[0]: GONE}, JOINING)[:3] == ("joining group g", True, None)
    assert waiting_words({}, ALONE)[:3] == ("no partition for this member", False, None)


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("connection lost after 1 ms", "connection lost after 2 ms"),
        ("timed out after 1.5s (3 attempts)", "timed out after 30s (4 attempts)"),
        ("attempt 3 failed", "attempt 4 failed"),
    ],
)
def test_a_reason_is_the_same_whatever_its_figures_are(text: str, again: str) -> None:
    assert without_figures(text) == without_figures(again)


def test_partitions_nodes_and_offsets_are_no_figures() -> None:
    texts = [
        "t-1: node 1 is gone",
        "t-2: node 1 is gone",
        "t-1: node 2 is gone",
        "reached the end of the partition, offset 5",
        "at 10.0.0.1:9092",
    ]
    assert len({without_figures(text) for text in texts}) == len(texts)


def test_new_partition_is_left_out_while_grep_matches_nothing() -> None:
    assert waiting_words({TPS[0]: NEW}, filtered=3).text == "no records matched --grep or --jq"


SILENT = WaitReason(WaitKind.ANSWER, "no response from broker 3", node_id=3, started_at_ms=10_000)


def test_broker_without_a_response_is_reported_with_the_time_it_lasts() -> None:
    words = waiting_words({TPS[0]: AT_END, TPS[2]: SILENT}, now_ms=16_200)
    assert words.text == "t-2: no response from broker 3 for 6s; at the end of 1 of 2 partitions"
    assert (words.is_fault, words.started_at_ms) == (True, 10_000)
    assert words.key == waiting_words({TPS[0]: NEW, TPS[2]: SILENT}, now_ms=90_000).key, "the same fault"


def test_request_that_was_sent_just_now_is_no_fault() -> None:
    assert waiting_words({TPS[2]: SILENT}, now_ms=10_900) == WaitingWords()
