"""A producer's loop without the loop: queues, sender, responses and expiry on a network that a test answers for."""

from random import Random

from kctl.client.backoff import ExponentialBackoff
from kctl.client.clock import ManualClock
from kctl.client.errors import BrokerError
from kctl.client.metadata import Metadata
from kctl.client.producer.accumulator import Accumulator
from kctl.client.producer.batch_expiry import BatchExpiry
from kctl.client.producer.batch_sender import BatchSender
from kctl.client.producer.delivery_tracker import DeliveryTracker
from kctl.client.producer.future import Callback, SendFuture
from kctl.client.producer.identity import ProducerIdentity
from kctl.client.producer.metrics import ProducerCounters
from kctl.client.producer.partitioner import NodeProgress
from kctl.client.producer.produce_responses import ProduceResponseHandler
from kctl.client.producer.record_run import RecordRun
from kctl.client.protocol.api.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kctl.client.records import BatchReader
from tests.unit.fake_network import FakeClient, SentRequest
from tests.unit.metadata_answers import answer, leader, topic
from tests.unit.producer.records import Maker, config

TOPIC_ID = b"\7" * 16


class Scenario:
    """Topic t with partitions 0 and 1 on node 1, and 2 on node 2; both nodes are up."""

    def __init__(self, **properties: object) -> None:
        self.clock = ManualClock()
        settings = config(**{"enable_idempotence": False, "linger_ms": 0, "batch_size": 0, **properties})
        backoff = ExponentialBackoff(100, 1000, Random(1), jitter=0.0)
        metadata = Metadata(max_age_ms=300_000, backoff=backoff)
        metadata.want_topics(["t"])
        metadata.begin(0)
        metadata.apply(answer(topic("t", leader(0, 1), leader(1, 1), leader(2, 2), topic_id=TOPIC_ID)), 0)
        self.client = FakeClient(settings, self.clock, metadata)
        self.network = self.client.fake
        self.network.up = [1, 2]
        self.maker = Maker(self.clock)
        self.counters = ProducerCounters()
        self.deliveries = DeliveryTracker(self.maker.memory, self.counters)
        self.accumulator = Accumulator(settings, self.counters, self.deliveries)
        self.identity = ProducerIdentity(self.client, backoff, 30_000) if settings.enable_idempotence else None
        responses = ProduceResponseHandler(settings, self.client, self.accumulator, backoff)
        self.expiry = BatchExpiry(settings, self.client, self.accumulator, self.identity)
        self.progress = NodeProgress()
        self.sender = BatchSender(
            settings, self.client, self.accumulator, responses, self.identity, self.counters, self.progress
        )

    def add(self, value: bytes = b"v", partition: int = 0, callback: Callback | None = None) -> SendFuture:
        record = self.maker.record(value, partition=partition, callback=callback)
        run = RecordRun.of_futures([record])
        self.deliveries.accept(run)
        self.accumulator.add(run)
        return record

    def run(self) -> int:
        return self.sender.run(self.clock.now_ms())

    def expire(self) -> None:
        now_ms = self.clock.now_ms()
        self.expiry.expire(self.expiry.late(now_ms), now_ms)

    def sent(self) -> SentRequest:
        self.run()
        return self.network.take()


def partitions(sent: SentRequest) -> list[int]:
    assert isinstance(sent.request, ProduceRequest)
    return [part.index for entry in sent.request.topic_data for part in entry.partition_data]


def values_in(sent: SentRequest, partition: int = 0) -> list[bytes | None]:
    """The values that a request carries to a partition."""
    assert isinstance(sent.request, ProduceRequest)
    data = [
        part.records for entry in sent.request.topic_data for part in entry.partition_data if part.index == partition
    ]
    reader = BatchReader(bytes(data[0] or b""), topic="t", partition=0, fetch_offset=0, aborted=None)
    return [record.value for record in reader.records(1000)]


def response(*answers: PartitionProduceResponse) -> ProduceResponse:
    topics = [TopicProduceResponse(name="t", topic_id=TOPIC_ID, partition_responses=list(answers))]
    return ProduceResponse(responses=topics)


def said(code: int = 0, partition: int = 0, offset: int = 5) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=partition, error_code=int(code), base_offset=offset)


def error_of(future: SendFuture) -> BrokerError:
    error = future.exception(0)
    assert isinstance(error, BrokerError)
    return error
