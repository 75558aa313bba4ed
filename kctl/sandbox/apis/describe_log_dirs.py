"""DescribeLogDirs: the single log directory of a node, its size, and its replicas."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.partition import Partition

LOG_DIR = "/sandbox"


def _topic(name: str, sizes: dict[int, int]) -> DescribeLogDirsTopic:
    partitions = [DescribeLogDirsPartition(partition_index=index, partition_size=size) for index, size in sizes.items()]
    return DescribeLogDirsTopic(name=name, partitions=partitions)


def _answer(call: Call, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    state = call.node.state
    if state.is_disk_offline:
        return DescribeLogDirsResponse(
            results=[DescribeLogDirsResult(log_dir=LOG_DIR, error_code=ErrorCode.KAFKA_STORAGE_ERROR)]
        )
    wanted = None if request.topics is None else {each.topic: each.partitions for each in request.topics}
    used_bytes = 0
    topics = []
    for topic in call.cluster.topics.values():
        replicas = [each for each in topic.partitions.values() if call.node.node_id in each.replicas]
        sizes = {each.index: _size_bytes(call, each) for each in replicas}
        used_bytes += sum(sizes.values())
        shown = [each for each in replicas if wanted is None or each.index in wanted.get(topic.name, ())]
        if shown:
            topics.append(_topic(topic.name, {each.index: sizes[each.index] for each in shown}))
    folder = DescribeLogDirsResult(
        log_dir=LOG_DIR,
        topics=topics,
        total_bytes=state.disk_bytes,
        usable_bytes=max(0, state.disk_bytes - used_bytes),
    )
    return DescribeLogDirsResponse(results=[folder])


def _size_bytes(call: Call, partition: Partition) -> int:
    share = call.cluster.reassignments.copied_share(partition, call.node.node_id)
    return int(share * sum(len(stored.data) for stored in partition.log.batches))


HANDLER = Handler(DescribeLogDirsRequest, 1, 5, _answer)
