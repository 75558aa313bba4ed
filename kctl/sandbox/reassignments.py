"""Reassignments: replicas are added to a partition, copied, and then replace others. Source: KIP-455.

During a reassignment, a partition has both the added and the removed replicas. Added replicas are not in sync. Unlike
Kafka, a setting determines the duration, and throttles have no effect.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.partition import NO_LEADER, Partition

if TYPE_CHECKING:
    from kctl.sandbox.cluster import Cluster

LOOK_AGAIN_MS = 100
"""Interval of checks for nodes that are down, in ms."""

Key = tuple[str, int]


class Move(NamedTuple):
    original: tuple[int, ...]
    target: tuple[int, ...]
    started_at_ms: int

    @property
    def adding(self) -> list[int]:
        return [each for each in self.target if each not in self.original]

    @property
    def removing(self) -> list[int]:
        return [each for each in self.original if each not in self.target]


class Reassignments:
    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster
        self.moves: dict[Key, Move] = {}
        self._are_held = False
        self._known: dict[Key, tuple[tuple[int, ...], int]] = {}
        """Former replicas in the metadata of brokers, until a time: changes appear after `metadata_delay_ms`."""

    def alter(self, topic: str, index: int, target: Sequence[int] | None) -> None:
        """Start a reassignment, or cancel it if `target` is None."""
        partition = self._cluster.partition(topic, index)
        if partition is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        key = topic, index
        before = self.moves.pop(key, None)
        original = partition.replicas if before is None else before.original
        if target is None:
            if before is None:
                raise Refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
            self._become(partition, original)
            return
        if not self._is_possible(target):
            if before is not None:
                self.moves[key] = before
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT)
        move = Move(original, tuple(target), self._cluster.scheduler.now_ms())
        if not move.adding:
            self._become(partition, move.target)
            return
        self.moves[key] = move
        self._note(partition)
        partition.begin_copies((*move.target, *move.removing), move.adding)
        self._cluster.scheduler.call_later(self._duration_ms, lambda: self._finish(partition, move))

    def _is_possible(self, target: Sequence[int]) -> bool:
        return bool(target) and len(set(target)) == len(target) and set(target) <= set(self._cluster.nodes)

    def hold(self) -> None:
        self._are_held = True

    def release(self) -> None:
        self._are_held = False

    def forget_topic(self, name: str) -> None:
        self.moves = {key: move for key, move in self.moves.items() if key[0] != name}

    def replicas_in_metadata(self, partition: Partition) -> tuple[int, ...]:
        replicas, until_ms = self._known.get((partition.topic_name, partition.index), ((), 0))
        return replicas if self._cluster.scheduler.now_ms() < until_ms else partition.replicas

    def copied_share(self, partition: Partition, node_id: int) -> float:
        move = self.moves.get((partition.topic_name, partition.index))
        if move is None or node_id not in move.adding:
            return 1.0
        elapsed_ms = self._cluster.scheduler.now_ms() - move.started_at_ms
        return min(1.0, elapsed_ms / max(1, self._duration_ms))

    @property
    def _duration_ms(self) -> int:
        return self._cluster.settings.reassignment_ms

    def _finish(self, partition: Partition, move: Move) -> None:
        key = partition.topic_name, partition.index
        if self.moves.get(key) is not move:  # canceled or replaced
            return
        if (
            self._are_held
            or partition.leader_id == NO_LEADER
            or any(self._cluster.nodes[each].faults.is_down for each in move.adding)
        ):
            self._cluster.scheduler.call_later(LOOK_AGAIN_MS, lambda: self._finish(partition, move))
            return
        del self.moves[key]
        self._become(partition, move.target)

    def _become(self, partition: Partition, replicas: tuple[int, ...]) -> None:
        self._note(partition)
        partition.end_copies(replicas)
        self._cluster.replication.look(partition)

    def _note(self, partition: Partition) -> None:
        delay_ms = self._cluster.settings.metadata_delay_ms
        if delay_ms:
            until_ms = self._cluster.scheduler.now_ms() + delay_ms
            self._known[partition.topic_name, partition.index] = self.replicas_in_metadata(partition), until_ms
