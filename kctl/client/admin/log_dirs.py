from collections.abc import Collection, Sequence
from typing import NamedTuple

from kctl.client.admin.call import Call, Results, not_registered
from kctl.client.broker_errors import ErrorCode, broker_error, code_error
from kctl.client.cluster import TopicPartition, by_topic
from kctl.client.errors import BrokerError, KafkaError
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from kctl.client.requests.retry import ADMIN_GROUPS


class LogDir(NamedTuple):
    """A log directory of one broker.

    Attributes:
        error: reason why the broker cannot use it, or None.
        total_bytes, usable_bytes: sizes of its disk; -1 if not reported (before Kafka 3.3).
        replica_bytes: size of each replica.
    """

    path: str
    error: BrokerError | None
    total_bytes: int
    usable_bytes: int
    replica_bytes: dict[TopicPartition, int]


def describe_log_dirs(
    call: Call, node_ids: Sequence[int], partitions: Collection[TopicPartition] | None = None
) -> Results[int, list[LogDir]]:
    def attempt(pending: list[int]) -> dict[int, list[LogDir] | KafkaError]:
        return {
            node_id: found if isinstance(found, KafkaError) else [_log_dir(each, _what(node_id)) for each in found]
            for node_id, found in log_dirs_of(call, pending, partitions).items()
        }

    return call.each(node_ids, attempt, ADMIN_GROUPS.is_retried)


def log_dirs_of(
    call: Call, node_ids: Sequence[int], partitions: Collection[TopicPartition] | None
) -> dict[int, list[DescribeLogDirsResult] | KafkaError]:
    topics = None
    if partitions is not None:
        topics = [
            DescribableLogDirTopic(topic=topic, partitions=indexes) for topic, indexes in by_topic(partitions).items()
        ]
    request = DescribeLogDirsRequest(topics=topics)
    answers = call.ask_nodes({node_id: lambda _: request for node_id in node_ids})
    return {node_id: _read(call, node_id, answer) for node_id, answer in answers.items()}


def _what(node_id: int) -> str:
    return f"describe log directories of broker {node_id}"


def _read(call: Call, node_id: int, answer: Answer | KafkaError) -> list[DescribeLogDirsResult] | KafkaError:
    if isinstance(answer, KafkaError):
        return not_registered(node_id) if call.client.metadata.cluster.node(node_id) is None else answer
    assert isinstance(answer.response, DescribeLogDirsResponse)
    what = _what(node_id)
    if answer.response.error_code:
        return broker_error(answer.response.error_code, what)
    if not answer.response.results:  # before Kafka 3.2, brokers deny access by an empty list without an error code
        return broker_error(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, what)
    return answer.response.results


def _log_dir(found: DescribeLogDirsResult, what: str) -> LogDir:
    error = code_error(found.error_code, f"{what}: {found.log_dir}")
    sizes = {
        TopicPartition(topic.name, part.partition_index): part.partition_size
        for topic in found.topics
        for part in topic.partitions
        if not part.is_future_key
    }
    return LogDir(found.log_dir, error, found.total_bytes, found.usable_bytes, sizes)
