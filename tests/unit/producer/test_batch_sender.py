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
from tests.unit.producer.sending import Scenario, error_of, partitions, response, said, values_in


def test_one_request_to_each_leader() -> None:
    scenario = Scenario()
    futures = [scenario.add(partition=number) for number in range(3)]
    scenario.run()
    assert [(sent.node_id, partitions(sent)) for sent in scenario.network.sent] == [(1, [0, 1]), (2, [2])]
    scenario.network.take().answer(response(said(partition=1, offset=8), said(partition=0, offset=7)), version=13)
    scenario.network.take().answer(response(said(partition=2, offset=9)), version=12)
    assert [future.result(0).offset for future in futures] == [7, 8, 9]


def test_a_request_is_no_larger_than_max_request_size() -> None:
    scenario = Scenario(max_request_size=200)
    for number in range(2):
        scenario.add(bytes(100), partition=number)
    scenario.run()
    assert [partitions(sent) for sent in scenario.network.sent] == [[0], [1]]


@pytest.mark.parametrize("window", [1, 2, 5])
def test_a_partition_has_so_many_batches_in_flight_and_then_the_next(window: int) -> None:
    scenario = Scenario(max_in_flight_requests_per_connection=window)
    for number in range(7):
        scenario.add(b"%d" % number)
    scenario.run()
    assert [values_in(sent) for sent in scenario.network.sent] == [[b"%d" % number] for number in range(window)]
    scenario.network.take().answer(response(said()))
    scenario.run()
    assert values_in(scenario.network.sent[-1]) == [b"%d" % window]
    assert len(scenario.network.sent) == window


def test_partitions_left_out_of_a_full_request_come_first_in_the_next() -> None:
    scenario = Scenario(max_request_size=350, max_in_flight_requests_per_connection=5)
    scenario.network.up = []
    for partition in (0, 0, 0, 1, 1, 1):
        scenario.add(bytes(100), partition=partition)
    scenario.network.up = [1]
    scenario.run()
    assert [partitions(sent) for sent in scenario.network.sent] == [[0, 1]] * 3
    narrow = Scenario(max_request_size=200, max_in_flight_requests_per_connection=5)
    narrow.network.up = []
    for partition in (0, 0, 0, 1, 1, 1):
        narrow.add(bytes(100), partition=partition)
    narrow.network.up = [1]
    narrow.run()
    assert [partitions(sent) for sent in narrow.network.sent] == [[0], [1]] * 3


