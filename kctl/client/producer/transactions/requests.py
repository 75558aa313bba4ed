"""Functions that build transaction requests and return the error in a response. They have no side effects.

Source: KIP-98, KIP-447, KIP-890. Clients use AddPartitionsToTxn up to version 3; later versions are for brokers.
Version 5 of TxnOffsetCommit and EndTxn, and 12 of Produce, need transaction.version 2.
"""

from collections.abc import Iterable, Mapping

from kctl.client.broker_errors import ErrorCode, broker_error, error_class
from kctl.client.cluster import TopicPartition, by_topic
from kctl.client.errors import BrokerError, CommitFailedError, KafkaError, RemoteProtocolError, UnsupportedVersionError
from kctl.client.producer.transactions.calls import GroupMember
from kctl.client.protocol.api.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from kctl.client.requests.group_offsets import OffsetAndMetadata, codes_in, commit_entries
from kctl.client.requests.producer_id import ProducerId
from kctl.client.requests.retry import NO_LONGER_MEMBER, decisive_code

ADD_PARTITIONS_VERSION = 3
PRODUCE_V1_VERSION = 11
OFFSETS_V1_VERSION = 4
END_V1_VERSION = 4
"""Highest versions that do not need transaction.version 2."""


def add_partitions(name: str, identity: ProducerId, partitions: Iterable[TopicPartition]) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=identity.producer_id,
        v3_and_below_producer_epoch=identity.epoch,
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name=topic, partitions=each) for topic, each in by_topic(partitions).items()
        ],
    )


def add_partitions_error(response: AddPartitionsToTxnResponse, asked: Iterable[TopicPartition]) -> KafkaError | None:
    """Return the worst error of a partition. If there is one, the coordinator has added no partition."""
    found = {
        TopicPartition(topic.name, each.partition_index): each.partition_error_code
        for topic in response.results_by_topic_v3_and_below
        for each in topic.results_by_partition
    }
    return _worst("AddPartitionsToTxn", "add {} to the transaction", found, asked)


def offset_commit(
    name: str, identity: ProducerId, member: GroupMember, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> TxnOffsetCommitRequest:
    topics = commit_entries(offsets, TxnOffsetCommitRequestPartition)
    return TxnOffsetCommitRequest(
        transactional_id=name,
        group_id=member.group_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.epoch,
        generation_id=member.generation,
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=each) for topic, each in topics.items()],
    )


def offset_commit_error(response: TxnOffsetCommitResponse, asked: Iterable[TopicPartition]) -> KafkaError | None:
    return _worst(
        "TxnOffsetCommit", "commit the offset of {} in the transaction", dict(codes_in(response.topics)), asked
    )


def _worst(
    api: str, action: str, found: Mapping[TopicPartition, int], asked: Iterable[TopicPartition]
) -> KafkaError | None:
    refused: dict[int, TopicPartition] = {}
    for tp in asked:
        code = found.get(tp)
        if code is None:
            return RemoteProtocolError(f"the {api} response does not contain {tp.topic}-{tp.partition}", api=api)
        if code != ErrorCode.NONE:
            refused.setdefault(code, tp)
    if not refused:
        return None
    code = decisive_code(refused)
    return broker_error(code, action.format(f"{refused[code].topic}-{refused[code].partition}"))


_FATAL_FOR_RECORDS = frozenset(
    {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)


def is_fatal_for_records(error: KafkaError) -> bool:
    """Return whether the error of a record ends the producer, and not only its transaction."""
    if isinstance(error, BrokerError):
        return error.code in _FATAL_FOR_RECORDS
    return isinstance(error, UnsupportedVersionError)


def as_reported(error: KafkaError) -> KafkaError:
    """Return the error for the application. An invalid epoch means that a newer producer has replaced this one."""
    if isinstance(error, BrokerError):
        if error.code == ErrorCode.INVALID_PRODUCER_EPOCH:
            return error_class(ErrorCode.PRODUCER_FENCED)(
                f"a newer producer has fenced this producer: {error}", text=error.text
            )
        if error.code in NO_LONGER_MEMBER:
            words = "cannot commit the offsets: the group has assigned the partitions to other members"
            return CommitFailedError(f"{words} ({error.name})", cause=error)
    return error
