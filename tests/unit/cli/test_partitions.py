"""The grammar of -p, and where reading starts."""

from collections.abc import Sequence
from typing import ClassVar, cast

import pytest

from kctl.cli.failures import CommandError
from kctl.cli.offsets import Absolute, AtTime, Edge, Last, Position
from kctl.cli.partitions import choose_partitions, find_starts, parse_partitions
from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.events import OffsetAndTimestamp


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], []),
        (["0"], [0]),
        (["2,0"], [0, 2]),
        (["2-4"], [2, 3, 4]),
        (["1", "0-2", "5"], [0, 1, 2, 5]),
        ([" 1 , 2 "], [1, 2]),
    ],
)
def test_reads(texts: list[str], expected: list[int]) -> None:
    assert parse_partitions(texts) == expected


@pytest.mark.parametrize("text", ["", "x", "-1", "1-", "4-2", "0-100000", "1,,2", "1.5", "9999999999"])
def test_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        parse_partitions([text])


class Answers:
    """What a consumer answers about a topic with three partitions: 5 to 9, 0 to 1, and none."""

    BEGINNINGS: ClassVar = {TopicPartition("t", 0): 5, TopicPartition("t", 1): 0, TopicPartition("t", 2): 3}
    ENDS: ClassVar = {TopicPartition("t", 0): 10, TopicPartition("t", 1): 2, TopicPartition("t", 2): 3}

    def beginning_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {tp: self.BEGINNINGS[tp] for tp in partitions}

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {tp: self.ENDS[tp] for tp in partitions}

    def offsets_for_times(
        self, timestamps_ms: dict[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        found = dict.fromkeys(timestamps_ms) | {TopicPartition("t", 0): OffsetAndTimestamp(7, 100)}
        return {tp: found[tp] for tp in timestamps_ms}

    def partitions_for(self, topic: str) -> list[PartitionInfo]:
        return [PartitionInfo(topic, number, leader_id=1) for number in range(3)]


def _consumer() -> Consumer:
    return cast(Consumer, Answers())


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        (Edge.START, [5, 0, 3]),
        (Edge.END, [10, 2, 3]),
        (Absolute(7), [7, 2, 3]),
        (Absolute(1), [5, 1, 3]),
        (Last(1), [9, 1, 3]),
        (Last(100), [5, 0, 3]),
        (AtTime(50), [7, 2, 3]),
    ],
)
def test_starts(position: Position, expected: list[int]) -> None:
    starts = find_starts(_consumer(), list(Answers.ENDS), position, lambda _: None)
    assert list(starts.values()) == expected


def test_an_offset_that_is_moved_is_told() -> None:
    notes: list[str] = []
    find_starts(_consumer(), list(Answers.ENDS), Absolute(1), notes.append)
    assert notes == [
        "t-0 has no offset 1, only 5 to 9; starting at 5",
        "t-2 has no offset 1, it is empty; starting at 3",
    ]


def test_partitions_are_chosen_for_each_topic_once() -> None:
    assert choose_partitions(_consumer(), ["b", "a", "b"], []) == [
        TopicPartition(topic, number) for topic in "ba" for number in range(3)
    ]
    assert choose_partitions(_consumer(), ["a"], [2]) == [TopicPartition("a", 2)]
    with pytest.raises(CommandError, match="topic a has no partition 3, 9"):
        choose_partitions(_consumer(), ["a"], [2, 3, 9])
