from random import Random

from kctl.client.backoff import ExponentialBackoff
from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import FOREVER_MS, ManualClock
from kctl.client.errors import BrokerError, ConnectionLost, DeliveryTimeout, RemoteProtocolError
from kctl.client.metadata import Metadata
from kctl.client.producer.accumulator import Accumulator
from kctl.client.producer.batch_sender import BatchSender
from kctl.client.producer.deliveries import Deliveries
from kctl.client.producer.future import SendFuture
from kctl.client.producer.identity import ProducerIdentity
from kctl.client.protocol.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kctl.client.protocol.api.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from tests.unit.metadata.answers import answer, leader, topic
from tests.unit.metadata.fake_network import FakeClient, SentRequest
from tests.unit.producer.records import Maker, config

TOPIC_ID = b"\7" * 16


class Setup:
    """Topic t with partitions 0 and 1 on node 1, and 2 on node 2; both nodes are up."""

    def __init__(self, **properties: object) -> None:
        self.clock = ManualClock()
        settings = config(**{"enable_idempotence": False, "linger_ms": 0, "batch_size": 0, **properties})
        backoff = ExponentialBackoff(100, 1000, Random(), jitter=0.0)
        metadata = Metadata(max_age_ms=300_000, backoff=backoff)
        metadata.want_topics(["t"])
        metadata.begin(0)
        metadata.take(answer(topic("t", leader(0, 1), leader(1, 1), leader(2, 2), topic_id=TOPIC_ID)), 0)
        self.client = FakeClient(settings, self.clock, metadata)
        self.network = self.client.fake
        self.network.up = [1, 2]
        self.maker = Maker(self.clock)
        self.accumulator = Accumulator(settings)
        self.deliveries = Deliveries(self.maker.memory)
        self.identity = ProducerIdentity(self.client, backoff, 30_000) if settings.enable_idempotence else None
        self.sender = BatchSender(settings, self.client, self.accumulator, self.deliveries, self.identity, backoff)

    def add(self, value: bytes = b"v", partition: int = 0, size_bytes: int = 100) -> SendFuture:
        record = self.maker.record(value, partition=partition, size_bytes=size_bytes)
        self.deliveries.accept(record)
        self.accumulator.add(record)
        return record

    def run(self) -> int:
        return self.sender.run(self.clock.now_ms())

    def expire(self) -> None:
        self.sender.expire(self.clock.now_ms())

    def sent(self) -> SentRequest:
        self.run()
        return self.network.take()


def partitions(sent: SentRequest) -> list[int]:
    assert isinstance(sent.request, ProduceRequest)
    return [part.index for entry in sent.request.topic_data for part in entry.partition_data]


def response(*answers: PartitionProduceResponse) -> ProduceResponse:
    topics = [TopicProduceResponse(name="t", topic_id=TOPIC_ID, partition_responses=list(answers))]
    return ProduceResponse(responses=topics)


def said(code: int = 0, partition: int = 0, offset: int = 5) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=partition, error_code=int(code), base_offset=offset)


def error_of(future: SendFuture) -> BrokerError:
    error = future.exception(0)
    assert isinstance(error, BrokerError)
    return error


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


def test_a_partition_has_one_batch_in_flight_and_then_the_next() -> None:
    setup = Setup()
    setup.add(b"1")
    setup.add(b"2")
    first = setup.sent()
    setup.run()
    assert setup.network.sent == []
    first.answer(response(said()))
    setup.run()
    assert len(setup.network.sent) == 1


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


def test_an_answer_that_forgets_a_batch_is_an_error_of_unknown_fate() -> None:
    setup = Setup()
    future = setup.add()
    setup.sent().answer(response(said(partition=1)))
    assert isinstance(future.exception(0), RemoteProtocolError)
    assert setup.deliveries.result({}).unknown == 1


def test_what_was_stale_is_refreshed() -> None:
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
    setup.sent().answer(response(said(ErrorCode.NOT_LEADER_OR_FOLLOWER)))
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
    assert queue.batch is not None
    assert (queue.batch.base_sequence, queue.sequence.producer_id, queue.sequence.epoch) == (0, 7, 2)
    first.answer(response(said()))
    setup.add(b"3")
    setup.run()
    assert queue.batch is not None
    assert queue.batch.base_sequence == 2


def test_a_producer_id_that_is_refused_is_fatal() -> None:
    setup = Setup(enable_idempotence=True)
    setup.client.network.set_nodes(setup.client.metadata.cluster.nodes)
    setup.add()
    setup.sent().answer(InitProducerIdResponse(error_code=int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)))
    assert setup.identity is not None
    assert isinstance(setup.identity.error, BrokerError)


def test_lost_sequences_fail_one_batch_and_start_anew() -> None:
    setup = Setup(enable_idempotence=True)
    setup.client.network.set_nodes(setup.client.metadata.cluster.nodes)
    future = setup.add()
    setup.sent().answer(InitProducerIdResponse(producer_id=7, producer_epoch=0))
    setup.sent().answer(response(said(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)))
    assert error_of(future).code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert setup.deliveries.result({})[1:3] == (1, 0)
    setup.add()
    setup.run()
    queue = setup.accumulator.active()[0]
    assert (queue.sequence.epoch, queue.batch and queue.batch.base_sequence) == (1, 0)


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
    setup.sender.fail_all(RemoteProtocolError("over"))
    assert all(future.done() for future in futures)
    assert setup.deliveries.result({})[:3] == (0, 2, 1)
    assert setup.accumulator.active() == []
