"""AddPartitionsToTxn: adds partitions to a transaction, or, from version 4, to several transactions."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.transactions import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.transactions.transaction import ProducerIdentity, TopicPartition

_FENCED_BY_NAME_FROM = 2
_MANY_FROM = 4


def _answer(call: Call, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    if call.version < _MANY_FROM:
        one = AddPartitionsToTxnTransaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        )
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_transaction(call, one))
    return AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResult(transactional_id=one.transactional_id, topic_results=_transaction(call, one))
            for one in request.transactions
        ]
    )


def _transaction(call: Call, asked: AddPartitionsToTxnTransaction) -> list[AddPartitionsToTxnTopicResult]:
    partitions = [TopicPartition(topic.name, index) for topic in asked.topics for index in topic.partitions]
    unknown = dict.fromkeys(one for one in partitions if call.cluster.partition(*one) is None)
    if unknown:
        codes = {
            one: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if one in unknown else ErrorCode.OPERATION_NOT_ATTEMPTED
            for one in partitions
        }
    else:
        codes = _added(call, asked, partitions)
    return [_topic(topic, codes) for topic in asked.topics]


def _add_or_verify(call: Call, asked: AddPartitionsToTxnTransaction, partition: TopicPartition) -> None:
    transactions = call.cluster.transactions
    claimed = ProducerIdentity(asked.producer_id, asked.producer_epoch)
    if asked.transactional_id:
        transactions.check(asked.transactional_id, call.node)
    if asked.verify_only:
        transactions.verify(asked.transactional_id, claimed, partition)
    else:
        transactions.add(asked.transactional_id, claimed, [partition])


def _added(
    call: Call, asked: AddPartitionsToTxnTransaction, partitions: list[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    codes: dict[TopicPartition, ErrorCode] = {}
    for one in partitions:
        try:
            _add_or_verify(call, asked, one)
        except Refused as refusal:
            is_hidden = refusal.code is ErrorCode.PRODUCER_FENCED and call.version < _FENCED_BY_NAME_FROM
            codes[one] = ErrorCode.INVALID_PRODUCER_EPOCH if is_hidden else refusal.code
        else:
            codes[one] = ErrorCode.NONE
    return codes


def _topic(topic: AddPartitionsToTxnTopic, codes: dict[TopicPartition, ErrorCode]) -> AddPartitionsToTxnTopicResult:
    return AddPartitionsToTxnTopicResult(
        name=topic.name,
        results_by_partition=[
            AddPartitionsToTxnPartitionResult(
                partition_index=index, partition_error_code=codes[TopicPartition(topic.name, index)]
            )
            for index in topic.partitions
        ],
    )


HANDLER = Handler(AddPartitionsToTxnRequest, 0, 5, _answer)
