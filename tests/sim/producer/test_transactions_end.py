"""Ends of transactional producers in virtual time: fenced by a second instance or a rebalance, closed, or timed out.

Rule names are the invariants of the simulation: T5 records of a fenced instance never become visible, T7 legal calls
after errors.
"""

import contextlib

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import (
    AbortableTransactionError,
    CloseTimeout,
    CommitFailedError,
    DeliveryTimeout,
    FatalTransactionError,
    IllegalStateError,
    KafkaError,
    MaxBlockTimeout,
    TransactionAbortedError,
)
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster
from tests.sim.kit.transactions import (
    HANGS,
    NAME,
    T0,
    TIMEOUTS_MS,
    VERSIONS,
    committed,
    make,
    run_version,
    seen,
    transactional,
)

# --- fencing ----------------------------------------------------------------------------------------------------------


@VERSIONS
@pytest.mark.parametrize("call", ["commit", "abort", "offsets", "send"])
def test_a_second_instance_fences_the_first_and_nothing_of_it_becomes_visible(call: str, version: int) -> None:
    def app(cluster: SimCluster) -> None:
        first = transactional(cluster)
        first.begin_transaction()
        first.send("t", b"of the first").result()
        second = transactional(cluster)
        second.begin_transaction()
        second.send("t", b"of the second").result()
        if call == "send":
            assert first.send("t", b"late").exception() is not None
        with pytest.raises((FatalTransactionError, AbortableTransactionError)):
            make(first, "commit" if call == "send" else call, 10_000)
        if call != "send":
            with pytest.raises(FatalTransactionError):  # T7: only close() is left
                first.begin_transaction()
            with pytest.raises(FatalTransactionError):
                first.send("t", b"late")
        first.close()
        second.commit_transaction()
        second.close()
        assert seen(cluster) == [b"of the second"]  # T5

    run_version(version, app)


@VERSIONS
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_that_lost_its_partitions_cannot_commit_their_offsets(protocol: str, version: int) -> None:
    """KIP-447: the generation says who may commit; a rebalance fences as a second instance does."""

    def app(cluster: SimCluster) -> None:
        properties = {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "g",
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
        first, second = Consumer(properties, cluster.runtime), Consumer(properties, cluster.runtime)
        first.subscribe(["in"])
        while not first.assignment:
            first.poll(timeout=1)
        member = first.group_metadata()
        assert member.member_id
        producer = transactional(cluster)
        producer.begin_transaction()
        producer.send("t", b"x")
        producer.send_offsets_to_transaction({T0: 1}, member)  # still a member
        first.close()
        second.subscribe(["in"])
        while not second.assignment:
            second.poll(timeout=1)
        with pytest.raises(AbortableTransactionError) as caught:
            producer.send_offsets_to_transaction({T0: 2}, member)
        assert isinstance(caught.value.cause, CommitFailedError)
        producer.abort_transaction()
        producer.begin_transaction()
        producer.send("t", b"y")
        producer.send_offsets_to_transaction({T0: 3}, second.group_metadata())
        producer.commit_transaction()
        producer.close()
        second.close()
        assert (seen(cluster), committed(cluster)) == ([b"y"], 3)

    run_version(version, app, topics={"t": 1, "in": 1})


@VERSIONS
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_block_that_outlasts_max_poll_interval_is_fenced(protocol: str, version: int) -> None:
    def app(cluster: SimCluster) -> None:
        properties = {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "g",
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
        slow = Consumer({**properties, "max.poll.interval.ms": 10_000}, cluster.runtime)
        other = Consumer(properties, cluster.runtime)
        slow.subscribe(["in"])
        while not slow.assignment:
            slow.poll(timeout=1)
        slow.seek(TopicPartition("in", 0), 1)
        producer = transactional(cluster)

        def copy() -> None:
            with producer.transaction(slow):
                producer.send("t", b"x")
                cluster.hub.sleep_ms(11_000)
                other.subscribe(["in"])
                while not other.assignment:
                    other.poll(timeout=1)

        with pytest.raises(AbortableTransactionError) as caught:
            copy()
        assert isinstance(caught.value.cause, CommitFailedError)
        slow.poll(timeout=0)
        assert slow.assignment == []
        with pytest.raises(AbortableTransactionError), producer.transaction():
            producer.send_offsets_to_transaction({TopicPartition("in", 0): 1}, slow.group_metadata())
        slow.unsubscribe()
        assert (slow.group_metadata().member_id, slow.group_metadata().generation) == ("", -1)
        producer.close()
        slow.close()
        other.close()
        assert (seen(cluster), committed(cluster)) == ([], None)

    run_version(version, app, topics={"t": 1, "in": 1})


# --- abort with batches in flight -------------------------------------------------------------------------------------


@VERSIONS
@pytest.mark.parametrize(
    ("code", "times"),
    [(ErrorCode.INVALID_RECORD, 1), (ErrorCode.UNKNOWN_PRODUCER_ID, 2), (ErrorCode.INVALID_PRODUCER_EPOCH, 2)],
)
def test_sequence_lost_during_an_abort_does_not_repeat_numbers_of_the_epoch(
    code: ErrorCode, times: int, version: int
) -> None:
    """After INVALID_RECORD, the broker rejects the second record as out of order."""

    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster, {"linger.ms": 0})
        for value in (b"first", b"second"):
            producer.begin_transaction()
            producer.send("t", value)
            producer.commit_transaction()
        producer.begin_transaction()
        producer.send("t", b"aborted").result()
        leader = cluster.leader(0)
        cluster.sandbox.fail_requests("Produce", code, times=times, node_id=leader)
        cluster.sandbox.start_fault(leader, Fault.FREEZE)
        for value in (b"rejected", b"behind it"):
            producer.send("t", value)
            cluster.hub.sleep_ms(10)
        cluster.at(10, lambda: cluster.sandbox.stop_fault(leader, Fault.FREEZE))
        producer.abort_transaction()
        for value in (b"third", b"fourth"):
            producer.begin_transaction()
            producer.send("t", value)
            producer.commit_transaction()
        producer.close()
        assert seen(cluster) == [b"first", b"second", b"third", b"fourth"]

    run_version(version, app, topics={"t": 1})


@VERSIONS
def test_abort_between_the_rejections_of_two_batches_leaves_no_gap_in_sequence_numbers(version: int) -> None:
    """Another partition begins the next transaction."""

    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster, {"linger.ms": 0, "batch.size": 1})
        producer.begin_transaction()
        producer.send("t", b"aborted", partition=0).result()
        cluster.sandbox.fail_requests("Produce", ErrorCode.NOT_ENOUGH_REPLICAS, times=2)
        for _ in range(2):
            producer.send("t", b"rejected", partition=0)
            cluster.hub.sleep_ms(1)
        producer.abort_transaction()
        producer.begin_transaction()
        producer.send("t", b"other", partition=1).result()
        producer.send("t", b"next", partition=0).result()
        producer.commit_transaction()
        producer.close()
        assert set(seen(cluster)) == {b"next", b"other"}

    run_version(version, app, topics={"t": 2})


