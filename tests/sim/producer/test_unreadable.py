"""Unreadable responses: requests may have been executed, so they are retried, and no record is lost or duplicated.

The response ends the connection, and fails every request in flight on it. A response with extra bytes is read.
"""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import BrokerError, ConnectionLost, DeliveryTimeout, RemoteProtocolError
from kctl.sandbox.apis import produce
from tests.sim.chaos.damages import CHANGES, UNREADABLE, with_surplus
from tests.sim.kit import SimCluster, run
from tests.sim.kit.transactions import GROUP, T0, VERSIONS, committed, run_version, seen, transactional
from tests.sim.producer.test_delivery import numbers

EACH_DAMAGE = pytest.mark.parametrize("how", range(len(CHANGES)))


def damage(cluster: SimCluster, how: int) -> None:
    """Damage the next response on each connection."""
    for connection in cluster.network.connections_of():
        connection.damage(CHANGES[how])


@EACH_DAMAGE
@pytest.mark.parametrize("window", [1, 5])
def test_records_behind_an_unreadable_answer_are_delivered_once_and_in_order(how: int, window: int) -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"max.in.flight.requests.per.connection": window})
        producer.send("t", b"0").result()
        damage(cluster, how)
        futures = []
        for number in range(1, 7):
            futures.append(producer.send("t", b"%d" % number))
            cluster.hub.sleep_ms(1)
        assert [future.result().offset for future in futures] == list(range(1, 7))
        assert producer.close()[:3] == (7, 0, 0)

    assert run(app).values(0) == numbers(7)


def test_sequence_numbers_of_a_batch_answered_with_a_code_that_produce_does_not_have_are_not_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The batch is in the log: the next one with its numbers would count as delivered and be in no log."""
    code = ErrorCode.REBALANCE_IN_PROGRESS
    monkeypatch.setattr(produce, "_WRITTEN_ALL_THE_SAME", (code,))

    def app(cluster: SimCluster) -> None:
        producer = cluster.producer()
        producer.send("t", b"0").result()
        cluster.sandbox.fail_requests("Produce", code)
        error = producer.send("t", b"1").exception()
        assert isinstance(error, BrokerError)
        assert error.code == code
        assert producer.send("t", b"2").result().offset == 2
        assert producer.close()[:3] == (2, 0, 1)

    assert run(app).values(0) == numbers(3)


@pytest.mark.parametrize("how", range(len(UNREADABLE)))
def test_unreadable_answers_without_end_leave_the_record_unknown_at_its_deadline(how: int) -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"delivery.timeout.ms": 3000, "request.timeout.ms": 1000, "linger.ms": 0})
        producer.send("t", b"0").result()

        def again() -> None:
            damage(cluster, how)
            if cluster.clock.now_ms() < end_ms:
                cluster.at(1, again)

        sent_at_ms = cluster.clock.now_ms()
        end_ms = sent_at_ms + 3000
        again()
        future = producer.send("t", b"1")
        error = future.exception()
        assert cluster.clock.now_ms() == end_ms
        assert isinstance(error, DeliveryTimeout)
        assert isinstance(error.cause, ConnectionLost)
        assert isinstance(error.cause.__cause__, RemoteProtocolError)
        assert producer.close(1)[:3] == (1, 0, 1)

    assert run(app).values(0) == numbers(2)


def test_an_answer_with_bytes_after_its_end_is_read() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"linger.ms": 0})
        producer.send("t", b"0").result()
        damage(cluster, CHANGES.index(with_surplus))
        sent_at_ms = cluster.clock.now_ms()
        assert producer.send("t", b"1").result().offset == 1
        assert cluster.clock.now_ms() - sent_at_ms == 2, "one round trip: nothing is sent again"
        producer.close()

    assert run(app).values(0) == numbers(2)


def test_unreadable_producer_id_is_asked_for_again() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer()
        producer.partitions_for("t")
        damage(cluster, 0)
        assert producer.send("t", b"0").result().offset == 0
        producer.close()

    run(app)


@EACH_DAMAGE
@VERSIONS
@pytest.mark.parametrize("call", ["send", "offsets", "commit", "abort"])
def test_transaction_survives_an_unreadable_answer(how: int, version: int, call: str) -> None:
    """Damage comes just before the call, so it hits AddPartitions, Produce, TxnOffsetCommit or EndTxn."""

    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster)
        for number in range(3):  # later calls work as before
            producer.begin_transaction()
            if call == "send":
                damage(cluster, how)
            futures = [producer.send("t", b"%d" % number) for _ in range(2)]
            if call != "send":
                futures[0].result()
            if call == "offsets":
                damage(cluster, how)
            producer.send_offsets_to_transaction({T0: number}, GROUP, 5)
            if call in ("commit", "abort"):
                damage(cluster, how)
            before_ms = cluster.clock.now_ms()
            if call == "abort":
                producer.abort_transaction(5)
            else:
                producer.commit_transaction(5)
            assert cluster.clock.now_ms() - before_ms < 2000
        producer.close()
        assert seen(cluster) == ([] if call == "abort" else [b"0", b"0", b"1", b"1", b"2", b"2"])
        assert committed(cluster, T0) == (None if call == "abort" else 2)

    run_version(version, app)
