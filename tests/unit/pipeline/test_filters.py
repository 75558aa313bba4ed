"""What filters leave: topics, partitions, offsets and times, and what Spark has to look at again."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
)

from kctl.client.cluster import TopicPartition
from kctl.pipeline.ranges import MAX_OFFSET, Narrowing
from kctl.pipeline.source.filters import narrow

OFFSET, PARTITION, TOPIC, TIMESTAMP, VALUE = (("offset",), ("partition",), ("topic",), ("timestamp",), ("value",))
AT = datetime(2023, 11, 14, 22, 13, 20, 50_500, UTC)
AT_MS = 1_700_000_000_051
"""The first whole millisecond that is not before AT."""


@pytest.mark.parametrize(
    ("each", "left"),
    [
        (EqualTo(OFFSET, 7), Narrowing(start_offset=7, end_offset=8)),
        (GreaterThan(OFFSET, 7), Narrowing(start_offset=8)),
        (GreaterThanOrEqual(OFFSET, 7), Narrowing(start_offset=7)),
        (LessThan(OFFSET, 7), Narrowing(end_offset=7)),
        (LessThanOrEqual(OFFSET, 7), Narrowing(end_offset=8)),
        (EqualTo(PARTITION, 1), Narrowing(partitions=frozenset({1}))),
        (In(PARTITION, (1, 2)), Narrowing(partitions=frozenset({1, 2}))),
        (EqualTo(TOPIC, "t"), Narrowing(topics=frozenset({"t"}))),
        (IsNotNull(OFFSET), Narrowing()),
    ],
)
def test_taken_whole(each: Filter, left: Narrowing) -> None:
    assert narrow([each]) == (left, [])


@pytest.mark.parametrize(
    "each",
    [
        GreaterThan(TIMESTAMP, AT),
        GreaterThanOrEqual(TIMESTAMP, AT.astimezone(timezone(timedelta(hours=5)))),
        EqualTo(TIMESTAMP, AT),
    ],
)
def test_a_time_moves_the_start_and_is_looked_at_again(each: Filter) -> None:
    assert narrow([each]) == (Narrowing(since_ms=AT_MS), [each])


@pytest.mark.parametrize(
    "each",
    [
        LessThan(TIMESTAMP, AT),
        IsNull(OFFSET),
        IsNotNull(VALUE),
        EqualTo(VALUE, b"x"),
        Not(EqualTo(OFFSET, 7)),
        In(OFFSET, (7, 8)),
        GreaterThan(PARTITION, 1),
    ],
)
def test_not_taken(each: Filter) -> None:
    assert narrow([each]) == (Narrowing(), [each])


def test_several_hold_at_once() -> None:
    found, left = narrow(
        [
            GreaterThan(OFFSET, 5),
            LessThan(OFFSET, 9),
            GreaterThan(OFFSET, 3),
            In(PARTITION, (1, 2)),
            EqualTo(PARTITION, 2),
        ]
    )
    assert found == Narrowing(partitions=frozenset({2}), start_offset=6, end_offset=9)
    assert left == []
    assert found.takes(TopicPartition("any", 2))
    assert not found.takes(TopicPartition("any", 1))
    assert narrow([])[0] == Narrowing(None, None, 0, MAX_OFFSET, None)
