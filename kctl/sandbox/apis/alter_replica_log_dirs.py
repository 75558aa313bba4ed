"""AlterReplicaLogDirs: checks replicas only, because nodes have a single log directory."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from kctl.sandbox.apis.describe_log_dirs import LOG_DIR
from kctl.sandbox.call import Call, Handler


def _answer(call: Call, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic_name=topic.name,
                partitions=[
                    AlterReplicaLogDirPartitionResult(
                        partition_index=index, error_code=_outcome(call, folder.path, topic.name, index)
                    )
                    for index in topic.partitions
                ],
            )
            for folder in request.dirs
            for topic in folder.topics
        ]
    )


def _outcome(call: Call, path: str, topic: str, index: int) -> ErrorCode:
    if path != LOG_DIR:
        return ErrorCode.LOG_DIR_NOT_FOUND
    partition = call.cluster.partition(topic, index)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE if call.node.node_id in partition.replicas else ErrorCode.REPLICA_NOT_AVAILABLE


HANDLER = Handler(AlterReplicaLogDirsRequest, 1, 2, _answer)
