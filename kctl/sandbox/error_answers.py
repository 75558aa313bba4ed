"""An answer that refuses a whole request, for each API: what a node says that was told to fail it.

Nothing of the request is carried out. Where an API has one code for all, that is set; where each item has its own,
every item that was asked for gets it. Shown by tests/unit/sandbox/test_request_errors.py.
"""

from collections.abc import Callable
from typing import Any

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnTopicResult,
)
from kctl.client.protocol.api.consumer_group_describe import DescribedGroup as ConsumerGroup
from kctl.client.protocol.api.create_topics import CreatableTopicResult
from kctl.client.protocol.api.delete_groups import DeletableGroupResult
from kctl.client.protocol.api.delete_records import DeleteRecordsPartitionResult, DeleteRecordsTopicResult
from kctl.client.protocol.api.delete_topics import DeletableTopicResult
from kctl.client.protocol.api.describe_groups import DescribedGroup
from kctl.client.protocol.api.describe_producers import PartitionResponse as ProducersOfPartition
from kctl.client.protocol.api.describe_producers import TopicResponse as ProducersOfTopic
from kctl.client.protocol.api.describe_transactions import TransactionState
from kctl.client.protocol.api.find_coordinator import Coordinator
from kctl.client.protocol.api.list_offsets import ListOffsetsPartitionResponse, ListOffsetsTopicResponse
from kctl.client.protocol.api.metadata import MetadataResponseTopic
from kctl.client.protocol.api.offset_commit import OffsetCommitResponsePartition, OffsetCommitResponseTopic
from kctl.client.protocol.api.offset_fetch import (
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kctl.client.protocol.api.offset_for_leader_epoch import EpochEndOffset, OffsetForLeaderTopicResult
from kctl.client.protocol.api.produce import PartitionProduceResponse, TopicProduceResponse
from kctl.client.protocol.api.txn_offset_commit import (
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kctl.client.protocol.schema import Request, Response

_FIND_MANY_FROM = 4
_ADD_FOR_MANY_FROM = 4
_ONE_CODE_IN_OFFSET_FETCH_FROM = 2
_FETCH_GROUPS_FROM = 8
_DELETE_BY_STRUCT_FROM = 6
Items = dict[str, Any]
"""The fields of a response."""


def error_answer(request: Request, version: int, code: ErrorCode) -> Response:
    """Return the answer that refuses all of `request` with `code`.

    Raises:
        ValueError: the API has no error codes.
    """
    make = _BY_ITEM.get(request.API_KEY)
    items = None if make is None else make(request, version, code)
    if items is None:
        if not has_error_code(type(request)):
            raise ValueError(f"{request.NAME} has no error code")
        items = {"error_code": code}
    return request.RESPONSE(**items)


def has_error_code(request: type[Request]) -> bool:
    """Return whether answers of an API can say that all of a request failed."""
    return request.API_KEY in _BY_ITEM or any(one.name == "error_code" for one in request.RESPONSE.FIELDS)


def _produce(request: Any, _: int, code: ErrorCode) -> Items:
    return {
        "responses": [
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    PartitionProduceResponse(index=data.index, error_code=code, base_offset=-1)
                    for data in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    }


def _list_offsets(request: Any, _: int, code: ErrorCode) -> Items:
    return {
        "topics": [
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=code)
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    }


def _metadata(request: Any, _: int, code: ErrorCode) -> Items:
    return {
        "topics": [
            MetadataResponseTopic(error_code=code, name=topic.name, topic_id=topic.topic_id)
            for topic in request.topics or ()
        ]
    }


def _offset_commit(request: Any, _: int, code: ErrorCode) -> Items:
    return {
        "topics": [
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=asked.partition_index, error_code=code)
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    }


def _offset_fetch(request: Any, version: int, code: ErrorCode) -> Items | None:
    if version < _ONE_CODE_IN_OFFSET_FETCH_FROM:
        return {
            "topics": [
                OffsetFetchResponseTopic(
                    name=topic.name,
                    partitions=[
                        OffsetFetchResponsePartition(partition_index=index, committed_offset=-1, error_code=code)
                        for index in topic.partition_indexes
                    ],
                )
                for topic in request.topics or ()
            ]
        }
    if version < _FETCH_GROUPS_FROM:
        return None
    return {"groups": [OffsetFetchResponseGroup(group_id=one.group_id, error_code=code) for one in request.groups]}


def _add_partitions_to_txn(request: Any, version: int, code: ErrorCode) -> Items | None:
    if version >= _ADD_FOR_MANY_FROM:
        return None
    return {
        "results_by_topic_v3_and_below": [
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
                    for index in topic.partitions
                ],
            )
            for topic in request.v3_and_below_topics
        ]
    }


def _txn_offset_commit(request: Any, _: int, code: ErrorCode) -> Items:
    return {
        "topics": [
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(partition_index=asked.partition_index, error_code=code)
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    }


def _find_coordinator(request: Any, version: int, code: ErrorCode) -> Items:
    nowhere: Items = {"node_id": -1, "host": "", "port": -1, "error_code": code}
    if version < _FIND_MANY_FROM:
        return nowhere
    return {"coordinators": [Coordinator(key=key, error_message=None, **nowhere) for key in request.coordinator_keys]}


def _offset_for_leader_epoch(request: Any, _: int, code: ErrorCode) -> Items:
    return {
        "topics": [
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[EpochEndOffset(partition=asked.partition, error_code=code) for asked in topic.partitions],
            )
            for topic in request.topics
        ]
    }


def _create_topics(request: Any, _: int, code: ErrorCode) -> Items:
    return {"topics": [CreatableTopicResult(name=topic.name, error_code=code) for topic in request.topics]}


def _delete_topics(request: Any, version: int, code: ErrorCode) -> Items:
    if version < _DELETE_BY_STRUCT_FROM:
        return {"responses": [DeletableTopicResult(name=name, error_code=code) for name in request.topic_names]}
    topics = request.topics
    return {
        "responses": [DeletableTopicResult(name=one.name, topic_id=one.topic_id, error_code=code) for one in topics]
    }


_BY_ITEM: dict[int, Callable[[Any, int, ErrorCode], Items | None]] = {
    0: _produce,
    21: lambda request, _, code: {
        "topics": [
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    DeleteRecordsPartitionResult(
                        partition_index=asked.partition_index, low_watermark=-1, error_code=code
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    },
    24: _add_partitions_to_txn,
    28: _txn_offset_commit,
    61: lambda request, _, code: {
        "topics": [
            ProducersOfTopic(
                name=topic.name,
                partitions=[
                    ProducersOfPartition(partition_index=index, error_code=code) for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    },
    65: lambda request, _, code: {
        "transaction_states": [
            TransactionState(transactional_id=one, error_code=code) for one in request.transactional_ids
        ]
    },
    2: _list_offsets,
    3: _metadata,
    8: _offset_commit,
    9: _offset_fetch,
    10: _find_coordinator,
    15: lambda request, _, code: {
        "groups": [DescribedGroup(group_id=name, error_code=code) for name in request.groups]
    },
    19: _create_topics,
    20: _delete_topics,
    23: _offset_for_leader_epoch,
    42: lambda request, _, code: {
        "results": [DeletableGroupResult(group_id=name, error_code=code) for name in request.groups_names]
    },
    69: lambda request, _, code: {
        "groups": [ConsumerGroup(group_id=name, error_code=code) for name in request.group_ids]
    },
}
"""APIs whose items have codes of their own. None of a function: this version has one code for all."""
