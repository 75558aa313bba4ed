import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import FOREVER_MS
from kctl.client.errors import (
    BrokerError,
    ConnectionLost,
    DeliveryTimeout,
    LocalProtocolError,
    RemoteProtocolError,
)
from kctl.client.protocol.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kctl.client.protocol.api.produce import BatchIndexAndErrorMessage, LeaderIdAndEpoch, ProduceRequest
from tests.unit.metadata_answers import answer, leader, topic
from tests.unit.producer.sending import Setup, error_of, partitions, response, said, values_in


def test_one_request_to_each_leader() -> None:
    setup = Setup()
    futures = [setup.add(partition=number) for number in range(3)]
    setup.run()
    assert [(sent.node_id, partitions(sent)) for sent in setup.network.sent] == [(1, [0, 1]), (2, [2])]
    setup.network.take().answer(response(said(partition=1, offset=8), said(partition=0, offset=7)), version=13)
    setup.network.take().answer(response(said(partition=2, offset=9)), version=12)
    assert [future.result(0).offset for future in futures] == [7, 8, 9]


def test_a_request_is_no_larger_than_max_request_size() -> None:
    setup = Setup(max_request_size=200)
    for number in range(2):
        setup.add(bytes(100), partition=number)
    setup.run()
    assert [partitions(sent) for sent in setup.network.sent] == [[0], [1]]


@pytest.mark.parametrize("window", [1, 2, 5])
def test_a_partition_has_so_many_batches_in_flight_and_then_the_next(window: int) -> None:
    setup = Setup(max_in_flight_requests_per_connection=window)
    for number in range(7):
        setup.add(b"%d" % number)
    setup.run()
    assert [values_in(sent) for sent in setup.network.sent] == [[b"%d" % number] for number in range(window)]
    setup.network.take().answer(response(said()))
    setup.run()
    assert values_in(setup.network.sent[-1]) == [b"%d" % window]
    assert len(setup.network.sent) == window


def test_partitions_left_out_of_a_full_request_come_first_in_the_next() -> None:
    setup = Setup(max_request_size=350, max_in_flight_requests_per_connection=5)
    setup.network.up = []
    for partition in (0, 0, 0, 1, 1, 1):
        setup.add(bytes(100), partition=partition)
    setup.network.up = [1]
    setup.run()
    assert [partitions(sent) for sent in setup.network.sent] == [[0, 1]] * 3
    narrow = Setup(max_request_size=200, max_in_flight_requests_per_connection=5)
    narrow.network.up = []
    for partition in (0, 0, 0, 1, 1, 1):
        narrow.add(bytes(100), partition=partition)
    narrow.network.up = [1]
    narrow.run()
    assert [partitions(sent) for sent in narrow.network.sent] == [[0], [1]] * 3