def test_a_leader_that_the_answer_names_gets_the_batch_at_once() -> None:
    """Source: KIP-951."""
    scenario = Scenario()
    future = scenario.add()
    moved = said(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    moved.current_leader = LeaderIdAndEpoch(leader_id=2, leader_epoch=9)
    scenario.sent().answer(response(moved))
    again = scenario.sent()
    assert (again.node_id, again.at_ms) == (2, scenario.clock.now_ms())
    assert scenario.client.metadata.due_at_ms() == 300_000  # nothing left to ask for
    again.answer(response(said(offset=4)))
    assert future.result(0).offset == 4


def test_a_leader_that_is_no_news_is_waited_for() -> None:
    scenario = Scenario()
    scenario.add()
    stale = said(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    stale.current_leader = LeaderIdAndEpoch(leader_id=2, leader_epoch=-1)
    scenario.sent().answer(response(stale))
    assert scenario.run() == 100
    assert scenario.network.sent == []


def test_a_batch_is_repeated_with_the_same_bytes_after_growing_back_offs() -> None:
    scenario = Scenario()
    future = scenario.add()
    sent = scenario.sent()
    first, gaps = sent.request, []
    for _ in range(5):
        ended_at_ms = scenario.clock.now_ms()
        sent.answer(response(said(ErrorCode.NOT_LEADER_OR_FOLLOWER)))
        next_ms = scenario.run()
        assert scenario.network.sent == []
        scenario.clock.advance(next_ms - scenario.clock.now_ms())
        sent = scenario.sent()
        gaps.append(sent.at_ms - ended_at_ms)
        assert sent.request == first
    assert gaps == [100, 200, 400, 800, 1000]
    sent.answer(response(said(offset=3)))
    assert future.result(0).offset == 3


def test_retries_can_be_few() -> None:
    scenario = Scenario(retries=1)
    future = scenario.add()
    scenario.sent().answer(response(said(ErrorCode.NOT_LEADER_OR_FOLLOWER)))
    scenario.clock.advance(100)
    scenario.sent().answer(response(said(ErrorCode.NOT_LEADER_OR_FOLLOWER)))
    assert error_of(future).code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_an_error_that_does_not_pass_fails_the_batch_with_the_brokers_words() -> None:
    scenario = Scenario()
    future = scenario.add()
    refused = said(ErrorCode.INVALID_RECORD)
    refused.record_errors = [BatchIndexAndErrorMessage(batch_index=0, batch_index_error_message="no key")]
    scenario.sent().answer(response(refused))
    assert "record 0: no key" in str(error_of(future))
    assert not scenario.deliveries.result({}).unknown


def test_batch_that_the_answer_leaves_out_is_repeated_until_its_deadline() -> None:
    scenario = Scenario(request_timeout_ms=500, delivery_timeout_ms=1000)
    future = scenario.add()
    scenario.sent().answer(response(said(partition=1)))
    assert not future.done()
    scenario.clock.advance(200)
    scenario.sent().answer(response(said(partition=1)))
    scenario.clock.advance(800)
    scenario.expire()
    error = future.exception(0)
    assert isinstance(error, DeliveryTimeout)
    assert isinstance(error.cause, RemoteProtocolError)
    assert scenario.deliveries.result({}).unknown == 1


@pytest.mark.parametrize("code", [13, 27, 56, 9999])
def test_code_that_proves_nothing_leaves_the_batch_unknown(code: int) -> None:
    """NETWORK_EXCEPTION, a code that Produce does not have, KAFKA_STORAGE_ERROR, and one newer than this client."""
    scenario = Scenario(retries=0, acks=1)
    future = scenario.add()
    scenario.sent().answer(response(said(code)))
    assert error_of(future).code == code
    assert scenario.deliveries.result({})[:3] == (0, 0, 1)


def test_request_that_was_never_sent_leaves_no_doubt() -> None:
    scenario = Scenario()
    future = scenario.add()
    scenario.sent().fail(LocalProtocolError("cannot be encoded"), was_sent=False)
    assert isinstance(future.exception(0), LocalProtocolError)
    assert scenario.deliveries.result({})[:3] == (0, 1, 0)


def test_record_behind_an_unanswered_batch_reports_that_it_was_never_sent() -> None:
    scenario = Scenario(request_timeout_ms=500, delivery_timeout_ms=1000, max_in_flight_requests_per_connection=1)
    sent, waiting = scenario.add(b"sent"), scenario.add(b"waiting")
    scenario.run()
    scenario.clock.advance(1000)
    scenario.expire()
    assert scenario.deliveries.result({})[:3] == (0, 1, 1)
    batch = "waiting for broker 1 to acknowledge the batch to t-0 (sent 1 time)"
    assert f"while {batch}" in str(sent.exception(0))
    assert f"while waiting behind another batch, never sent: {batch}" in str(waiting.exception(0))


def test_stale_metadata_errors_refresh_metadata_at_once() -> None:
    for code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID):
        scenario = Scenario()
        assert scenario.client.metadata.due_at_ms() == 300_000
        scenario.add()
        scenario.sent().answer(response(said(code)))
        assert scenario.client.metadata.due_at_ms() < 300_000


def test_a_leader_that_cannot_be_reached_makes_the_metadata_stale() -> None:
    scenario = Scenario()
    scenario.network.up = []
    scenario.add()
    scenario.run()
    assert scenario.client.metadata.due_at_ms() == 300_000  # it is only being connected
    scenario.network.status.failures[1] = ConnectionLost("gone")
    scenario.run()
    assert scenario.client.metadata.due_at_ms() < 300_000


def test_a_late_answer_to_a_batch_that_was_given_up_is_no_answer_to_the_next() -> None:
    scenario = Scenario(request_timeout_ms=500, delivery_timeout_ms=1000)
    old = scenario.add(b"old")
    first = scenario.sent()
    scenario.clock.advance(1000)
    scenario.expire()
    assert isinstance(old.exception(0), DeliveryTimeout)
    new = scenario.add(b"new")
    second = scenario.sent()
    first.answer(response(said(offset=1)))
    assert not new.done()
    second.answer(response(said(offset=2)))
    assert new.result(0).offset == 2


def test_records_that_expired_unwritten_are_not_among_those_sent_later() -> None:
    scenario = Scenario(request_timeout_ms=500, delivery_timeout_ms=1000, batch_size=16384)
    early = scenario.add(b"early")
    scenario.clock.advance(500)
    late = scenario.add(b"late")
    scenario.sent().answer(response(said(ErrorCode.NOT_ENOUGH_REPLICAS)))
    scenario.network.up = []
    scenario.clock.advance(500)
    scenario.expire()
    assert isinstance(early.exception(0), DeliveryTimeout)
    assert scenario.deliveries.result({})[1:3] == (1, 0)
    scenario.network.up = [1]
    again = scenario.sent()
    assert isinstance(again.request, ProduceRequest)
    data = bytes(again.request.topic_data[0].partition_data[0].records or b"")
    assert b"late" in data
    assert b"early" not in data
    again.answer(response(said(offset=4)))
    assert late.result(0).offset == 4


def test_records_that_may_be_written_stay_in_their_batch() -> None:
    scenario = Scenario(request_timeout_ms=500, delivery_timeout_ms=1000, batch_size=16384)
    early = scenario.add(b"early")
    scenario.clock.advance(500)
    late = scenario.add(b"late")
    first = scenario.sent()
    first.fail(ConnectionLost("gone"))
    scenario.clock.advance(500)
    scenario.expire()
    assert early.done()
    again = scenario.sent()
    assert again.request == first.request
    again.answer(response(said(offset=4)))
    assert late.result(0).offset == 5
    assert scenario.deliveries.result({})[:3] == (1, 0, 1)


def test_the_nearest_deadline_is_told() -> None:
    scenario = Scenario(delivery_timeout_ms=5000, linger_ms=70, batch_size=16384, request_timeout_ms=1000)
    assert scenario.run() == FOREVER_MS
    scenario.clock.advance(3)
    scenario.add()
    assert scenario.run() == 73
    scenario.clock.advance(70)
    scenario.run()
    assert scenario.run() == 5003


def test_topic_ids_are_needed_for_the_versions_that_use_them() -> None:
    scenario = Scenario()
    scenario.add()
    assert scenario.sent().max_version is None
    metadata = scenario.client.metadata
    metadata.begin(0)
    metadata.apply(answer(topic("t", leader(0, 1), leader(1, 1))), 0)
    scenario.add(partition=1)
    assert scenario.sent().max_version == 12


def test_idempotence_waits_for_a_producer_id_and_numbers_the_records() -> None:
    scenario = Scenario(enable_idempotence=True, batch_size=16384)
    scenario.network.up = [1]
    scenario.client.network.set_nodes(tuple(scenario.client.metadata.cluster.nodes.values()))
    scenario.add(b"1")
    scenario.add(b"2")
    asked = scenario.sent()
    assert isinstance(asked.request, InitProducerIdRequest)
    scenario.run()
    assert scenario.network.sent == []  # one question at a time
    asked.answer(InitProducerIdResponse(error_code=int(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)))
    assert scenario.run() == 100
    scenario.clock.advance(100)
    scenario.sent().answer(InitProducerIdResponse(producer_id=7, producer_epoch=2))
    first = scenario.sent()
    queue = scenario.accumulator.active()[0]
    assert (queue.batches[0].base_sequence, queue.sequence.producer_id, queue.sequence.epoch) == (0, 7, 2)
    first.answer(response(said()))
    scenario.add(b"3")
    scenario.run()
    assert queue.batches[0].base_sequence == 2


def test_a_producer_id_that_is_refused_is_fatal() -> None:
    scenario = Scenario(enable_idempotence=True)
    scenario.client.network.set_nodes(tuple(scenario.client.metadata.cluster.nodes.values()))
    scenario.add()
    scenario.sent().answer(InitProducerIdResponse(error_code=int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)))
    assert scenario.identity is not None
    assert isinstance(scenario.identity.error, BrokerError)


def test_request_for_a_producer_id_whose_connection_is_gone_is_repeated() -> None:
    scenario = Scenario(enable_idempotence=True)
    scenario.client.network.set_nodes(tuple(scenario.client.metadata.cluster.nodes.values()))
    scenario.add()
    scenario.sent().fail(ConnectionLost("node 1 is not connected"), was_sent=False)
    assert scenario.identity is not None
    assert scenario.identity.error is None
    scenario.clock.advance(100)
    assert isinstance(scenario.sent().request, InitProducerIdRequest)


def test_a_batch_that_the_broker_has_already_is_delivered() -> None:
    scenario = Scenario()
    future = scenario.add()
    scenario.sent().answer(response(said(ErrorCode.DUPLICATE_SEQUENCE_NUMBER)))
    assert future.result(0).offset == -1


def test_failing_everything_tells_what_may_be_written() -> None:
    scenario = Scenario()
    futures = [scenario.add(), scenario.add(), scenario.add(partition=2)]
    scenario.network.up = [1]
    scenario.run()
    scenario.accumulator.fail_all(RemoteProtocolError("over"))
    assert all(future.done() for future in futures)
    assert scenario.deliveries.result({})[:3] == (0, 1, 2)
    assert scenario.accumulator.active() == []
