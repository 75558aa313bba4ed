"""Abort of open transactions by WriteTxnMarkers at the partition leader, even if no coordinator knows them (KIP-664).

A marker is sent only if the transaction is still open.
"""

from collections.abc import Iterator
from functools import partial

from kctl.client.admin.at_leaders import ask_leaders
from kctl.client.admin.call import Call
from kctl.client.admin.producers import ActiveProducer, describe_producers
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.protocol.api.transaction_states import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kctl.client.requests.retry import ADMIN_OFFSETS, Decision


def abort_transaction(call: Call, partition: TopicPartition, start_offset: int) -> ActiveProducer:
    """Abort the transaction that begins at an offset of a partition; return its producer.

    Raises: KafkaError: no open transaction begins there (INVALID_TXN_STATE), or the abort failed.
    """
    found: list[ActiveProducer] = []

    def attempt(pending: list[TopicPartition]) -> dict[TopicPartition, ActiveProducer | KafkaError]:
        producers = describe_producers(call, pending)[partition]
        is_open = [each for each in producers if each.transaction_start_offset == start_offset]
        if not is_open:
            gone = broker_error(
                ErrorCode.INVALID_TXN_STATE,
                f"abort the transaction of {partition}",
                f"no open transaction begins at offset {start_offset}",
            )
            return {partition: found[0] if found else gone}

        was_sent = bool(found)

        def marker(infos: dict[TopicPartition, PartitionInfo], _timeout_ms: int) -> WriteTxnMarkersRequest:
            found[:] = is_open[:1]  # from now on, this request may be the reason why the transaction is gone
            return _marker(is_open[0], infos)

        results = ask_leaders(call, pending, marker, partial(_read, call), is_retried=_never)
        error = results.failed.get(partition)
        if error is not None and ADMIN_OFFSETS.decide(error) is Decision.LEADER and not was_sent:
            found.clear()  # the only request went to a broker that does not lead: it had no effect
        return {partition: results.failed.get(partition, is_open[0])}

    return call.each([partition], attempt, ADMIN_OFFSETS.is_retried)[partition]


def _marker(producer: ActiveProducer, infos: dict[TopicPartition, PartitionInfo]) -> WriteTxnMarkersRequest:
    topics = [WritableTxnMarkerTopic(name=key.topic, partition_indexes=[key.partition]) for key in infos]
    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        topics=topics,
        coordinator_epoch=producer.coordinator_epoch or 0,
    )
    return WriteTxnMarkersRequest(markers=[marker])


def _read(
    call: Call, response: WriteTxnMarkersResponse, node_id: int
) -> Iterator[tuple[TopicPartition, KafkaError | None]]:
    for marker in response.markers:
        for topic in marker.topics:
            for part in topic.partitions:
                key = TopicPartition(topic.name, part.partition_index)
                what = f"abort the transaction of {key} on {call.name_of(node_id)}"
                yield key, broker_error(part.error_code, what) if part.error_code else None


def _never(_error: KafkaError, _tries: int) -> bool:
    return False
