"""A cluster of three fake brokers, the records of a fake producer, and a table of calls in a few words."""

from collections.abc import Sequence
from random import Random

from kctl.client.backoff import ExponentialBackoff
from kctl.client.clock import ManualClock, Timer
from kctl.client.cluster import Node, TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.metadata import Metadata
from kctl.client.producer.partition_queue import PartitionSequence
from kctl.client.producer.transactions.calls import GroupMember, TransactionCall
from kctl.client.producer.transactions.states import State, Step
from kctl.client.producer.transactions.transactions import Transactions
from kctl.client.protocol.api.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.protocol.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kctl.client.protocol.api.transactions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
    EndTxnRequest,
    EndTxnResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kctl.client.protocol.schema import Request, Response
from kctl.client.protocol.versions import NodeVersions
from kctl.client.requests.group_offsets import OffsetAndMetadata
from tests.unit.fake_network import FakeClient, FakeNetwork, SentRequest
from tests.unit.producer.records import Flag, config

NAME = "copier"
PARTITION = TopicPartition("t", 0)
OFFSETS = {PARTITION: OffsetAndMetadata(7)}
BACKOFF_MS = 100
CALLS = (Step.INIT, Step.BEGIN, Step.OFFSETS, Step.COMMIT, Step.ABORT)


class Member:
    """A member of group g, as GroupMetadata describes it."""

    group_id = "g"
    generation = 3
    member_id = "m"
    group_instance_id: str | None = None


class CoordinatorNetwork(FakeNetwork):
    """Brokers 1 to 3 are up, and so is every connection to a coordinator that was made."""

    def __init__(self, clock: ManualClock, transaction_version: int) -> None:
        super().__init__(clock)
        self.up = [1, 2, 3]
        self.dedicated: dict[int, Node] = {}
        self.silent: list[int] = []
        self.closed: list[tuple[int, str]] = []
        self.transaction_version = transaction_version

    def dedicate(self, node: Node) -> None:
        self.dedicated[node.node_id] = node
        if node.node_id not in self.up:
            self.up.append(node.node_id)

    def disconnect(self, node_id: int, reason: str) -> None:
        self.closed.append((node_id, reason))
        if node_id in self.up:
            self.up.remove(node_id)

    def versions(self, node_id: int) -> NodeVersions | None:
        if node_id not in self.up:
            return None
        return NodeVersions({10: (0, 6)}, {"transaction.version": self.transaction_version})

    def supports(self, node_id: int, kind: type[Request], at_least: int = 0) -> bool:
        versions = self.versions(node_id)
        return versions is None or versions.supports(kind, at_least)

    def any_ready_node(self, avoid: Sequence[int] = ()) -> Node | None:
        return next((node for node in self.nodes if node.node_id in self.up and node.node_id not in avoid), None)


class FakeRecords:
    """`waiting` and `in_flight` records; what was failed is counted with its error."""

    def __init__(self) -> None:
        self.waiting = 0
        self.in_flight = 0
        self.expired_in_flight = 0
        self.failures: list[tuple[int, KafkaError]] = []

    @property
    def outstanding(self) -> int:
        return self.waiting + self.in_flight

    @property
    def has_in_flight(self) -> bool:
        return bool(self.in_flight or self.expired_in_flight)

    def fail_waiting(self, error: KafkaError) -> bool:
        if self.waiting:
            self.failures.append((self.waiting, error))
        self.waiting = 0
        return False

    def end_transaction(self, *, is_aborted: bool) -> None:
        self.failures.clear()

    def fail_all(self, error: KafkaError) -> None:
        self.failures.append((self.outstanding, error))
        self.waiting = self.in_flight = self.expired_in_flight = 0


