"""Transactions in virtual time: all or nothing for readers of committed records, and calls by their deadline.

Rule names are the invariants of the simulation: T1 aborted values are never read, T2 no value is read before its
commit, T3 all or nothing, T5 fenced, T7 legal calls after errors, T8 late ends of older transactions.
"""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import (
    AbortableTransactionError,
    BrokerError,
    DeliveryTimeout,
    IllegalStateError,
    KafkaError,
    MaxBlockTimeout,
    RecordTooLargeError,
    TransactionAbortedError,
)
from kctl.client.producer import Producer, SendFuture
from kctl.client.protocol.api.transactions import EndTxnRequest, EndTxnResponse
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster
from tests.sim.kit.transactions import (
    GROUP,
    HANGS,
    NAME,
    T0,
    TIMEOUTS_MS,
    VERSIONS,
    committed,
    coordinator,
    make,
    run_version,
    seen,
    transactional,
)
from tests.sim.sandbox.peer import SimPeer

# --- all or nothing ---------------------------------------------------------------------------------------------------


@VERSIONS
def test_only_what_was_committed_is_seen(version: int) -> None:
    def app(cluster: SimCluster) -> None:
        with transactional(cluster) as producer:
            producer.begin_transaction()
            for number in range(4):
                producer.send("t", b"1%d" % number, partition=number % 2)
            assert seen(cluster) == []  # T2
            producer.commit_transaction()
            assert sorted(seen(cluster)) == [b"10", b"11", b"12", b"13"]  # type: ignore[type-var]  # none of them is None
            producer.begin_transaction()
            aborted = [producer.send("t", b"2%d" % number, partition=number % 2) for number in range(4)]
            producer.flush()
            producer.abort_transaction()
            assert all(future.exception() is None for future in aborted)
            producer.begin_transaction()
            producer.send("t", b"30", partition=0)
            producer.commit_transaction()
        assert sorted(seen(cluster)) == [b"10", b"11", b"12", b"13", b"30"]  # type: ignore[type-var]  # T1, T3
        assert len(seen(cluster, isolation="read_uncommitted")) == 9

    run_version(version, app, topics={"t": 2})


@VERSIONS
def test_offsets_count_when_the_transaction_commits(version: int) -> None:
    def app(cluster: SimCluster) -> None:
        with transactional(cluster) as producer:
            producer.begin_transaction()
            producer.send_offsets_to_transaction({T0: 5}, GROUP)
            producer.abort_transaction()
            assert committed(cluster) is None
            producer.begin_transaction()
            producer.send("t", b"x")
            producer.send_offsets_to_transaction({T0: 7}, GROUP)
            producer.commit_transaction()
            assert committed(cluster) == 7

    run_version(version, app)


@VERSIONS
def test_commit_sends_what_lingers(version: int) -> None:
    def app(cluster: SimCluster) -> None:
        with transactional(cluster, {"linger.ms": 20_000}) as producer:
            producer.begin_transaction()
            futures = [producer.send("t", b"%d" % number) for number in range(100)]
            before_ms = cluster.clock.now_ms()
            producer.commit_transaction()
            assert cluster.clock.now_ms() - before_ms < 50
            assert all(future.done() for future in futures)
        assert len(seen(cluster)) == 100

    run_version(version, app)


@VERSIONS
def test_abort_does_not_send_waiting_records(version: int) -> None:
    def app(cluster: SimCluster) -> None:
        with transactional(cluster, {"linger.ms": 20_000}) as producer:
            producer.begin_transaction()
            future = producer.send("t", b"x")
            producer.abort_transaction()
            assert isinstance(future.exception(), TransactionAbortedError)
        assert seen(cluster, isolation="read_uncommitted") == []

    run_version(version, app)


# --- legal calls ------------------------------------------------------------------------------------------------------


def test_records_need_an_open_transaction_and_calls_no_callback() -> None:
    refused: list[KafkaError] = []

    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster)
        with pytest.raises(IllegalStateError, match=r"call begin_transaction\(\) first"):
            producer.send("t", b"x")

        def commit(_: SendFuture) -> None:
            try:
                producer.commit_transaction()
            except IllegalStateError as error:
                refused.append(error)

        producer.begin_transaction()
        producer.send("t", b"x", callback=commit)
        producer.commit_transaction()
        producer.close()
        for call in (producer.begin_transaction, producer.commit_transaction, producer.abort_transaction):
            with pytest.raises(IllegalStateError, match="closed"):
                call()

    run_version(2, app)
    assert "callbacks must not call commit_transaction()" in str(refused[0])


def test_without_a_transactional_id_there_are_no_transactions() -> None:
    def app(cluster: SimCluster) -> None:
        with cluster.producer() as producer, pytest.raises(IllegalStateError, match=r"transactional\.id"):
            producer.init_transactions()

    run_version(2, app)


