"""Producers that partitions remember. Source: KIP-664."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from kctl.client.admin.at_leaders import ask_leaders
from kctl.client.admin.call import Call, Results
from kctl.client.broker_errors import broker_error
from kctl.client.cluster import PartitionInfo, TopicPartition, by_topic
from kctl.client.errors import KafkaError
from kctl.client.protocol.api.transaction_states import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    ProducerState,
    TopicRequest,
)
from kctl.client.protocol.schema import Request


class ActiveProducer(NamedTuple):
    """A producer as the leader of one partition remembers it.

    Attributes:
        last_sequence: last sequence number; -1 if there is none in this epoch.
        last_timestamp_ms: timestamp of the last record or marker; -1 if unknown.
        coordinator_epoch: coordinator epoch of the last marker; None without a marker on the partition.
        transaction_start_offset: start of the open transaction; None without one.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int | None
    transaction_start_offset: int | None


Producers = tuple[ActiveProducer, ...]


def describe_producers(call: Call, partitions: Iterable[TopicPartition]) -> Results[TopicPartition, Producers]:
    return ask_leaders(call, partitions, _build, partial(_read, call))


def _build(infos: dict[TopicPartition, PartitionInfo], _timeout_ms: int) -> Request:
    topics = [TopicRequest(name=name, partition_indexes=indexes) for name, indexes in by_topic(infos).items()]
    return DescribeProducersRequest(topics=topics)


def _read(
    call: Call, response: DescribeProducersResponse, node_id: int
) -> Iterator[tuple[TopicPartition, Producers | KafkaError]]:
    for topic in response.topics:
        for part in topic.partitions:
            key = TopicPartition(topic.name, part.partition_index)
            if part.error_code:
                what = f"describe producers of {key} on {call.name_of(node_id)}"
                yield key, broker_error(part.error_code, what, part.error_message)
            else:
                yield key, tuple(map(_active, part.active_producers))


def _active(producer: ProducerState) -> ActiveProducer:
    return ActiveProducer(
        producer.producer_id,
        producer.producer_epoch,
        producer.last_sequence,
        producer.last_timestamp,
        None if producer.coordinator_epoch < 0 else producer.coordinator_epoch,
        None if producer.current_txn_start_offset < 0 else producer.current_txn_start_offset,
    )