def test_a_leader_that_the_answer_names_gets_the_batch_at_once() -> None:
    """Source: KIP-951."""
    setup = Setup()
    future = setup.add()
    moved = said(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    moved.current_leader = LeaderIdAndEpoch(leader_id=2, leader_epoch=9)
    setup.sent().answer(response(moved))
    again = setup.sent()
    assert (again.node_id, again.at_ms) == (2, setup.clock.now_ms())
    assert setup.client.metadata.due_at_ms() == 300_000  # nothing left to ask for
    again.answer(response(said(offset=4)))
    assert future.result(0).offset == 4


def test_a_leader_that_is_no_news_is_waited_for() -> None:
    setup = Setup()
    setup.add()
    stale = said(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    stale.current_leader = LeaderIdAndEpoch(leader_id=2, leader_epoch=-1)
    setup.sent().answer(response(stale))
    assert setup.run() == 100
    assert setup.network.sent == []


def test_a_batch_is_repeated_with_the_same_bytes_after_growing_back_offs() -> None:
    setup = Setup()
    future = setup.add()
    sent = setup.sent()
    first, gaps = sent.request, []
    for _ in range(5):
        ended_at_ms = setup.clock.now_ms()
        sent.answer(response(said(ErrorCode.NOT_LEADER_OR_FOLLOWER)))
        next_ms = setup.run()
        assert setup.network.sent == []
        setup.clock.advance(next_ms - setup.clock.now_ms())
        sent = setup.sent()
        gaps.append(sent.at_ms - ended_at_ms)
        assert sent.request == first
    assert gaps == [100, 200, 400, 800, 1000]
    sent.answer(response(said(offset=3)))
    assert future.result(0).offset == 3


def test_retries_can_be_few() -> None:
    setup = Setup(retries=1)
    future = setup.add()
    setup.sent().answer(response(said(ErrorCode.NOT_LEADER_OR_FOLLOWER)))
    setup.clock.advance(100)
    setup.sent().answer(response(said(ErrorCode.NOT_LEADER_OR_FOLLOWER)))
    assert error_of(future).code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_an_error_that_does_not_pass_fails_the_batch_with_the_brokers_words() -> None:
    setup = Setup()
    future = setup.add()
    refused = said(ErrorCode.INVALID_RECORD)
    refused.record_errors = [BatchIndexAndErrorMessage(batch_index=0, batch_index_error_message="no key")]
    setup.sent().answer(response(refused))
    assert "record 0: no key" in str(error_of(future))
    assert not setup.deliveries.result({}).unknown


def test_batch_that_the_answer_leaves_out_is_repeated_until_its_deadline() -> None:
    setup = Setup(request_timeout_ms=500, delivery_timeout_ms=1000)
    future = setup.add()
    setup.sent().answer(response(said(partition=1)))
    assert not future.done()
    setup.clock.advance(200)
    setup.sent().answer(response(said(partition=1)))
    setup.clock.advance(800)
    setup.expire()
    error = future.exception(0)
    assert isinstance(error, DeliveryTimeout)
    assert isinstance(error.cause, RemoteProtocolError)
    assert setup.deliveries.result({}).unknown == 1


@pytest.mark.parametrize("code", [13, 27, 56, 9999])
def test_code_that_proves_nothing_leaves_the_batch_unknown(code: int) -> None:
    """NETWORK_EXCEPTION, a code that Produce does not have, KAFKA_STORAGE_ERROR, and one newer than this client."""
    setup = Setup(retries=0, acks=1)
    future = setup.add()
    setup.sent().answer(response(said(code)))
    assert error_of(future).code == code
    assert setup.deliveries.result({})[:3] == (0, 0, 1)


def test_request_that_was_never_sent_leaves_no_doubt() -> None:
    setup = Setup()
    future = setup.add()
    setup.sent().fail(LocalProtocolError("cannot be encoded"), was_sent=False)
    assert isinstance(future.exception(0), LocalProtocolError)
    assert setup.deliveries.result({})[:3] == (0, 1, 0)


def test_record_behind_an_unanswered_batch_reports_that_it_was_never_sent() -> None:
    setup = Setup(request_timeout_ms=500, delivery_timeout_ms=1000, max_in_flight_requests_per_connection=1)
    sent, waiting = setup.add(b"sent"), setup.add(b"waiting")
    setup.run()
    setup.clock.advance(1000)
    setup.expire()
    assert setup.deliveries.result({})[:3] == (0, 1, 1)
    batch = "waiting for node 1 to acknowledge the batch to t-0 (sent 1 time)"
    assert f"while {batch}" in str(sent.exception(0))
    assert f"while waiting to be sent, which it never was, behind a batch: {batch}" in str(waiting.exception(0))


def test_stale_metadata_errors_refresh_metadata_at_once() -> None:
    for code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID):
        setup = Setup()
        assert setup.client.metadata.due_at_ms() == 300_000
        setup.add()
        setup.sent().answer(response(said(code)))
        assert setup.client.metadata.due_at_ms() < 300_000


def test_a_leader_that_cannot_be_reached_makes_the_metadata_stale() -> None:
    setup = Setup()
    setup.network.up = []
    setup.add()
    setup.run()
    assert setup.client.metadata.due_at_ms() == 300_000  # it is only being connected
    setup.network.failures[1] = ConnectionLost("gone")
    setup.run()
    assert setup.client.metadata.due_at_ms() < 300_000


def test_a_late_answer_to_a_batch_that_was_given_up_is_no_answer_to_the_next() -> None:
    setup = Setup(request_timeout_ms=500, delivery_timeout_ms=1000)
    old = setup.add(b"old")
    first = setup.sent()
    setup.clock.advance(1000)
    setup.expire()
    assert isinstance(old.exception(0), DeliveryTimeout)
    new = setup.add(b"new")
    second = setup.sent()
    first.answer(response(said(offset=1)))
    assert not new.done()
    second.answer(response(said(offset=2)))
    assert new.result(0).offset == 2


def test_records_that_expired_unwritten_are_not_among_those_sent_later() -> None:
    setup = Setup(request_timeout_ms=500, delivery_timeout_ms=1000, batch_size=16384)
    early = setup.add(b"early")
    setup.clock.advance(500)
    late = setup.add(b"late")
    setup.sent().answer(response(said(ErrorCode.NOT_ENOUGH_REPLICAS)))
    setup.network.up = []
    setup.clock.advance(500)
    setup.expire()
    assert isinstance(early.exception(0), DeliveryTimeout)
    assert setup.deliveries.result({})[1:3] == (1, 0)
    setup.network.up = [1]
    again = setup.sent()
    assert isinstance(again.request, ProduceRequest)
    data = again.request.topic_data[0].partition_data[0].records
    assert data is not None
    assert b"late" in data
    assert b"early" not in data
    again.answer(response(said(offset=4)))
    assert late.result(0).offset == 4


def test_records_that_may_be_written_stay_in_their_batch() -> None:
    setup = Setup(request_timeout_ms=500, delivery_timeout_ms=1000, batch_size=16384)
    early = setup.add(b"early")
    setup.clock.advance(500)
    late = setup.add(b"late")
    first = setup.sent()
    first.fail(ConnectionLost("gone"))
    setup.clock.advance(500)
    setup.expire()
    assert early.done()
    again = setup.sent()
    assert again.request == first.request
    again.answer(response(said(offset=4)))
    assert late.result(0).offset == 5
    assert setup.deliveries.result({})[:3] == (1, 0, 1)


def test_the_nearest_deadline_is_told() -> None:
    setup = Setup(delivery_timeout_ms=5000, linger_ms=70, batch_size=16384, request_timeout_ms=1000)
    assert setup.run() == FOREVER_MS
    setup.clock.advance(3)
    setup.add()
    assert setup.run() == 73
    setup.clock.advance(70)
    setup.run()
    assert setup.run() == 5003


def test_topic_ids_are_needed_for_the_versions_that_use_them() -> None:
    setup = Setup()
    setup.add()
    assert setup.sent().max_version is None
    metadata = setup.client.metadata
    metadata.begin(0)
    metadata.take(answer(topic("t", leader(0, 1), leader(1, 1))), 0)
    setup.add(partition=1)
    assert setup.sent().max_version == 12


def test_idempotence_waits_for_a_producer_id_and_numbers_the_records() -> None:
    setup = Setup(enable_idempotence=True, batch_size=16384)
    setup.network.up = [1]
    setup.client.network.set_nodes(setup.client.metadata.cluster.nodes)
    setup.add(b"1")
    setup.add(b"2")
    asked = setup.sent()
    assert isinstance(asked.request, InitProducerIdRequest)
    setup.run()
    assert setup.network.sent == []  # one question at a time
    asked.answer(InitProducerIdResponse(error_code=int(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)))
    assert setup.run() == 100
    setup.clock.advance(100)
    setup.sent().answer(InitProducerIdResponse(producer_id=7, producer_epoch=2))
    first = setup.sent()
    queue = setup.accumulator.active()[0]
    assert (queue.batches[0].base_sequence, queue.sequence.producer_id, queue.sequence.epoch) == (0, 7, 2)
    first.answer(response(said()))
    setup.add(b"3")
    setup.run()
    assert queue.batches[0].base_sequence == 2


def test_a_producer_id_that_is_refused_is_fatal() -> None:
    setup = Setup(enable_idempotence=True)
    setup.client.network.set_nodes(setup.client.metadata.cluster.nodes)
    setup.add()
    setup.sent().answer(InitProducerIdResponse(error_code=int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)))
    assert setup.identity is not None
    assert isinstance(setup.identity.error, BrokerError)


def test_request_for_a_producer_id_whose_connection_is_gone_is_repeated() -> None:
    setup = Setup(enable_idempotence=True)
    setup.client.network.set_nodes(setup.client.metadata.cluster.nodes)
    setup.add()
    setup.sent().fail(ConnectionLost("node 1 is not connected"), was_sent=False)
    assert setup.identity is not None
    assert setup.identity.error is None
    setup.clock.advance(100)
    assert isinstance(setup.sent().request, InitProducerIdRequest)


def test_a_batch_that_the_broker_has_already_is_delivered() -> None:
    setup = Setup()
    future = setup.add()
    setup.sent().answer(response(said(ErrorCode.DUPLICATE_SEQUENCE_NUMBER)))
    assert future.result(0).offset == -1


def test_failing_everything_tells_what_may_be_written() -> None:
    setup = Setup()
    futures = [setup.add(), setup.add(), setup.add(partition=2)]
    setup.network.up = [1]
    setup.run()
    setup.accumulator.fail_all(RemoteProtocolError("over"))
    assert all(future.done() for future in futures)
    assert setup.deliveries.result({})[:3] == (0, 1, 2)
    assert setup.accumulator.active() == []