class Scenario:
    """A producer's transactions, driven by hand."""

    def __init__(self, transaction_version: int = 2, **properties: object) -> None:
        self.clock = ManualClock()
        self.calls: list[TransactionCall] = []
        settings = config(
            **{
                "transactional_id": NAME,
                "retry_backoff_ms": BACKOFF_MS,
                "retry_backoff_max_ms": BACKOFF_MS,
                **properties,
            }
        )
        metadata = Metadata(max_age_ms=300_000, backoff=ExponentialBackoff(100, 100, Random(0)))
        self.client = FakeClient(settings, self.clock, metadata)
        self.network = CoordinatorNetwork(self.clock, transaction_version)
        self.client.use(self.network)
        self.network.nodes = [Node(number, f"host{number}", 9092) for number in (1, 2, 3)]
        self.records = FakeRecords()
        self.transactions = Transactions(settings, self.client, Random(0), self.records)

    # --- calls --------------------------------------------------------------------------------------------------------

    def call(self, step: Step, timeout_ms: int = 60_000, member: GroupMember | None = None) -> TransactionCall:
        """Make a call, the application having the answers of those before; it may be done at once."""
        for earlier in self.calls:
            earlier.is_collected = earlier.is_done
        is_offsets = step is Step.OFFSETS
        offsets = OFFSETS if is_offsets else None
        call = TransactionCall(
            step, Timer(self.clock, timeout_ms), Flag(), offsets, member or (Member() if is_offsets else None)
        )
        self.calls.append(call)
        self.transactions.start(call)
        self.run()
        return call

    def run(self) -> int:
        return self.transactions.run(self.clock.now_ms())

    def advance(self, ms: int) -> None:
        self.clock.advance(ms)
        self.run()

    @property
    def state(self) -> State:
        return self.transactions.status.state

    # --- answers ------------------------------------------------------------------------------------------------------

    def sent(self) -> SentRequest:
        """Return the oldest request that was sent; look-ups of coordinators are answered on the way: broker 2 is it."""
        for _ in range(5):
            self.run()
            sent = self.network.take()
            if not isinstance(sent.request, FindCoordinatorRequest):
                return sent
            self.found(sent)
        raise AssertionError("nothing but look-ups")

    def found(self, sent: SentRequest, node_id: int = 2) -> None:
        """Answer a look-up."""
        assert isinstance(sent.request, FindCoordinatorRequest)
        entry = Coordinator(key=sent.request.coordinator_keys[0], node_id=node_id, host=f"host{node_id}", port=9092)
        sent.answer(FindCoordinatorResponse(coordinators=[entry]))
        self.run()

    def answer(self, sent: SentRequest, code: int = 0) -> None:
        """Answer with that error code, or well."""
        sent.answer(response_to(sent, code))
        self.run()

    def lose(self, sent: SentRequest, error: KafkaError) -> None:
        """Let the request end without an answer."""
        sent.fail(error)
        self.run()

    def names(self) -> list[str]:
        """Return what is on its way, by API."""
        self.run()
        return [sent.request.NAME for sent in self.network.sent]

    # --- ways to a state ----------------------------------------------------------------------------------------------

    def initialized(self) -> "Scenario":
        call = self.call(Step.INIT)
        self.answer(self.sent())
        assert (call.is_done, call.error) == (True, None)
        return self

    def begun(self) -> "Scenario":
        self.initialized()
        assert self.call(Step.BEGIN).error is None
        return self

    def with_partition(self) -> "Scenario":
        """A transaction that the coordinator knows of, or may."""
        self.begun()
        self.send_one()
        return self

    def send_one(self) -> None:
        """Let a batch of the partition be sent and acknowledged."""
        sequence = PartitionSequence()
        if not self.transactions.identity.assign_producer_id(PARTITION, sequence):
            self.answer(self.sent())
            assert self.transactions.identity.assign_producer_id(PARTITION, sequence)


def response_to(sent: SentRequest, code: int) -> Response:
    """Return an answer to a request, well or with that error."""
    match sent.request:
        case InitProducerIdRequest(producer_epoch=epoch):
            is_well = code == 0
            return InitProducerIdResponse(
                error_code=code, producer_id=1000 if is_well else -1, producer_epoch=epoch + 1 if is_well else -1
            )
        case AddPartitionsToTxnRequest(v3_and_below_topics=topics):
            results = [
                AddPartitionsToTxnTopicResult(
                    name=topic.name,
                    results_by_partition=[
                        AddPartitionsToTxnPartitionResult(partition_index=number, partition_error_code=code)
                        for number in topic.partitions
                    ],
                )
                for topic in topics
            ]
            return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)
        case AddOffsetsToTxnRequest():
            return AddOffsetsToTxnResponse(error_code=code)
        case TxnOffsetCommitRequest(topics=topics):
            entries = [
                TxnOffsetCommitResponseTopic(
                    name=topic.name,
                    partitions=[
                        TxnOffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code)
                        for each in topic.partitions
                    ],
                )
                for topic in topics
            ]
            return TxnOffsetCommitResponse(topics=entries)
        case EndTxnRequest(producer_id=producer_id, producer_epoch=epoch):
            if sent.max_version is not None or code:
                return EndTxnResponse(error_code=code)
            return EndTxnResponse(producer_id=producer_id, producer_epoch=epoch + 1)
        case other:
            raise AssertionError(f"no answer to {other}")
