"""State of moves, from the controller and the metadata of brokers.

The controller knows first that a move ended, but not its result. Brokers know the replicas, possibly later. A partition
is moved when its replicas match the plan, and not moved if they differ after SETTLE_MS.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from kctl.client.admin import Admin, Reassignment
from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import Clock
from kctl.client.cluster import TopicPartition, by_topic
from kctl.client.errors import BrokerError, KafkaError
from kctl.client.wording import listed

SETTLE_MS = 10_000
"""Time for which brokers may report old replicas: Kafka fences a broker without contact after 9s."""

MOVED, NOT_MOVED, ELSEWHERE, GONE = "moved", "not moved", "in another move", "deleted"

Replicas = tuple[int, ...]
Targets = Mapping[TopicPartition, Replicas]


class View(NamedTuple):
    """Moves, replicas and errors by partition."""

    moves: dict[TopicPartition, Reassignment]
    replicas: dict[TopicPartition, Replicas]
    failed: dict[TopicPartition, KafkaError | None]
    """None: the topic does not have the partition."""

    def is_moving(self, key: TopicPartition, target: Collection[int]) -> bool:
        move = self.moves.get(key)
        return move is not None and set(move.target) == set(target)


def view_of(admin: Admin, keys: Iterable[TopicPartition]) -> View:
    """Return the state of partitions. Moves are requested first, so that replicas are newer than the end of a move."""
    partitions = list(keys)
    moves = admin.list_partition_reassignments(partitions)
    described = admin.describe_topics(list(by_topic(partitions)))
    replicas: dict[TopicPartition, Replicas] = {}
    failed: dict[TopicPartition, KafkaError | None] = {}
    for key in partitions:
        topic = described.done.get(key.topic)
        info = None if topic is None else topic.partitions.get(key.partition)
        if info is None:
            failed[key] = described.failed.get(key.topic)
        else:
            replicas[key] = info.replicas
    return View(moves, replicas, failed)


class Watch:
    """Partitions whose move was started or cancelled."""

    def __init__(self, admin: Admin, targets: Targets, clock: Clock) -> None:
        self.outcomes: dict[TopicPartition, str] = {}
        self.view = View({}, {}, {})
        self._admin = admin
        self._targets = targets
        self._clock = clock
        self._over_at_ms: dict[TopicPartition, int] = {}

    @property
    def pending(self) -> list[TopicPartition]:
        return [key for key in self._targets if key not in self.outcomes]

    def look(self) -> str:
        """Update the state. Return a text about the unfinished partitions, or ""."""
        pending = self.pending
        if pending:
            self.view = view_of(self._admin, pending)
        now_ms = self._clock.now_ms()
        for key in pending:
            outcome = self._outcome(key, now_ms)
            if outcome is not None:
                self.outcomes[key] = outcome
        left = self.pending
        of_all = f"{len(left)} of {len(self._targets)} moves are unfinished: " if left else ""
        return of_all + listed(left)

    def _outcome(self, key: TopicPartition, now_ms: int) -> str | None:
        view, target = self.view, self._targets[key]
        if key in view.failed:
            error = view.failed[key]
            is_gone = error is None or (
                isinstance(error, BrokerError) and error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
            return GONE if is_gone else None
        if key in view.moves:
            self._over_at_ms.pop(key, None)
            return None if view.is_moving(key, target) else ELSEWHERE
        if view.replicas[key] == target:
            return MOVED
        over_at_ms = self._over_at_ms.setdefault(key, now_ms)
        return NOT_MOVED if now_ms - over_at_ms >= SETTLE_MS else None
