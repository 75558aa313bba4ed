"""Producer requests for transactions of versions 1 and 2."""

from typing import Any

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from kctl.client.protocol.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kctl.client.protocol.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from kctl.client.protocol.api.transaction_states import DescribeTransactionsRequest, DescribeTransactionsResponse
from kctl.client.protocol.api.transactions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    EndTxnResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from tests.unit.sandbox.scenario import Client, batch

TRANSACTIONAL = 0x10
TX = "tx"


_CODES = {int(code): code for code in ErrorCode}


def code_of(code: int) -> ErrorCode:
    """Return the error code of a number."""
    return _CODES[code]


class ProducerSide:
    """One producer of transactional id `tx`; `client` is connected to the coordinator and leader."""

    def __init__(self, client: Client, level: int = 2) -> None:
        self.client = client
        self.level = level
        self.held = (-1, -1)
        self.sequences: dict[int, int] = {}

    def init(self, timeout_ms: int = 60_000, expected: tuple[int, int] = (-1, -1)) -> ErrorCode:
        """Ask for an identity."""
        request = InitProducerIdRequest(
            transactional_id=TX,
            transaction_timeout_ms=timeout_ms,
            producer_id=expected[0],
            producer_epoch=expected[1],
        )
        got = self.client.call(request, InitProducerIdResponse, 5)
        if got.error_code == ErrorCode.NONE:
            self.held, self.sequences = (got.producer_id, got.producer_epoch), {}
        return code_of(got.error_code)

    def add(self, *partitions: int) -> ErrorCode:
        """Let partitions of `t` take part."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=TX,
            v3_and_below_producer_id=self.held[0],
            v3_and_below_producer_epoch=self.held[1],
            v3_and_below_topics=[AddPartitionsToTxnTopic(name="t", partitions=list(partitions or (0,)))],
        )
        got = self.client.call(request, AddPartitionsToTxnResponse, 3).results_by_topic_v3_and_below[0]
        return code_of(got.results_by_partition[0].partition_error_code)

    def produce(self, partition: int = 0, *, client: Client | None = None, version: int = 0) -> ErrorCode:
        """Produce one record, in version 1 to a partition that is added first."""
        if self.level == 1 and (code := self.add(partition)) is not ErrorCode.NONE:
            return code
        sequence = self.sequences.get(partition, 0)
        records = batch(b"v%d" % sequence, producer=(*self.held, sequence), attributes=TRANSACTIONAL)
        code = produced(client or self.client, records, partition, version or (12 if self.level == 2 else 11))
        if code is ErrorCode.NONE:
            self.sequences[partition] = sequence + 1
        return code

    def end(self, *, commit: bool = True) -> ErrorCode:
        """Commit or abort."""
        request = EndTxnRequest(
            transactional_id=TX, producer_id=self.held[0], producer_epoch=self.held[1], committed=commit
        )
        got = self.client.call(request, EndTxnResponse, 5 if self.level == 2 else 4)
        if got.error_code == ErrorCode.NONE and self.level == 2:
            self.held, self.sequences = (got.producer_id, got.producer_epoch), {}
        return code_of(got.error_code)

    def commit_offset(self, offset: int, group_id: str = "g") -> ErrorCode:
        """Commit an offset of partition 0 for a group."""
        if self.level == 1:
            adding = AddOffsetsToTxnRequest(
                transactional_id=TX, producer_id=self.held[0], producer_epoch=self.held[1], group_id=group_id
            )
            code = self.client.call(adding, AddOffsetsToTxnResponse, 3).error_code
            if code != ErrorCode.NONE:
                return code_of(code)
        one = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = TxnOffsetCommitRequest(
            transactional_id=TX,
            group_id=group_id,
            producer_id=self.held[0],
            producer_epoch=self.held[1],
            topics=[TxnOffsetCommitRequestTopic(name="t", partitions=[one])],
        )
        got = self.client.call(request, TxnOffsetCommitResponse, 5 if self.level == 2 else 4)
        return code_of(got.topics[0].partitions[0].error_code)

    def state(self) -> str:
        """Return Kafka's word for where the transaction is."""
        request = DescribeTransactionsRequest(transactional_ids=[TX])
        (got,) = self.client.call(request, DescribeTransactionsResponse, 0).transaction_states
        return got.transaction_state


def produced(client: Client, records: bytes, partition: int = 0, version: int = 12, acks: int = -1) -> ErrorCode:
    """Produce a batch to `t` and return its error code."""
    data = [PartitionProduceData(index=partition, records=records)]
    topics = [TopicProduceData(name="t", partition_data=data)]
    request = ProduceRequest(transactional_id=TX, acks=acks, topic_data=topics)
    return code_of(client.call(request, ProduceResponse, version).responses[0].partition_responses[0].error_code)


def fetched(client: Client, partition: int = 0, **more: Any) -> PartitionData:
    """Fetch a partition of `t` from its start, by default committed records only."""
    asked = FetchPartition(partition=partition, partition_max_bytes=100_000)
    fields: dict[str, Any] = {
        "isolation_level": 1,
        "max_wait_ms": 0,
        "topics": [FetchTopic(topic="t", partitions=[asked])],
    }
    return client.call(FetchRequest(**(fields | more)), FetchResponse, 12).responses[0].partitions[0]
