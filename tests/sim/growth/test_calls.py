"""Growth of the cost of Consumer and Producer calls with partitions: lines, requests, and bytes."""

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import pytest

from kctl.client import Consumer, GroupMetadata, Producer, TopicPartition
from kctl.client.errors import KafkaError
from tests.sim.growth.command_table import FLAT, ONCE
from tests.sim.kit import SimCluster, drain
from tests.sim.virtual import Hub
from tests.support.growth import Cost, Exponents, cost_of, exponents_of, wrong_exponents

SIZE = 40
SETTLED_AFTER_S = 3
GROUP = GroupMetadata("g")
Partitions = Sequence[TopicPartition]
LOCAL = Exponents(1, 0, 0)
"""The call sends nothing itself."""


class Row(NamedTuple):
    """A call with all partitions.

    Attributes:
        name: the method or property.
        call: takes the client and the partitions.
        before: prepares the call; its cost does not count.
    """

    name: str
    call: Callable[[Any, Partitions], object]
    exponents: Exponents
    before: Callable[[Any, Partitions], object] = lambda _client, _partitions: None


def _each(function: Callable[[Any, TopicPartition], object]) -> Callable[[Any, Partitions], object]:
    return lambda client, partitions: [function(client, tp) for tp in partitions]


def _numbers(partitions: Partitions, number: int = 0) -> dict[TopicPartition, int]:
    return dict.fromkeys(partitions, number)


def _seek_all(consumer: Consumer, partitions: Partitions) -> None:
    for tp in partitions:
        consumer.seek(tp, 0)


def _poll_chunks(consumer: Consumer, partitions: Partitions) -> None:
    for _ in partitions:
        assert consumer.poll_chunk(5) is not None


def _send_all(producer: Producer, partitions: Partitions) -> None:
    for tp in partitions:
        producer.send("t", b"v", partition=tp.partition)


def _begin(producer: Producer, _partitions: Partitions) -> None:
    producer.init_transactions(10)
    producer.begin_transaction()


def _begin_and_send(producer: Producer, partitions: Partitions) -> None:
    _begin(producer, partitions)
    _send_all(producer, partitions)
    producer.flush(10)


def _send_in_transaction(producer: Producer, partitions: Partitions) -> None:
    with producer.transaction(timeout=10):
        _send_all(producer, partitions)


def _read_group(consumer: Consumer, partitions: Partitions) -> None:
    consumer.unsubscribe()
    consumer.subscribe(["t"])
    drain(consumer, len(partitions), timeout=20)


CONSUMER = (
    Row("assign", lambda c, tps: c.assign(reversed(tps)), LOCAL),
    Row("assignment", lambda c, _: c.assignment, LOCAL),
    Row("beginning_offsets", lambda c, tps: c.beginning_offsets(tps, 10), ONCE),
    Row("close", lambda c, _: c.close(10), LOCAL),
    Row("commit_async", lambda c, tps: c.commit_async(_numbers(tps)), LOCAL),
    Row("commit_sync", lambda c, tps: c.commit_sync(_numbers(tps), 10), ONCE),
    Row("committed", lambda c, tps: c.committed(tps, 10), ONCE),
    Row("current_lag", _each(lambda c, tp: c.current_lag(tp)), LOCAL),
    Row("end_offsets", lambda c, tps: c.end_offsets(tps, 10), ONCE),
    Row("enforce_rebalance", lambda c, _: c.enforce_rebalance(), FLAT, _read_group),
    Row("group_metadata", lambda c, _: c.group_metadata(), FLAT, _read_group),
    Row("lag", lambda c, _: c.lag(10), ONCE),
    Row("look_up_offsets", lambda c, tps: c.look_up_offsets(_numbers(tps)), LOCAL),
    Row("metrics", lambda c, _: c.metrics(), LOCAL),
    Row("offsets_for_times", lambda c, tps: c.offsets_for_times(_numbers(tps), 10), ONCE),
    Row("pause", lambda c, tps: c.pause(tps), LOCAL),
    Row("paused", lambda c, _: c.paused, LOCAL, lambda c, tps: c.pause(tps)),
    Row("poll", lambda c, tps: drain(c, len(tps)), ONCE, _seek_all),
    Row("poll_chunk", _poll_chunks, ONCE, _seek_all),
    Row("position", _each(lambda c, tp: c.position(tp, 10)), ONCE, lambda c, _: c.seek_to_end()),
    Row("positions", lambda c, _: c.positions(), LOCAL),
    Row("resume", lambda c, tps: c.resume(tps), LOCAL, lambda c, tps: c.pause(tps)),
    Row("seek", _seek_all, LOCAL),
    Row("seek_to_beginning", lambda c, _: c.seek_to_beginning(), LOCAL),
    Row("seek_to_committed", lambda c, _: c.seek_to_committed(), LOCAL),
    Row("seek_to_end", lambda c, _: c.seek_to_end(), LOCAL),
    Row("store_offsets", lambda c, tps: c.store_offsets(_numbers(tps)), LOCAL),
    Row("subscribe", lambda c, _: c.subscribe(["t"]), LOCAL, lambda c, _: c.unsubscribe()),
    Row("subscription", lambda c, _: c.subscription, FLAT, _read_group),
    Row("unassign", lambda c, tps: c.unassign(tps), LOCAL),
    Row("unsubscribe", lambda c, _: c.unsubscribe(), LOCAL),
    Row("waiting_for", lambda c, _: c.waiting_for(), LOCAL),
    Row("waiting_for_group", lambda c, _: c.waiting_for_group(), FLAT),
    Row("wakeup", lambda c, _: c.wakeup(), FLAT),
)
WITHOUT_PARTITIONS = (
    Row("client_instance_id", lambda c, _: _expect_error(lambda: c.client_instance_id(10)), FLAT),
    Row("list_topics", lambda c, _: c.list_topics(10), ONCE),
    Row("partitions_for", lambda c, _: c.partitions_for("t", 10), ONCE),
)
PRODUCER = (
    Row("close", lambda p, _: p.close(10), ONCE, _send_all),
    Row("created_topics", lambda p, _: p.created_topics, FLAT),
    Row("flush", lambda p, _: p.flush(10), ONCE, _send_all),
    Row("metrics", lambda p, _: p.metrics(), LOCAL, _send_all),
    Row("partitions_for", lambda p, _: p.partitions_for("t", 10), ONCE),
    Row("send", _send_all, ONCE, lambda p, _: p.partitions_for("t", 10)),
    Row("send_columns", lambda p, tps: p.send_columns("t", [b"v"] * len(tps)), ONCE),
)
TRANSACTIONAL = (
    Row("abort_transaction", lambda p, _: p.abort_transaction(10), ONCE, _begin_and_send),
    Row("begin_transaction", lambda p, _: p.begin_transaction(), FLAT, lambda p, _: p.init_transactions(10)),
    Row("commit_transaction", lambda p, _: p.commit_transaction(10), ONCE, _begin_and_send),
    Row("init_transactions", lambda p, _: p.init_transactions(10), FLAT),
    Row(
        "send_offsets_to_transaction",
        lambda p, tps: p.send_offsets_to_transaction(_numbers(tps), GROUP, 10),
        ONCE,
        _begin,
    ),
    Row("transaction", _send_in_transaction, ONCE, lambda p, _: p.init_transactions(10)),
)


