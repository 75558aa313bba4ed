"""Transactions of a cluster: their coordinators, timeouts, and markers.

If a coordinator moves, the new coordinator continues to write the markers.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.groups.coordinator import TROUBLES
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.groups.timers import GroupTimers
from kctl.sandbox.transactions.group_offsets import GroupOffsets
from kctl.sandbox.transactions.markers import Markers, write_all
from kctl.sandbox.transactions.transaction import (
    EPOCH_PER_TRANSACTION,
    PREPARED,
    ProducerIdentity,
    State,
    TopicPartition,
    Transaction,
)

if TYPE_CHECKING:
    from kctl.sandbox.cluster import Cluster, ClusterNode

_TIMEOUT = "transaction.timeout.ms"


class Transactions:
    def __init__(self, cluster: "Cluster") -> None:
        self.offsets = GroupOffsets(cluster.groups)
        self._cluster = cluster
        self._by_id: dict[str, Transaction] = {}
        self._timers: dict[str, GroupTimers] = {}
        self._markers: dict[str, Markers] = {}
        self._held: dict[str, None] = {}
        self._losing: dict[str, None] = {}
        self._moved: dict[str, int] = {}
        self._epochs: dict[str, int] = {}
        self._troubles: dict[str, ErrorCode] = {}
        for node in cluster.nodes.values():
            node.faults.on_change(self._thaw)

    def _thaw(self) -> None:
        for timers in list(self._timers.values()):
            timers.thaw()
        for markers in list(self._markers.values()):
            markers.write()

    # --- coordinators -------------------------------------------------------------------------------------------------

    def node_of(self, transactional_id: str) -> "ClusterNode":
        moved = self._moved.get(transactional_id)
        return self._cluster.coordinator_of(transactional_id) if moved is None else self._cluster.nodes[moved]

    def move(self, transactional_id: str, node_id: int) -> None:
        node = self._cluster.nodes[node_id]
        self._unload(transactional_id)
        self._moved[transactional_id] = node.node_id
        self._epochs[transactional_id] = self._epochs.get(transactional_id, 0) + 1
        self._load(transactional_id)

    def trouble(self, transactional_id: str, code: ErrorCode | None) -> None:
        """Fail requests of a transactional ID with one of `TROUBLES`. None stops the errors. Raise ValueError for other
        codes.
        """
        if code is not None and code not in TROUBLES:
            names = ", ".join(one.name for one in TROUBLES)
            raise ValueError(f"{code.name} is not a coordinator error: use one of {names}")
        self._unload(transactional_id)
        if code is None:
            self._troubles.pop(transactional_id, None)
        else:
            self._troubles[transactional_id] = code
        self._load(transactional_id)

    def _unload(self, transactional_id: str) -> None:
        markers = self._markers.pop(transactional_id, None)
        if markers is not None:
            markers.stop()
        timers = self._timers.get(transactional_id)
        if timers is not None:
            timers.cancel_all()

    def _load(self, transactional_id: str) -> None:
        found = self._by_id.get(transactional_id)
        if found is None or transactional_id in self._troubles:
            return
        if found.state is State.ONGOING:
            self._watch_time(found)
        elif found.state in PREPARED:
            self._write_markers(found)

    def lookup_error(self, transactional_id: str) -> ErrorCode:
        code = self._troubles.get(transactional_id, ErrorCode.NONE)
        return code if code is ErrorCode.COORDINATOR_NOT_AVAILABLE else ErrorCode.NONE

    def check(self, transactional_id: str, node: "ClusterNode") -> None:
        code = self._troubles.get(transactional_id, ErrorCode.NONE)
        if code is ErrorCode.NONE and self.node_of(transactional_id) is not node:
            code = ErrorCode.NOT_COORDINATOR
        if code is not ErrorCode.NONE:
            raise Refused(code)

    # --- transactions -------------------------------------------------------------------------------------------------

    def get(self, transactional_id: str) -> Transaction | None:
        return self._by_id.get(transactional_id)

    def on(self, node: "ClusterNode") -> Iterator[Transaction]:
        for transactional_id, transaction in self._by_id.items():
            if self.node_of(transactional_id) is node:
                yield transaction

    def _known(self, transactional_id: str) -> Transaction:
        if not transactional_id:
            raise Refused(ErrorCode.INVALID_REQUEST)
        found = self._by_id.get(transactional_id)
        if found is None:
            raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return found

    # --- requests ---------------------------------------------------------------------------------------------------

    def initialise(self, transactional_id: str, expected: ProducerIdentity | None, timeout_ms: int) -> ProducerIdentity:
        """Assign a transactional ID to a producer and abort its open transaction; see `Transaction.initialise`."""
        if not transactional_id:
            raise Refused(ErrorCode.INVALID_REQUEST)
        if not 0 < timeout_ms <= self._cluster.settings.transaction_max_timeout_ms:
            raise Refused(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        found = self._by_id.get(transactional_id)
        if found is None:
            found = self._by_id[transactional_id] = Transaction(transactional_id, self._cluster.new_producer_id())
        try:
            return found.initialise(expected, timeout_ms, self._cluster.new_producer_id)
        except Refused as refusal:
            if found.state is State.ONGOING and refusal.code is ErrorCode.CONCURRENT_TRANSACTIONS:
                self._fence(found)
            raise

    def add(self, transactional_id: str, claimed: ProducerIdentity, partitions: Iterable[TopicPartition]) -> None:
        found = self._known(transactional_id)
        if found.add(claimed, partitions, self._cluster.scheduler.wall_ms()):
            self._watch_time(found)

    def verify(self, transactional_id: str, claimed: ProducerIdentity, partition: TopicPartition) -> None:
        self._known(transactional_id).verify(claimed, partition)

    def end(
        self, transactional_id: str, claimed: ProducerIdentity, *, commit: bool, has_own_epoch: bool
    ) -> ProducerIdentity:
        found = self._known(transactional_id)
        holder = found.end(
            claimed,
            commit=commit,
            has_own_epoch=has_own_epoch,
            wall_ms=self._cluster.scheduler.wall_ms(),
            new_producer_id=self._cluster.new_producer_id,
        )
        if found.state in PREPARED:
            self._write_markers(found)
        return holder

    # --- timeouts and markers -----------------------------------------------------------------------------------------

    def _timers_of(self, transactional_id: str) -> GroupTimers:
        if transactional_id not in self._timers:
            cluster = self._cluster
            self._timers[transactional_id] = GroupTimers(
                lambda: cluster.scheduler,
                lambda: self.node_of(transactional_id).faults.is_frozen,
                cluster.groups.outbox,
            )
        return self._timers[transactional_id]

    def _watch_time(self, transaction: Transaction) -> None:
        until_ms = transaction.started_at_ms + transaction.timeout_ms
        left_ms = max(0, until_ms - self._cluster.scheduler.wall_ms())
        timers = self._timers_of(transaction.transactional_id)
        timers.start(_TIMEOUT, left_ms, lambda: self._fence(transaction))

    def _fence(self, transaction: Transaction) -> None:
        transaction.fence(has_own_epoch=self._cluster.settings.transaction_version >= EPOCH_PER_TRANSACTION)
        self._write_markers(transaction)

    def _write_markers(self, transaction: Transaction) -> None:
        transactional_id = transaction.transactional_id
        timers = self._timers_of(transactional_id)
        timers.cancel(_TIMEOUT)
        delay_ms = self._cluster.settings.transaction_marker_delay_ms
        are_lost = transactional_id in self._losing
        self._losing.pop(transactional_id, None)
        markers = self._markers[transactional_id] = Markers(
            self._cluster,
            self.offsets,
            transaction.identity,
            [] if are_lost else list(transaction.partitions),
            lambda: self._completed(transaction),
            commit=transaction.state is State.PREPARE_COMMIT,
            coordinator_epoch=self._epochs.get(transactional_id, 0),
            are_delayed=delay_ms > 0,
        )
        if transactional_id in self._held:
            markers.hold()
        if not delay_ms:
            markers.write()
            return
        count = max(1, len(transaction.partitions))
        for number in range(1, count + 1):
            timers.start(f"marker {number}", delay_ms * number // count, markers.write_next)

    def end_prepared(self) -> None:
        """Write the missing markers of all prepared transactions immediately, even if faults hold or delay them."""
        for transaction in self._by_id.values():
            if transaction.state in PREPARED:
                self._unload(transaction.transactional_id)
                write_all(
                    self._cluster,
                    self.offsets,
                    transaction.identity,
                    transaction.partitions,
                    commit=transaction.state is State.PREPARE_COMMIT,
                    coordinator_epoch=self._epochs.get(transaction.transactional_id, 0),
                )
                transaction.complete()

    def _completed(self, transaction: Transaction) -> None:
        del self._markers[transaction.transactional_id]
        transaction.complete()

    def hold_markers(self, transactional_id: str) -> None:
        """Write no markers of the transactional ID until `release_markers`."""
        self._held[transactional_id] = None
        if transactional_id in self._markers:
            self._markers[transactional_id].hold()

    def lose_markers(self, transactional_id: str) -> None:
        """Complete the next transaction without markers, so that it stays open in its partitions."""
        self._losing[transactional_id] = None

    def release_markers(self, transactional_id: str) -> None:
        self._held.pop(transactional_id, None)
        if transactional_id in self._markers:
            self._markers[transactional_id].release()