@VERSIONS
def test_abort_after_a_record_expired_in_flight_does_not_delay_the_next_transaction(version: int) -> None:
    """With version 1, the abort waits for the batch: Kafka before 3.6 would append it after the end."""

    def app(cluster: SimCluster) -> None:
        properties = {"delivery.timeout.ms": 1000, "request.timeout.ms": 1000, "retry.backoff.ms": 500, "linger.ms": 0}
        leader = cluster.leader(0)
        cluster.sandbox.move_transaction_coordinator(NAME, leader % 3 + 1)
        producer = transactional(cluster, properties)
        producer.begin_transaction()
        producer.send("t", b"first").result()
        cluster.sandbox.fail_requests("Produce", ErrorCode.NOT_ENOUGH_REPLICAS, node_id=leader)
        producer.send("t", b"retried", callback=lambda _: cluster.sandbox.start_fault(leader, Fault.FREEZE))
        cluster.hub.sleep_ms(100)
        expired = producer.send("t", b"expired in its first attempt")
        assert isinstance(expired.exception(), DeliveryTimeout)
        cluster.at(200, lambda: cluster.sandbox.stop_fault(leader, Fault.FREEZE))
        abort_ms = cluster.elapsed_ms(producer.abort_transaction)
        assert (abort_ms >= 200) == (version == 1)
        producer.begin_transaction()
        for value in (b"next", b"behind it"):
            producer.send("t", value)
            cluster.hub.sleep_ms(10)
        assert cluster.elapsed_ms(producer.commit_transaction) < 500
        producer.close()
        assert seen(cluster) == [b"next", b"behind it"]

    run_version(version, app, topics={"t": 1})


# --- close ------------------------------------------------------------------------------------------------------------


@VERSIONS
def test_close_aborts_an_open_transaction_and_tells(version: int) -> None:
    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster, {"linger.ms": 20_000})
        producer.begin_transaction()
        sent = producer.send("t", b"sent", partition=0)
        producer.flush()
        waiting = producer.send("t", b"waiting", partition=0)
        result = producer.close(5)
        assert (result.delivered, result.undelivered, result.aborted, result.transaction) == (0, 0, 2, "aborted")
        assert sent.exception() is None
        assert isinstance(waiting.exception(), TransactionAbortedError)
        assert seen(cluster) == []
        assert cluster.sandbox.cluster.topics["t"].partitions[0].log.last_stable_offset == 2  # record and marker

    run_version(version, app)


