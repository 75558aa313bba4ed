"""Elections of leaders: the preferred replica, or after data loss any replica.

A partition whose leader is already the wanted one is no error. A request may be carried out although its response was
lost: a partition that then needs no election has had it. Shown by tests/sim/admin/test_elections.py.
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum

from kctl.client.admin.call import Call, Items, Results, controller
from kctl.client.admin.topics import item_error
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition, by_topic
from kctl.client.errors import KafkaError
from kctl.client.protocol.api.reassignments import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions
from kctl.client.requests.retry import ADMIN_TOPICS


class ElectionType(IntEnum):
    """How a leader is chosen: Kafka's numbers."""

    PREFERRED = 0
    UNCLEAN = 1


def elect_leaders(
    call: Call, election_type: ElectionType, partitions: Sequence[TopicPartition]
) -> Results[TopicPartition, bool]:
    """Return for each partition whether an election was held; False where none was needed."""
    sent = answered = 0

    def build(pending: list[TopicPartition], timeout_ms: int) -> ElectLeadersRequest:
        nonlocal sent
        sent += 1
        topics = [TopicPartitions(topic=topic, partitions=indexes) for topic, indexes in by_topic(pending).items()]
        return ElectLeadersRequest(election_type=election_type, topic_partitions=topics, timeout_ms=timeout_ms)

    def read(response: ElectLeadersResponse) -> Items[TopicPartition, bool]:
        nonlocal answered
        answered += 1
        return item_error(call, response.error_code, "ElectLeaders", None) or items(response, was_lost=sent > answered)

    def items(response: ElectLeadersResponse, *, was_lost: bool) -> Iterator[tuple[TopicPartition, bool | KafkaError]]:
        for topic in response.replica_election_results:
            for part in topic.partition_result:
                key = TopicPartition(topic.topic, part.partition_id)
                if part.error_code == ErrorCode.ELECTION_NOT_NEEDED:
                    yield key, was_lost
                else:
                    yield key, item_error(call, part.error_code, f"ElectLeaders {key}", part.error_message) or True

    return call.ask_each(partitions, controller, build, ElectLeadersResponse, read, ADMIN_TOPICS.is_retried)
