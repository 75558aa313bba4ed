"""What producers with transactions say to one broker, request by request, and what is compared of the answers.

Producer ids are replaced by the order in which they appeared, and instants of now by a word. Used by
test_sandbox_transactions_against_kafka.py and test_sandbox_producers_against_kafka.py.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import SystemClock
from kctl.client.protocol.api.committed_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kctl.client.protocol.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.protocol.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kctl.client.protocol.api.partition_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kctl.client.protocol.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from kctl.client.protocol.api.transaction_states import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
    TopicRequest,
)
from kctl.client.protocol.api.transactions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
    EndTxnRequest,
    EndTxnResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from kctl.client.protocol.schema import Request, Response
from kctl.client.records import BatchReader
from tests.loopback.sandbox.peer import Peer
from tests.support.bounds import bound
from tests.support.kafka.waiting import wait_until
from tests.unit.sandbox.scenario import batch

R = TypeVar("R", bound=Response)
NOW_MS = SystemClock().wall_ms()
PATIENCE_MS = bound(30_000)
RETRIED = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
)
"""What passes by itself: a coordinator that starts, and markers that are being written."""
TRANSACTIONAL = 0x10
NAMES = {int(code): code.name for code in ErrorCode}
Outcome = tuple[str, Any]
Held = tuple[int, int]
"""Producer id and epoch."""


class TransactionTalk:
    """Requests of producers to one broker that leads and coordinates all; version 1 or 2 of transactions."""

    def __init__(self, peer: Peer, topic: str, level: int) -> None:
        self.peer = peer
        self.topic = topic
        self.level = level
        self.produce_version = 12 if level == 2 else 11
        self.end_version = 5 if level == 2 else 4
        self.offsets_version = 5 if level == 2 else 4
        self.group_id = f"g-{topic}"
        self.stamp_ms: Callable[[], int] = lambda: NOW_MS
        """The timestamp of the next batch."""
        self._labels: dict[int, str] = {}
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
        self.topic_id = self.call(asked, MetadataResponse, 12).topics[0].topic_id
        self._wait_for_coordinators()

    def call(self, request: Request, response: type[R], version: int) -> R:
        return self.peer.call(request, response, version)

    def _wait_for_coordinators(self) -> None:
        def is_found() -> bool:
            codes = [
                self.call(FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]), FindCoordinatorResponse, 4)
                .coordinators[0]
                .error_code
                for kind, key in ((0, self.group_id), (1, self.name("")))
            ]
            is_led = all(self.producers(partition)[0] == "NONE" for partition in range(3))
            return is_led and codes == [0, 0] and self.init("probe")[0] == "NONE" and self.committed()[0] == "NONE"

        wait_until(is_found, PATIENCE_MS, "coordinators of a group and a transaction")
        self._labels.clear()

    def settled(self, ask: Any) -> Any:
        """Ask until the answer is none that passes by itself."""
        answers: list[Any] = []

        def is_settled() -> bool:
            answers.append(ask())
            return answers[-1][0] not in [code.name for code in RETRIED]

        wait_until(is_settled, PATIENCE_MS, "an answer that stays")
        return answers[-1]

    def label(self, producer_id: int) -> str:
        if producer_id == -1:
            return "nobody"
        return self._labels.setdefault(producer_id, f"producer {len(self._labels)}")

    def name(self, suffix: str) -> str:
        return f"tx-{self.topic}{suffix}"

    # --- producers --------------------------------------------------------------------------------------------------

    def init(
        self, suffix: str = "", expected: Held = (-1, -1), timeout_ms: int = 60_000, version: int = 4
    ) -> tuple[str, Held]:
        request = InitProducerIdRequest(
            transactional_id=self.name(suffix),
            transaction_timeout_ms=timeout_ms,
            producer_id=expected[0],
            producer_epoch=expected[1],
        )
        got = self.call(request, InitProducerIdResponse, version)
        return NAMES[got.error_code], (got.producer_id, got.producer_epoch)

    def shown(self, got: tuple[str, Held]) -> Outcome:
        return got[0], (self.label(got[1][0]), got[1][1])

    def begin(self, suffix: str = "") -> Held:
        """Return the identity of a producer that starts."""
        got: tuple[str, Held] = self.settled(lambda: self.init(suffix))
        assert got[0] == "NONE", got
        self.label(got[1][0])
        return got[1]

    def add(self, held: Held, *partitions: int, suffix: str = "", version: int = 3) -> Any:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name(suffix),
            v3_and_below_producer_id=held[0],
            v3_and_below_producer_epoch=held[1],
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=self.topic, partitions=list(partitions or (0,)))],
        )
        got = self.call(request, AddPartitionsToTxnResponse, version)
        codes = [
            NAMES[one.partition_error_code]
            for topic in got.results_by_topic_v3_and_below
            for one in _in_order(topic.results_by_partition)
        ]
        return codes[0], codes

    def verify(self, held: Held, *partitions: int, suffix: str = "", only: bool = True, version: int = 4) -> Any:
        one = AddPartitionsToTxnTransaction(
            transactional_id=self.name(suffix),
            producer_id=held[0],
            producer_epoch=held[1],
            verify_only=only,
            topics=[AddPartitionsToTxnTopic(name=self.topic, partitions=list(partitions or (0,)))],
        )
        got = self.call(AddPartitionsToTxnRequest(transactions=[one]), AddPartitionsToTxnResponse, version)
        return NAMES[got.error_code], [
            NAMES[one.partition_error_code]
            for result in got.results_by_transaction
            for topic in result.topic_results
            for one in _in_order(topic.results_by_partition)
        ]

    def produce(
        self,
        held: Held,
        sequence: int,
        *,
        partition: int = 0,
        count: int = 1,
        suffix: str | None = "",
        attributes: int = TRANSACTIONAL,
        version: int = 0,
    ) -> Outcome:
        records = batch(
            *[b"v%d" % (sequence + n) for n in range(count)],
            timestamps_ms=[self.stamp_ms()] * count,
            producer=(*held, sequence),
            attributes=attributes,
        )
        version = version or self.produce_version
        named: Any = {"topic_id": self.topic_id} if version >= 13 else {"name": self.topic}
        data = [PartitionProduceData(index=partition, records=records)]
        request = ProduceRequest(
            transactional_id=None if suffix is None else self.name(suffix),
            acks=-1,
            timeout_ms=5_000,
            topic_data=[TopicProduceData(**named, partition_data=data)],
        )
        answer = self.call(request, ProduceResponse, version).responses[0].partition_responses[0]
        return NAMES[answer.error_code], (answer.base_offset, answer.log_append_time_ms)

    def end(self, held: Held, commit: bool = True, suffix: str = "", version: int = 0) -> tuple[str, Held]:
        request = EndTxnRequest(
            transactional_id=self.name(suffix), producer_id=held[0], producer_epoch=held[1], committed=commit
        )
        got = self.call(request, EndTxnResponse, version or self.end_version)
        return NAMES[got.error_code], (got.producer_id, got.producer_epoch)

    def ended(self, held: Held, commit: bool = True) -> Held:
        """End a transaction, and return who goes on when all markers are written."""
        code, after = self.end(held, commit)
        assert code == "NONE", code
        self.wait_until_complete()
        return after if self.level == 2 else held

    def wait_until_complete(self, suffix: str = "") -> None:
        wait_until(
            lambda: not self.describe(suffix)[1][0].startswith("Prepare"), PATIENCE_MS, "the end of a transaction"
        )

    # --- what is there ----------------------------------------------------------------------------------------------

    def describe(self, suffix: str = "") -> Outcome:
        request = DescribeTransactionsRequest(transactional_ids=[self.name(suffix)])
        (got,) = self.call(request, DescribeTransactionsResponse, 0).transaction_states
        topics = sorted(
            ("offsets", []) if one.topic == "__consumer_offsets" else (one.topic == self.topic, sorted(one.partitions))
            for one in got.topics
        )
        is_started = got.transaction_start_time_ms >= NOW_MS - 60_000
        what = (got.transaction_state, got.transaction_timeout_ms, is_started, topics)
        return NAMES[got.error_code], (*what, self.label(got.producer_id), got.producer_epoch)

    def list(self, **filters: Any) -> Outcome:
        got = self.call(ListTransactionsRequest(**filters), ListTransactionsResponse, 2)
        ours = [
            (one.transactional_id.removeprefix(self.name("")), self.label(one.producer_id), one.transaction_state)
            for one in got.transaction_states
            if one.transactional_id.startswith(self.name("")) and not one.transactional_id.endswith("probe")
        ]
        return NAMES[got.error_code], (got.unknown_state_filters, sorted(ours))

    def producers(self, partition: int = 0) -> Outcome:
        topics = [TopicRequest(name=self.topic, partition_indexes=[partition])]
        (got,) = self.call(DescribeProducersRequest(topics=topics), DescribeProducersResponse, 0).topics[0].partitions
        return NAMES[got.error_code], sorted(
            (
                [self.label(one.producer_id), one.producer_epoch, one.last_sequence],
                one.last_timestamp >= NOW_MS,
                [one.coordinator_epoch, one.current_txn_start_offset],
            )
            for one in got.active_producers
        )

    def fetch(self, offset: int = 0, isolation: int = 1, partition: int = 0, max_bytes: int = 10_000) -> Outcome:
        asked = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes)
        topics = [FetchTopic(topic=self.topic, partitions=[asked])]
        request = FetchRequest(min_bytes=0, isolation_level=isolation, topics=topics)
        data = self.call(request, FetchResponse, 12).responses[0].partitions[0]
        aborted = data.aborted_transactions
        told = aborted and sorted((self.label(one.producer_id), one.first_offset) for one in aborted)
        reader = BatchReader(data.records or b"", topic="t", partition=0, fetch_offset=offset, aborted=None)
        values = [(one.offset, one.value) for one in reader.records(1_000)]
        markers = [
            (one.offset, self.label(one.producer_id), one.producer_epoch, one.kind, one.coordinator_epoch)
            for one in reader.markers
        ]
        offsets = (data.high_watermark, data.last_stable_offset, data.log_start_offset)
        return NAMES[data.error_code], (offsets, told, values, markers, len(data.records or b""))

    def list_offset(self, timestamp: int, isolation: int = 1) -> Outcome:
        asked = [ListOffsetsPartition(partition_index=0, timestamp=timestamp)]
        topics = [ListOffsetsTopic(name=self.topic, partitions=asked)]
        request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=topics)
        found = self.call(request, ListOffsetsResponse, 9).topics[0].partitions[0]
        stamp = "now" if found.timestamp > NOW_MS else found.timestamp - NOW_MS if found.timestamp > 0 else "none"
        return NAMES[found.error_code], (found.offset, stamp, found.leader_epoch)

    # --- offsets of a group -----------------------------------------------------------------------------------------

    def add_offsets(self, held: Held, suffix: str = "", version: int = 3) -> str:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.name(suffix), producer_id=held[0], producer_epoch=held[1], group_id=self.group_id
        )
        return NAMES[self.call(request, AddOffsetsToTxnResponse, version).error_code]

    def commit_in(self, held: Held, offset: int = 7, *, partition: int = 0, version: int = 0, **more: Any) -> str:
        one = TxnOffsetCommitRequestPartition(
            partition_index=partition, committed_offset=offset, committed_metadata=more.pop("metadata", "m")
        )
        fields: dict[str, Any] = {"transactional_id": self.name(""), "group_id": self.group_id}
        request = TxnOffsetCommitRequest(
            producer_id=held[0],
            producer_epoch=held[1],
            topics=[TxnOffsetCommitRequestTopic(name=self.topic, partitions=[one])],
            **(fields | more),
        )
        got = self.call(request, TxnOffsetCommitResponse, version or self.offsets_version)
        return NAMES[got.topics[0].partitions[0].error_code]

    def commit_beside(self, offset: int) -> str:
        one = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        topics = [OffsetCommitRequestTopic(name=self.topic, partitions=[one])]
        got = self.call(OffsetCommitRequest(group_id=self.group_id, topics=topics), OffsetCommitResponse, 9)
        return NAMES[got.topics[0].partitions[0].error_code]

    def committed(self, *, is_stable: bool = True) -> Outcome:
        topics = [OffsetFetchRequestTopics(name=self.topic, partition_indexes=[0, 1])]
        groups = [OffsetFetchRequestGroup(group_id=self.group_id, topics=topics)]
        request = OffsetFetchRequest(groups=groups, require_stable=is_stable)
        (got,) = self.call(request, OffsetFetchResponse, 9).groups
        if got.error_code:
            return NAMES[got.error_code], []
        return NAMES[got.error_code], [
            (NAMES[one.error_code], one.committed_offset, one.metadata) for one in got.topics[0].partitions
        ]


def _in_order(results: list[AddPartitionsToTxnPartitionResult]) -> list[AddPartitionsToTxnPartitionResult]:
    """Return results by partition: Kafka gives them in the order of a hash."""
    return sorted(results, key=lambda one: one.partition_index)
