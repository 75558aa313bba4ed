"""Copied bytes and remaining time of moves. Replica sizes are requested at intervals."""

from collections.abc import Collection, Mapping

from kctl.cli.partitions.throttle import copy_of
from kctl.cli.partitions.watch import MOVED, View, Watch
from kctl.cli.view.status_texts import MoveProgress
from kctl.client.admin import Admin
from kctl.client.clock import Clock
from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError

LOOK_EVERY_MS = 5_000
LOOK_TIMEOUT_S = 2


class Copies:
    def __init__(
        self,
        admin: Admin,
        before: View,
        watch: Watch,
        targets: Mapping[TopicPartition, tuple[int, ...]],
        brokers: Collection[int],
        clock: Clock,
    ) -> None:
        self._admin = admin
        self._watch = watch
        self._clock = clock
        self._copies = {
            key: copy_of(before.replicas[key], targets[key], before.moves.get(key)) for key in watch.pending
        }
        used = {each for copy in self._copies.values() for each in (*copy.sources, *copy.targets)}
        self._brokers = sorted(used & set(brokers))
        self._sizes: dict[int, dict[TopicPartition, int]] = {}
        self._look_at_ms = self._started_at_ms = clock.now_ms()
        self._first: float | None = None
        """Share that was copied at the first request."""

    def progress(self) -> MoveProgress:
        now_ms = self._clock.now_ms()
        if now_ms >= self._look_at_ms:
            self._look_at_ms = now_ms + LOOK_EVERY_MS
            self._look()
        total = copied = 0
        for key, copy in self._copies.items():
            size = max((sizes.get(key, 0) for each, sizes in self._sizes.items() if each in copy.sources), default=0)
            is_moved = self._watch.outcomes.get(key) == MOVED
            for each in copy.targets:
                total += size
                copied += size if is_moved else min(size, self._sizes.get(each, {}).get(key, 0))
        done = len(self._copies) - len(self._watch.pending)
        share = copied / total if total else done / len(self._copies)
        if self._first is None:
            self._first = share
        grown = share - self._first
        eta_ms = int((now_ms - self._started_at_ms) * (1 - share) / grown) if grown > 0 else None
        return MoveProgress(done, len(self._copies), copied, total, eta_ms)

    def _look(self) -> None:
        try:
            results = self._admin.describe_log_dirs(
                self._brokers, partitions=list(self._copies), timeout=LOOK_TIMEOUT_S
            )
        except KafkaError:
            return
        for broker, folders in results.done.items():
            now = {key: size for folder in folders for key, size in folder.replica_bytes.items()}
            self._sizes[broker] = {**self._sizes.get(broker, {}), **now}
