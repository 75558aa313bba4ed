"""Log directories of replicas, and moves between the directories of a broker. Source: KIP-113."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from kctl.client.admin.call import Call, Results, not_registered
from kctl.client.admin.cluster_values import Replica, ReplicaLogDir
from kctl.client.admin.log_dirs import log_dirs_of
from kctl.client.broker_errors import ErrorCode, broker_error, code_error
from kctl.client.cluster import TopicPartition, by_topic
from kctl.client.errors import BrokerError, KafkaError
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
    DescribeLogDirsResult,
)
from kctl.client.requests.retry import ADMIN_GROUPS


def alter_replica_log_dirs(call: Call, moves: Mapping[Replica, str]) -> Results[Replica, None]:
    def attempt(pending: list[Replica]) -> dict[Replica, bool | KafkaError]:
        by_broker: dict[int, list[Replica]] = {}
        for each in pending:
            by_broker.setdefault(each.broker_id, []).append(each)
        requests = {broker_id: _request(moves, replicas) for broker_id, replicas in by_broker.items()}
        answers = call.ask_nodes({broker_id: partial(_send, request) for broker_id, request in requests.items()})
        return {
            key: fate
            for broker_id, answer in answers.items()
            for key, fate in _fates(call, broker_id, answer, by_broker[broker_id]).items()
        }

    return call.each(moves, attempt, _is_retried).without_values()


def _is_retried(error: KafkaError, tries: int) -> bool:
    """Return whether to retry an error; a broker's error about a replica is final."""
    return not isinstance(error, BrokerError) and ADMIN_GROUPS.is_retried(error, tries)


def _send(request: AlterReplicaLogDirsRequest, _timeout_ms: int) -> AlterReplicaLogDirsRequest:
    return request


def _request(moves: Mapping[Replica, str], replicas: list[Replica]) -> AlterReplicaLogDirsRequest:
    by_path: dict[str, list[TopicPartition]] = {}
    for each in replicas:
        by_path.setdefault(moves[each], []).append(TopicPartition(each.topic, each.partition))
    return AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(
                path=path,
                topics=[
                    AlterReplicaLogDirTopic(name=name, partitions=numbers)
                    for name, numbers in by_topic(partitions).items()
                ],
            )
            for path, partitions in by_path.items()
        ]
    )


def _fates(
    call: Call, broker_id: int, answer: Answer | KafkaError, replicas: list[Replica]
) -> dict[Replica, bool | KafkaError]:
    if isinstance(answer, KafkaError) and call.client.metadata.cluster.node(broker_id) is None:
        answer = not_registered(broker_id)

    def read(response: AlterReplicaLogDirsResponse) -> Iterator[tuple[Replica, bool | KafkaError]]:
        for topic in response.results:
            for part in topic.partitions:
                key = Replica(topic.topic_name, part.partition_index, broker_id)
                what = f"move {key.topic}-{key.partition} on broker {broker_id}"
                yield key, code_error(part.error_code, what) or True

    return call.items(answer, replicas, read)


def describe_replica_log_dirs(call: Call, replicas: Iterable[Replica]) -> Results[Replica, ReplicaLogDir]:
    def attempt(pending: list[Replica]) -> dict[Replica, ReplicaLogDir | KafkaError]:
        brokers = list(dict.fromkeys(each.broker_id for each in pending))
        partitions = {TopicPartition(each.topic, each.partition) for each in pending}
        found = {broker_id: _places(dirs) for broker_id, dirs in log_dirs_of(call, brokers, partitions).items()}
        return {each: _place(each, found[each.broker_id]) for each in pending}

    return call.each(replicas, attempt, _is_retried)


def _places(dirs: list[DescribeLogDirsResult] | KafkaError) -> dict[TopicPartition, ReplicaLogDir] | KafkaError:
    if isinstance(dirs, KafkaError):
        return dirs
    present: dict[TopicPartition, tuple[str, int, int]] = {}
    future: dict[TopicPartition, tuple[str, int, int]] = {}
    for each in dirs:
        for topic in each.topics:
            for part in topic.partitions:
                places = future if part.is_future_key else present
                tp = TopicPartition(topic.name, part.partition_index)
                places[tp] = each.log_dir, part.partition_size, part.offset_lag
    return {
        tp: ReplicaLogDir(*place, *future[tp]) if tp in future else ReplicaLogDir(*place)
        for tp, place in present.items()
    }


def _place(replica: Replica, found: Mapping[TopicPartition, ReplicaLogDir] | KafkaError) -> ReplicaLogDir | KafkaError:
    if isinstance(found, KafkaError):
        return found
    place = found.get(TopicPartition(replica.topic, replica.partition))
    if place is None:
        what = f"find {replica.topic}-{replica.partition} on broker {replica.broker_id}"
        return broker_error(ErrorCode.REPLICA_NOT_AVAILABLE, what)
    return place