@VERSIONS
def test_account_of_the_close_has_records_of_aborted_transactions_as_aborted(version: int) -> None:
    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster)
        for number in range(3):
            producer.begin_transaction()
            for _ in range(number + 1):
                producer.send("t", b"sent", partition=0)
            if number == 1:
                producer.flush()
                producer.send("t", b"waiting", partition=1)
                producer.abort_transaction()
            else:
                producer.commit_transaction()
        result = producer.close(5)
        assert (result.delivered, result.undelivered, result.aborted, result.transaction) == (4, 0, 3, None)
        parts = {tp.partition: (part.delivered, part.aborted) for tp, part in result.partitions.items()}
        assert parts == {0: (4, 2), 1: (0, 1)}
        assert result.partitions[TopicPartition("t", 0)].last_offset == 7  # 1 record, marker, 2, marker, 3

    run_version(version, app, topics={"t": 2})


@VERSIONS
def test_transaction_of_a_fenced_producer_is_aborted_and_not_open(version: int) -> None:
    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster)
        producer.begin_transaction()
        producer.send("t", b"x").result()
        newer = transactional(cluster)
        with pytest.raises(FatalTransactionError, match="PRODUCER_FENCED"):
            producer.commit_transaction()
        result = producer.close()
        assert (result.delivered, result.undelivered, result.aborted, result.transaction) == (0, 0, 1, "aborted")
        newer.close()

    run_version(version, app)


@VERSIONS
@pytest.mark.parametrize("fault", HANGS)
@pytest.mark.parametrize("timeout_ms", TIMEOUTS_MS)
@pytest.mark.parametrize("is_committing", [False, True])
def test_close_ends_by_its_deadline_whatever_is_open(
    timeout_ms: int, fault: Fault, version: int, *, is_committing: bool
) -> None:
    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster)
        producer.begin_transaction()
        producer.send("t", b"x").result()
        cluster.break_all(fault)
        if is_committing:
            with contextlib.suppress(MaxBlockTimeout):
                producer.commit_transaction(0.05)
        before_ms = cluster.clock.now_ms()
        result = producer.close(timeout_ms / 1000)
        assert cluster.clock.now_ms() - before_ms == timeout_ms
        assert result.transaction == ("unknown" if is_committing else "open")

    run_version(version, app)


@VERSIONS
def test_close_of_a_transaction_that_no_broker_knows_of_waits_for_nothing(version: int) -> None:
    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster)
        producer.begin_transaction()
        future = producer.send("t", b"never sent")
        before_ms = cluster.hub.now_ms
        result = producer.close(5)
        assert cluster.hub.now_ms - before_ms < 100
        assert result.transaction == "aborted"
        assert isinstance(future.exception(0), TransactionAbortedError)

    run_version(version, app)


@VERSIONS
def test_close_with_zero_sends_nothing(version: int) -> None:
    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster)
        producer.begin_transaction()
        producer.send("t", b"x").result()
        lost = producer.send("t", b"y")
        result = producer.close(0)
        assert (result.delivered, result.transaction) == (1, "open")
        assert isinstance(lost.exception(), CloseTimeout | IllegalStateError | TransactionAbortedError)
        cluster.hub.sleep_ms(1000)
        assert seen(cluster) == []
        log = cluster.sandbox.cluster.topics["t"].partitions[0].log
        assert (log.end_offset, log.last_stable_offset) == (1, 0)  # neither a record nor a marker followed

    run_version(version, app)


@VERSIONS
def test_a_call_under_way_ends_when_another_thread_closes(version: int) -> None:
    outcomes: list[KafkaError | None] = []

    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster)
        producer.begin_transaction()
        producer.send("t", b"x").result()
        cluster.break_all(Fault.FREEZE)

        def commit() -> None:
            try:
                producer.commit_transaction()
            except KafkaError as error:
                outcomes.append(error)

        cluster.hub.spawn("other", commit)
        cluster.hub.sleep_ms(100)
        before_ms = cluster.clock.now_ms()
        assert producer.close(1).transaction == "unknown"
        assert cluster.clock.now_ms() - before_ms == 1000
        cluster.hub.sleep_ms(1)

    run_version(version, app)
    assert isinstance(outcomes[0], IllegalStateError)


@VERSIONS
def test_a_transaction_open_for_too_long_is_aborted_by_the_broker_and_only_close_is_left(version: int) -> None:
    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster, {"transaction.timeout.ms": 4000})
        producer.begin_transaction()
        producer.send("t", b"x").result()
        cluster.hub.sleep_ms(5000)
        with pytest.raises(FatalTransactionError, match="PRODUCER_FENCED" if version == 1 else "INVALID_TXN_STATE"):
            producer.commit_transaction()
        producer.close()
        with transactional(cluster) as second:
            second.begin_transaction()
            second.send("t", b"y")
            second.commit_transaction()
        assert seen(cluster) == [b"y"]

    run_version(version, app)
