"""DescribeProducers: producer state of partitions."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.transaction_states import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from kctl.sandbox.call import Call, Handler


def _answer(call: Call, request: DescribeProducersRequest) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name, partitions=[_partition(call, topic.name, index) for index in topic.partition_indexes]
            )
            for topic in request.topics
        ]
    )


def _partition(call: Call, topic: str, index: int) -> PartitionResponse:
    partition = call.cluster.partition(topic, index)
    if partition is None:
        return PartitionResponse(partition_index=index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if call.node.node_id not in partition.replicas:
        return PartitionResponse(partition_index=index, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return PartitionResponse(
        partition_index=index,
        active_producers=[
            ProducerState(
                producer_id=producer_id,
                producer_epoch=known.epoch,
                last_sequence=known.last_sequence,
                last_timestamp=known.last_timestamp_ms,
                coordinator_epoch=known.coordinator_epoch,
                current_txn_start_offset=-1 if known.open_from is None else known.open_from,
            )
            for producer_id, known in partition.log.producers
        ],
    )


HANDLER = Handler(DescribeProducersRequest, 0, 0, _answer)
