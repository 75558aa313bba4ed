"""DescribeLogDirs: one directory a node, on a disk without an end, with the replicas that the node has."""

from kctl.client.protocol.api.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.partition import Partition

_TOTAL_BYTES = 1 << 40


def _answer(call: Call, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    wanted = None if request.topics is None else {each.topic: each.partitions for each in request.topics}
    used_bytes = 0
    topics = []
    for topic in call.cluster.topics.values():
        replicas = [each for each in topic.partitions.values() if call.node.node_id in each.replicas]
        sizes = {each.index: _size_bytes(call, each) for each in replicas}
        used_bytes += sum(sizes.values())
        shown = [each for each in replicas if wanted is None or each.index in wanted.get(topic.name, ())]
        if shown:
            partitions = [
                DescribeLogDirsPartition(partition_index=each.index, partition_size=sizes[each.index]) for each in shown
            ]
            topics.append(DescribeLogDirsTopic(name=topic.name, partitions=partitions))
    folder = DescribeLogDirsResult(
        log_dir="/sandbox", topics=topics, total_bytes=_TOTAL_BYTES, usable_bytes=_TOTAL_BYTES - used_bytes
    )
    return DescribeLogDirsResponse(results=[folder])


def _size_bytes(call: Call, partition: Partition) -> int:
    share = call.cluster.reassignments.copied_share(partition, call.node.node_id)
    return int(share * sum(len(stored.data) for stored in partition.log.batches))


HANDLER = Handler(DescribeLogDirsRequest, 1, 5, _answer)
