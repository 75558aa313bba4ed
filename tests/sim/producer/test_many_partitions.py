"""Batches of a producer with many partitions: they are full, regardless of the size of a loop iteration."""

import pytest

from kctl.client.clock import Timer
from kctl.client.producer.mailbox import FlushMark
from kctl.client.producer.sender import Sender
from tests.sim.kit import SimCluster, run
from tests.support.growth import lines_of

RECORDS = 20
EVENTS = 10
ROTATED = 1000
MOST_COST_OF_ROTATION = 1.3
"""Includes the batches of all partitions."""


def batches_sent(cluster: SimCluster, partitions: int, *, linger_ms: int) -> int:
    """Send records to all partitions in rotation over ready connections. Return the number of batches."""
    with cluster.producer({"linger.ms": linger_ms, "batch.size": 16_384}) as producer:
        for number in range(partitions):
            producer.send("t", b"first", partition=number)
        producer.flush()
        before = producer.metrics().batches_sent
        for number in range(RECORDS * partitions):
            producer.send("t", b"%d" % number, partition=number % partitions)
        producer.flush()
        assert [len(cluster.records(number)) for number in range(partitions)] == [RECORDS + 1] * partitions
        return producer.metrics().batches_sent - before


@pytest.mark.parametrize("linger_ms", [0, 5])
@pytest.mark.parametrize("partitions", [3, 40])
def test_records_of_a_partition_are_one_batch(partitions: int, linger_ms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sender, "EVENTS_PER_TURN", EVENTS)
    monkeypatch.setattr(Sender, "MOST_FILLING_EVENTS", RECORDS * partitions)
    run(lambda cluster: _assert_batches(cluster, partitions, linger_ms), topics={"t": partitions})


def _assert_batches(cluster: SimCluster, partitions: int, linger_ms: int) -> None:
    assert batches_sent(cluster, partitions, linger_ms=linger_ms) == partitions


def test_records_are_sent_before_more_are_taken_than_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sender, "EVENTS_PER_TURN", EVENTS)
    monkeypatch.setattr(Sender, "MOST_FILLING_EVENTS", 5 * 40)

    def use(cluster: SimCluster) -> None:
        assert batches_sent(cluster, 40, linger_ms=0) > 40

    run(use, topics={"t": 40})


@pytest.mark.parametrize("is_flushing", [False, True])
def test_batches_do_not_wait_until_all_records_of_another_partition_are_taken(
    is_flushing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records of one partition leave the mailbox as runs, and a flush waits for no record that is sent later."""
    monkeypatch.setattr(Sender, "EVENTS_PER_TURN", EVENTS)
    monkeypatch.setattr(Sender, "MOST_FILLING_EVENTS", (100 if is_flushing else 5) * EVENTS)

    def use(cluster: SimCluster) -> None:
        with cluster.producer({"linger.ms": 0}) as producer:
            for number in range(2):
                producer.send("t", b"first", partition=number)
            producer.flush()
            before = producer.metrics().batches_sent
            producer.send("t", b"cold", partition=1)
            if is_flushing:
                producer._mailbox.post(FlushMark(Timer(cluster.clock, 60_000), producer._driver.waiter()))
            for number in range(40 * EVENTS):
                producer.send("t", b"hot %d" % number, partition=0)
            producer.flush()
            assert producer.metrics().batches_sent - before > 2

    run(use, topics={"t": 2})


def test_partition_key_and_timestamp_cost_no_call_of_send() -> None:
    def use(cluster: SimCluster) -> None:
        with cluster.producer() as producer:
            producer.partitions_for("t")
            producer.send("t", b"first")
            plain = lines_of(lambda: producer.send("t", b"v"))
            assert lines_of(lambda: producer.send("t", b"v", b"k", 0, [], 7)) <= plain

    run(use, topics={"t": 1})


def test_records_in_rotation_cost_little_more_than_records_of_one_partition() -> None:
    def lines(partitions: int) -> int:
        found: list[int] = []

        def use(cluster: SimCluster) -> None:
            with cluster.producer({"linger.ms": 100}) as producer:
                for number in range(partitions):
                    producer.send("t", b"first", partition=number)
                producer.flush()

                def send() -> None:
                    for number in range(ROTATED):
                        producer.send("t", b"v", partition=number % partitions)
                    producer.flush()

                found.append(lines_of(send))

        run(use, topics={"t": partitions})
        return found[0]

    assert lines(ROTATED // 50) <= MOST_COST_OF_ROTATION * lines(1)