@VERSIONS
def test_a_record_that_is_not_accepted_keeps_the_transaction_from_committing(version: int) -> None:
    def app(cluster: SimCluster) -> None:
        with transactional(cluster, {"max.request.size": 1000}) as producer:
            producer.begin_transaction()
            producer.send("t", b"small")
            with pytest.raises(RecordTooLargeError):
                producer.send("t", bytes(2000))
            with pytest.raises(AbortableTransactionError, match=r"max\.request\.size"):
                producer.commit_transaction()
            with pytest.raises(AbortableTransactionError):  # T7
                producer.send("t", b"another")
            producer.abort_transaction()
            producer.begin_transaction()
            producer.send("t", b"next")
            producer.commit_transaction()
        assert seen(cluster) == [b"next"]

    run_version(version, app)


@VERSIONS
@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ],
)
def test_after_a_refused_record_the_transaction_is_aborted_and_the_next_one_is_whole(
    code: ErrorCode, version: int
) -> None:
    def app(cluster: SimCluster) -> None:
        with transactional(cluster) as producer:
            producer.begin_transaction()
            producer.send("t", b"first", partition=0).result()
            cluster.sandbox.fail_requests("Produce", code, times=1)
            lost = producer.send("t", b"lost", partition=1)
            with pytest.raises(AbortableTransactionError) as caught:
                producer.commit_transaction()
            assert isinstance(caught.value.cause, BrokerError)
            assert caught.value.cause.code == code
            assert lost.exception() is not None
            cluster.sandbox.heal()
            producer.abort_transaction()
            producer.begin_transaction()
            for partition in (0, 1):
                producer.send("t", b"next", partition=partition)
            producer.commit_transaction()
        assert seen(cluster) == [b"next", b"next"]

    run_version(version, app, topics={"t": 2})


@VERSIONS
def test_a_record_that_another_thread_sends_too_late_is_refused_and_harms_nothing(version: int) -> None:
    """Between its look and the loop another thread commits: the record is not part of any transaction."""
    accepted: list[SendFuture] = []

    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster)
        producer.begin_transaction()
        first = producer.send("t", b"in time")

        def late() -> None:  # its look was in time, and the commit came first
            event = SendFuture(producer._mailbox, "t", 0, None, b"too late", (), 0, cluster.clock.now_ms(), 100, None)
            assert producer._memory.try_acquire(event)
            producer._mailbox.post_record(event)
            accepted.append(event)

        cluster.hub.call_later_ms(1, "another thread", late)
        producer.commit_transaction()
        cluster.hub.sleep_ms(10)
        assert first.exception() is None
        assert isinstance(accepted[0].exception(), IllegalStateError)
        producer.begin_transaction()
        producer.send("t", b"next")
        producer.commit_transaction()
        producer.close()
        assert seen(cluster) == [b"in time", b"next"]

    run_version(version, app)


@VERSIONS
def test_flush_after_an_abort_does_not_report_its_lost_records(version: int) -> None:
    def app(cluster: SimCluster) -> None:
        with transactional(cluster, {"linger.ms": 20_000}) as producer:
            producer.begin_transaction()
            producer.send("t", b"aborted")
            producer.abort_transaction()
            producer.begin_transaction()
            producer.send("t", b"next")
            producer.flush()
            producer.commit_transaction()
        assert seen(cluster) == [b"next"]

    run_version(version, app)


# --- limits -----------------------------------------------------------------------------------------------------------


def _timeout(producer: Producer, call: str, timeout_ms: int) -> MaxBlockTimeout | None:
    try:
        make(producer, call, timeout_ms)
    except MaxBlockTimeout as error:
        return error
    return None


SAYS = {
    "init": "coordinator",
    "offsets": "coordinator",
    "commit": "the broker aborts the transaction in",
    "abort": "the broker aborts the transaction in",
}


@VERSIONS
@pytest.mark.parametrize("fault", [*HANGS, Fault.BLACKHOLE, Fault.RESET_ON_REQUEST, Fault.DROP_RESPONSES])
@pytest.mark.parametrize("timeout_ms", TIMEOUTS_MS)
@pytest.mark.parametrize("call", list(SAYS))
def test_each_call_ends_by_its_deadline_and_goes_on_when_it_is_made_again(
    call: str, timeout_ms: int, fault: Fault, version: int
) -> None:
    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster, is_ready=call != "init")
        if call != "init":
            producer.begin_transaction()
            producer.send("t", b"x").result()
        cluster.break_all(fault)
        before_ms = cluster.clock.now_ms()
        error = _timeout(producer, call, timeout_ms)
        if error is not None:
            assert cluster.clock.now_ms() - before_ms == error.elapsed_ms == timeout_ms
            assert SAYS[call] in str(error)
            assert sum(int(entry.split()[-2]) for entry in error.time_breakdown) == timeout_ms
        else:
            assert fault is Fault.BLACKHOLE  # connections that are there live on
        cluster.sandbox.heal()
        if error is not None:
            assert _timeout(producer, call, 60_000) is None
        if call == "offsets":
            producer.commit_transaction()
        result = producer.close()
        assert result.transaction is None
        assert seen(cluster) == ([] if call in ("init", "abort") else [b"x"])
        assert committed(cluster) == (7 if call == "offsets" else None)

    run_version(version, app)


