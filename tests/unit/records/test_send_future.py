"""SendFuture: not tracked by the collector where it is compiled, and the loops over many of them."""

import gc
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.client.errors import ConnectionLost, KafkaError
from kctl.client.records import Header, Outcome, SendFuture, complete_records, is_compiled, is_neighbour, rows_of

CONTENTS = st.none() | st.binary(max_size=8)
HEADERS = st.lists(st.tuples(st.text(max_size=3), CONTENTS), max_size=2).map(tuple)


def future(
    value: bytes | None = b"v",
    key: bytes | None = None,
    headers: Sequence[Header] = (),
    timestamp_ms: int = 1,
    *,
    topic: str = "t",
    partition: int = -1,
    created_at_ms: int = 5,
    callback: Any = None,
) -> SendFuture:
    return SendFuture(None, topic, partition, key, value, headers, timestamp_ms, created_at_ms, 100, callback)


def test_compiled_futures_are_not_looked_at_by_the_collector() -> None:
    assert gc.is_tracked(future()) is not is_compiled()


def test_completed_future_does_not_keep_its_producer() -> None:
    class Mailbox:
        def check_process(self) -> None: ...

    mailbox = Mailbox()
    kept = SendFuture(mailbox, "t", 0, None, b"v", (), 1, 5, 100, None)
    assert not kept.done()
    complete_records([kept], 0, 1, 0, 0, Outcome(base_offset=3))
    freed = weakref.ref(mailbox)
    del mailbox
    assert freed() is None
    assert kept.done()
    assert kept.result().offset == 3


def raise_exception(failed: SendFuture) -> None:
    error = failed.exception()
    assert error is not None
    raise error


@pytest.mark.parametrize("ask", [SendFuture.result, raise_exception])
def test_failed_future_keeps_nothing_of_those_who_caught_its_error(ask: Callable[[SendFuture], object]) -> None:
    outcome = Outcome(ConnectionLost("the broker went away"))

    def catch() -> weakref.ref[object]:
        at_hand = type("AtHand", (), {})()
        failed = future()
        failed.outcome = outcome
        with pytest.raises(KafkaError, match="the broker went away"):
            ask(failed)
        return weakref.ref(at_hand)

    caught = [catch() for _ in range(3)]
    gc.collect()
    assert [each() for each in caught] == [None] * 3
    assert outcome.error is not None
    assert outcome.error.__traceback__ is None


@given(st.lists(st.tuples(CONTENTS, CONTENTS, HEADERS, st.sampled_from([-1, 7, 8])), min_size=1, max_size=20))
def test_rows_of_futures_are_their_contents_in_order(
    records: list[tuple[bytes | None, bytes | None, tuple[Header, ...], int]],
) -> None:
    rows = rows_of([future(*each) for each in records])
    values, keys, headers, times = (list(column) for column in zip(*records, strict=True))
    assert rows.values == values
    assert rows.keys == (keys if any(key is not None for key in keys) else None)
    assert rows.headers == (headers if any(headers) else None)
    assert rows.timestamps_ms == (None if len(set(times)) == 1 else times)
    assert rows.timestamps_ms is not None or rows.timestamp_ms == times[0]


def test_neighbours_have_topic_and_partition_in_common() -> None:
    one = future(b"a")
    assert is_neighbour(one, future(b"b", timestamp_ms=9))
    assert not is_neighbour(one, future(topic="u"))
    assert not is_neighbour(one, future(partition=0))


def test_complete_records_completes_a_part_and_returns_the_watched_ones() -> None:
    futures = [future(callback=print if number == 2 else None) for number in range(5)]
    futures[3].waiters = []
    outcome = Outcome(base_offset=40)
    assert complete_records(futures, 1, 4, 7, 10, outcome) == [futures[2], futures[3]]
    assert [each.outcome for each in futures] == [None, outcome, outcome, outcome, None]
    assert [each.result().offset for each in futures[1:4]] == [50, 51, 52]
    assert [each.partition for each in futures] == [-1, 7, 7, 7, -1]
    assert futures[1].result().timestamp_ms == 1
