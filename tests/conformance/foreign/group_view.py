"""What a cluster says of a group, asked by confluent-kafka's admin client: a second opinion on what kctl claims.

Shown by tests/broker/test_mixed_groups.py and tests/broker/test_coordinator_faults.py.
"""

from types import TracebackType
from typing import Self

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

TIMEOUT_S = 10.0


class GroupView:
    """Asks about groups; use it as a context manager."""

    def __init__(self, bootstrap: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def committed(self, group: str, topic: str, partitions: int) -> dict[int, int]:
        """Return the committed offset of each partition that has one.

        Raises: KafkaException: the coordinator does not answer or is not known.
        """
        wanted = [TopicPartition(topic, partition) for partition in range(partitions)]
        asked = ConsumerGroupTopicPartitions(group, wanted)
        answer = self._admin.list_consumer_group_offsets([asked], request_timeout=TIMEOUT_S)[group].result()
        found: dict[int, int] = {}
        for each in answer.topic_partitions or []:
            if each.error is not None:
                raise KafkaException(each.error)
            if each.offset >= 0:
                found[each.partition] = each.offset
        return found

    def members(self, group: str) -> list[str]:
        """Return the ids of the group's members; [] where there is no such group.

        Raises: KafkaException: the coordinator does not answer or is not known.
        """
        try:
            found = self._admin.describe_consumer_groups([group], request_timeout=TIMEOUT_S)[group].result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
                return []
            raise
        return [each.member_id for each in found.members]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        del self._admin  # its threads end with it
