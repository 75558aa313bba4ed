"""Which partitions `-p` names and a consumer reads."""

from typing import cast

import pytest

from kctl.cli.consume.partitions import choose_partitions
from kctl.cli.failures import CommandError
from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.grammar.offset_grammar import parse_offset
from kctl.grammar.topics import parse_partitions, parse_topics


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
    """What a consumer answers: every topic it is asked for has three partitions."""

    def partitions_for(self, topic: str, _timeout: float | None = None) -> list[PartitionInfo]:
        return [PartitionInfo(topic, number, leader_id=1) for number in range(3)]

    def list_topics(self, _timeout: float | None = None) -> dict[str, list[PartitionInfo]]:
        return {topic: self.partitions_for(topic) for topic in ("ab", "ac", "b")}


def _choose(*words: str, wanted: tuple[int, ...] = (), specs: tuple[str, ...] = ()) -> list[TopicPartition]:
    consumer = cast(Consumer, Answers())
    return choose_partitions(consumer, parse_topics(words), wanted, [parse_offset(text, 0) for text in specs])


def test_partitions_are_chosen_for_each_topic_once() -> None:
    assert _choose("b", "a", "b") == [TopicPartition(topic, number) for topic in "ba" for number in range(3)]
    assert _choose("a", wanted=(2,)) == [TopicPartition("a", 2)]
    with pytest.raises(CommandError, match="topic a has no partition 3, 9"):
        _choose("a", wanted=(2, 3, 9))


def test_patterns_choose_among_what_is_there() -> None:
    assert _choose("/a./", "b", wanted=(0,)) == [TopicPartition(topic, 0) for topic in ("b", "ab", "ac")]
    with pytest.raises(CommandError, match="no topic matches /x/"):
        _choose("/x/")
    assert choose_partitions(cast(Consumer, Answers()), parse_topics(["/x/"]), (), may_be_none=True) == []


def test_an_offset_for_a_partition_that_is_not_read() -> None:
    assert len(_choose("a", specs=("0-9=5",))) == 3
    with pytest.raises(CommandError, match="-o 3-9=5 does not match any partition to read"):
        _choose("a", specs=("0=1", "3-9=5"))