@VERSIONS
def test_a_leader_that_hangs_ends_the_commit_by_delivery_timeout_and_nothing_is_seen(version: int) -> None:
    def app(cluster: SimCluster) -> None:
        properties = {"delivery.timeout.ms": 3000, "request.timeout.ms": 2000, "linger.ms": 0}
        producer = transactional(cluster, properties)
        producer.begin_transaction()
        producer.send("t", b"ok", partition=0).result()
        leader_id = cluster.leader(1)
        cluster.sandbox.move_transaction_coordinator(NAME, leader_id % 3 + 1)
        before_ms = cluster.clock.now_ms()
        cluster.sandbox.start_fault(leader_id, Fault.FREEZE)
        producer.send("t", b"lost", partition=1)
        with pytest.raises(AbortableTransactionError) as caught:
            producer.commit_transaction()
        assert isinstance(caught.value.cause, DeliveryTimeout)
        assert cluster.clock.now_ms() - before_ms == 3000
        producer.abort_transaction(10)
        cluster.sandbox.heal()
        producer.begin_transaction()
        producer.send("t", b"next", partition=1)
        producer.commit_transaction()
        producer.close()
        assert seen(cluster) == [b"next"]

    run_version(version, app, topics={"t": 2})


# --- coordinators -----------------------------------------------------------------------------------------------------


@VERSIONS
def test_a_coordinator_that_stands_still_is_left_when_it_is_replaced(version: int) -> None:
    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster)
        producer.begin_transaction()
        cluster.sandbox.move_leader("t", 0, coordinator(cluster) % 3 + 1)
        producer.send("t", b"x").result()
        old_id = coordinator(cluster)
        cluster.sandbox.start_fault(old_id, Fault.FREEZE)
        cluster.at(500, lambda: cluster.sandbox.move_transaction_coordinator(NAME, old_id % 3 + 1))
        before_ms = cluster.clock.now_ms()
        producer.commit_transaction()
        assert 1000 <= cluster.clock.now_ms() - before_ms < 1500
        producer.close()
        cluster.sandbox.heal()
        assert seen(cluster) == [b"x"]

    run_version(version, app)


@VERSIONS
@pytest.mark.parametrize(
    "code",
    [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE],
)
def test_a_coordinator_in_trouble_is_asked_again_until_it_is_well(code: ErrorCode, version: int) -> None:
    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster)
        producer.begin_transaction()
        producer.send("t", b"x").result()
        producer.send_offsets_to_transaction({T0: 7}, GROUP)
        cluster.sandbox.trouble_transaction_coordinator(NAME, code)
        with pytest.raises(MaxBlockTimeout, match=code.name):
            producer.commit_transaction(2)
        cluster.sandbox.trouble_transaction_coordinator(NAME, None)
        producer.commit_transaction(2)
        producer.close()
        assert (seen(cluster), committed(cluster)) == ([b"x"], 7)

    run_version(version, app)


@VERSIONS
@pytest.mark.parametrize("times", [1, 3])
def test_answers_that_are_lost_change_nothing(times: int, version: int) -> None:
    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster, {"request.timeout.ms": 1000})
        for number in range(times):
            producer.begin_transaction()
            producer.send("t", b"%d" % number).result()
            node_id = coordinator(cluster)
            cluster.sandbox.start_fault(node_id, Fault.DROP_RESPONSES)
            cluster.at(1500, lambda n=node_id: cluster.sandbox.stop_fault(n, Fault.DROP_RESPONSES))  # type: ignore[misc]  # a default has no type for mypy
            producer.commit_transaction()
        producer.close()
        assert seen(cluster) == [b"%d" % number for number in range(times)]

    run_version(version, app)


@VERSIONS
def test_an_end_that_arrives_late_does_not_end_the_next_transaction(version: int) -> None:
    """T8: the end of the first transaction, sent again by the network while the second is open."""

    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster, {"request.timeout.ms": 1000})
        producer.begin_transaction()
        producer.send("t", b"first").result()
        node_id = coordinator(cluster)
        cluster.sandbox.start_fault(node_id, Fault.DROP_RESPONSES)
        cluster.at(1500, lambda: cluster.sandbox.heal())
        producer.commit_transaction()
        producer.begin_transaction()
        producer.send("t", b"second, half").result()
        peer = SimPeer(cluster.hub, cluster.network)
        assert peer.connect(1, node_id)
        late = EndTxnRequest(transactional_id=NAME, producer_id=1000, producer_epoch=0, committed=True)
        answer = peer.call(1, late, EndTxnResponse, 4)
        assert answer is not None
        assert answer.error_code != 0
        peer.selector.shutdown()
        assert seen(cluster) == [b"first"]
        producer.send("t", b"second, whole")
        producer.commit_transaction()
        producer.close()
        assert seen(cluster) == [b"first", b"second, half", b"second, whole"]

    run_version(version, app)
