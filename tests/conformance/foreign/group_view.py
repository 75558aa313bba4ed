"""What a cluster says of a group, asked by confluent-kafka: a second opinion on what kctl claims.

Offsets are asked of its consumer: its admin client crashes while the coordinator is still unknown.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support.bounds import bound
from tests.support.kafka.waiting import wait_until

T = TypeVar("T")
TIMEOUT_S = 10.0
PATIENCE_MS = bound(30_000)
PASSING = (
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
)


class GroupView:
    """Asks about groups, again while the coordinator is not there; use it as a context manager."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def committed(self, group: str, topic: str, partitions: int) -> dict[int, int]:
        """Return the committed offset of each partition that has one."""

        def ask() -> dict[int, int]:
            wanted = [TopicPartition(topic, partition) for partition in range(partitions)]
            found: dict[int, int] = {}
            for each in consumer.committed(wanted, timeout=TIMEOUT_S):
                if each.error is not None:
                    raise KafkaException(each.error)
                if each.offset >= 0:
                    found[each.partition] = each.offset
            return found

        consumer = Consumer({"bootstrap.servers": self._bootstrap, "group.id": group, "log_level": 0})
        try:
            return _patiently(ask, f"the offsets of {group}")
        finally:
            consumer.close()

    def members(self, group: str) -> list[str]:
        """Return the ids of the group's members; [] where there is no such group."""

        def ask() -> list[str]:
            found = self._admin.describe_consumer_groups([group], request_timeout=TIMEOUT_S)[group].result()
            return [each.member_id for each in found.members]

        return _patiently(ask, f"the members of {group}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        del self._admin  # its threads end with it


def _patiently(ask: Callable[[], T], what: str) -> T:
    answers: list[T] = []

    def is_answered() -> bool:
        try:
            answers.append(ask())
        except KafkaException as error:
            if error.args[0].code() not in PASSING:
                raise
        return bool(answers)

    wait_until(is_answered, PATIENCE_MS, what, interval_ms=100)
    return answers[0]
