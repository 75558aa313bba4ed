"""Append of a produced batch by the leader. Source: KIP-98 and KIP-890 (transactions), min.insync.replicas."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.produce import PartitionProduceData, ProduceRequest
from kctl.sandbox.batches import HEADER_BYTES, BatchHeader, header_of
from kctl.sandbox.call import Call
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.partition import Partition
from kctl.sandbox.producers import Appended
from kctl.sandbox.transactions.transaction import ProducerIdentity, TopicPartition
from kctl.sandbox.transactions.verification import Speaks, add_or_verify, for_a_producer

ALL = -1
"""acks=all: all in-sync replicas must have the batch."""
_ACKS = (ALL, 0, 1)
_ABORTABLE_FROM = 11
_ADDING_FROM = 12
_MAGIC = 2


def _transactional_producers(request: ProduceRequest) -> set[ProducerIdentity]:
    return {
        ProducerIdentity(header.producer_id, header.producer_epoch)
        for topic in request.topic_data
        for data in topic.partition_data
        if (header := _transactional(data)) is not None
    }


def check_request(request: ProduceRequest) -> None:
    """Raise Refused if the acks or the transaction of a request are invalid."""
    producers = _transactional_producers(request)
    if producers and request.transactional_id is None:
        raise Refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if request.acks not in _ACKS:
        raise Refused(ErrorCode.INVALID_REQUIRED_ACKS)
    if len(producers) > 1:
        raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)


def _transactional(data: PartitionProduceData) -> BatchHeader | None:
    records = data.records
    if records is None or len(records) < HEADER_BYTES:
        return None
    header = header_of(records)
    is_one = header.magic == _MAGIC and header.producer_id >= 0 and header.is_transactional
    return header if is_one else None


def append(call: Call, request: ProduceRequest, partition: Partition, data: PartitionProduceData) -> Appended:
    """Append a batch to a partition that this node leads. Raise Refused or BatchRefused if it is rejected."""
    _take_part(call, request, partition, data)
    log = partition.log
    if request.acks == ALL and len(partition.in_sync) < partition.needed_in_sync:
        raise Refused(ErrorCode.NOT_ENOUGH_REPLICAS)
    return log.append(data.records, partition.leader_epoch, call.cluster.scheduler.wall_ms())


def _take_part(call: Call, request: ProduceRequest, partition: Partition, data: PartitionProduceData) -> None:
    """Add the partition to the batch's transaction, or verify that it was added, unless the log has the transaction
    open.
    """
    header = _transactional(data)
    if header is None or partition.log.producers.has_open(header.producer_id, header.producer_epoch):
        return
    speaks = Speaks.OLD_ERRORS
    if call.version >= _ABORTABLE_FROM:
        speaks = Speaks.ADDING if call.version >= _ADDING_FROM else Speaks.ABORTABLE_ERRORS
    partition.log.producers.asked_for(header, adds_itself=speaks is Speaks.ADDING)
    producer = ProducerIdentity(header.producer_id, header.producer_epoch)
    at = TopicPartition(partition.topic_name, partition.index)
    try:
        add_or_verify(call.cluster, request.transactional_id or "", producer, at, speaks)
    except Refused as refusal:
        raise Refused(for_a_producer(refusal.code, speaks)) from None