def _expect_error(call: Callable[[], object]) -> None:
    with suppress(KafkaError):
        call()


Make = Callable[[SimCluster, Partitions], Any]


def _cost_at(make: Make, row: Row, n: int) -> Cost:
    partitions = [TopicPartition("t", number) for number in range(n)]
    with Hub(seed=3) as hub:
        cluster = SimCluster(hub, topics={"t": n})
        for tp in partitions:
            cluster.write(tp.partition, 1)

        def app() -> Cost:
            client = cluster.enter(make(cluster, partitions))
            row.before(client, partitions)
            return cost_of(cluster.network, lambda: row.call(client, partitions))

        return cluster.run(app)


def _consumer(cluster: SimCluster, partitions: Partitions) -> Consumer:
    """Return a consumer that has read all partitions and rests."""
    consumer = cluster.consumer(group_id="g", enable_auto_commit=False, enable_auto_offset_store=False)
    consumer.assign(partitions)
    drain(consumer, len(partitions))
    for _ in range(SETTLED_AFTER_S):
        assert consumer.poll(1) == []
    return consumer


def _new_consumer(cluster: SimCluster, _partitions: Partitions) -> Consumer:
    """Return a consumer without partitions: responses to its fetches do not count as responses to the call."""
    return cluster.consumer()


def _producer(cluster: SimCluster, _partitions: Partitions) -> Producer:
    return cluster.producer({"linger.ms": 5})


def _transactional(cluster: SimCluster, _partitions: Partitions) -> Producer:
    return cluster.producer({"transactional.id": "x"})


CLIENTS: tuple[tuple[Make, tuple[Row, ...]], ...] = (
    (_consumer, CONSUMER),
    (_new_consumer, WITHOUT_PARTITIONS),
    (_producer, PRODUCER),
    (_transactional, TRANSACTIONAL),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "row"),
    [(make, row) for make, rows in CLIENTS for row in rows],
    ids=lambda given: given.name if isinstance(given, Row) else given.__name__.strip("_"),
)
def test_cost_of_call_grows_as_its_row_says(make: Make, row: Row) -> None:
    _cost_at(make, row, SIZE)  # imports and caches
    costs = [_cost_at(make, row, SIZE * factor) for factor in (1, 2, 4)]
    assert wrong_exponents(exponents_of(costs), row.exponents) == {}, costs


@pytest.mark.parametrize(
    ("client", "rows"), [(Consumer, CONSUMER + WITHOUT_PARTITIONS), (Producer, PRODUCER + TRANSACTIONAL)]
)
def test_each_call_is_in_the_table(client: type, rows: tuple[Row, ...]) -> None:
    public = {name for name, _ in inspect.getmembers(client) if not name.startswith("_")}
    assert public == {row.name for row in rows}
