"""Partition: its log, leader, followers, and high watermark. Source: KIP-101, KIP-966.

All replicas share the leader's log, and each follower has it up to an offset. A new leader truncates the log to its own
offset. The high watermark does not advance while fewer than min.insync.replicas are in sync.
"""

from collections.abc import Callable, Sequence

from kctl.sandbox.log import OffsetOutOfRange, PartitionLog

NO_LEADER = -1


class Stand:
    """State of a follower that is not replicating.

    Attributes:
        offset: end offset of the follower.
        is_out: whether it is out of sync regardless of its offset.
        is_overdue: whether replica.lag.time.max.ms has passed. It is then out of sync as soon as it lacks records.
        is_logged: whether a command stopped it.
        is_frozen: whether it stopped because its node is frozen.
    """

    __slots__ = ("is_frozen", "is_logged", "is_out", "is_overdue", "offset")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.is_out = self.is_overdue = self.is_logged = self.is_frozen = False


class Partition:
    """One partition.

    Attributes:
        is_late: whether followers replicate with a delay, by `copy`.
        begun_at: end offset at the last election.
    """

    __slots__ = (
        "_copied",
        "_high_watermark",
        "_holder",
        "_stands",
        "begun_at",
        "index",
        "is_late",
        "leader_epoch",
        "leader_id",
        "log",
        "replicas",
        "topic_name",
        "when_led",
    )  # fmt: skip

    def __init__(
        self, topic_name: str, index: int, replicas: tuple[int, ...], log: PartitionLog, *, is_late: bool = False
    ) -> None:
        self.topic_name = topic_name
        self.index = index
        self.replicas = replicas
        self.leader_id = replicas[0]
        self.leader_epoch = 0
        self.log = log
        self.is_late = is_late and len(replicas) > 1
        self._stands: dict[int, Stand] = {}
        """Stopped followers by node ID."""
        self._copied = log.end_offset
        """End offset of late followers."""
        self._holder = replicas[0]
        """Node with the complete log: the leader or the last leader."""
        self._high_watermark = self.begun_at = log.end_offset
        self.when_led: Callable[[], None] = lambda: None
        """Called after an election, including one without a leader."""
        log.begin_epoch(0)

    # --- replication state --------------------------------------------------------------------------------------------

    @property
    def in_sync(self) -> list[int]:
        return [node_id for node_id in self.replicas if self._is_in_sync(node_id)]

    def _is_in_sync(self, node_id: int) -> bool:
        stand = self._stands.get(node_id)
        return stand is None or not (stand.is_out or (stand.is_overdue and stand.offset < self.log.end_offset))

    @property
    def needed_in_sync(self) -> int:
        return min(self.log.settings.min_insync_replicas, len(self.replicas))

    def end_offset_on(self, node_id: int) -> int:
        stand = self._stands.get(node_id)
        if stand is not None:
            return min(stand.offset, self.log.end_offset)
        return (
            min(self._copied, self.log.end_offset)
            if self.is_late and node_id != self._holder
            else (self.log.end_offset)
        )

    @property
    def high_watermark(self) -> int:
        """End of the committed part of the log."""
        if not self._stands and not self.is_late:
            self._high_watermark = self.log.end_offset
            return self._high_watermark
        in_sync = self.in_sync
        if in_sync and len(in_sync) >= self.needed_in_sync:
            self._high_watermark = max(self._high_watermark, min(self.end_offset_on(one) for one in in_sync))
        self._high_watermark = min(self._high_watermark, self.log.end_offset)
        return self._high_watermark

    def readable_on(self, node_id: int) -> int:
        return min(self.high_watermark, self.end_offset_on(node_id))

    # --- followers ----------------------------------------------------------------------------------------------------

    def hold(self, node_id: int) -> None:
        """Stop a follower and remove it from the in-sync replicas."""
        stand = self.lag(node_id)
        if not stand.is_out:
            stand.is_out = True
            self._settle()

    def lag(self, node_id: int) -> Stand:
        """Stop a follower. It stays in sync until it is overdue."""
        if node_id not in self.replicas or node_id == self.leader_id:
            raise ValueError(f"broker {node_id} is not a follower of {self.topic_name}-{self.index}")
        stand = self._stand(node_id)
        stand.is_logged = True
        return stand

    def freeze(self, node_id: int) -> Stand | None:
        """Stop a follower because its node is frozen. Return its state, or None if it was stopped already."""
        if node_id not in self.replicas or node_id == self.leader_id:
            return None
        is_new = node_id not in self._stands
        stand = self._stand(node_id)
        stand.is_frozen = True
        return stand if is_new else None

    def _stand(self, node_id: int) -> Stand:
        self._settle()
        stand = self._stands.get(node_id)
        if stand is None:
            stand = self._stands[node_id] = Stand(self.end_offset_on(node_id))
        return stand

    def overdue(self, node_id: int, stand: Stand) -> None:
        if self._stands.get(node_id) is stand:
            self._settle()
            stand.is_overdue = True
            self.log.wake()

    def release(self, node_id: int) -> None:
        """Let a follower that a command stopped replicate again."""
        stand = self._stands.get(node_id)
        if stand is not None:
            stand.is_logged = False
            self._catch_up(node_id, stand)

    def thaw(self, node_id: int) -> None:
        stand = self._stands.get(node_id)
        if stand is not None and stand.is_frozen:
            stand.is_frozen = False
            self._catch_up(node_id, stand)

    def _catch_up(self, node_id: int, stand: Stand) -> None:
        if not stand.is_logged and not stand.is_frozen:
            self._settle()
            del self._stands[node_id]
            self._copied = max(self._copied, self._high_watermark)  # otherwise it would not be in sync
            self.log.wake()

    def copy(self, end_offset: int) -> None:
        """Replicate up to `end_offset` to the late followers that are not stopped."""
        if end_offset > self._copied:
            self._copied = end_offset
            self.log.wake()

    def _settle(self) -> None:
        """Store the high watermark before the in-sync replicas change."""
        self._high_watermark = self.high_watermark

    # --- reassignments ------------------------------------------------------------------------------------------------

    def begin_copies(self, replicas: tuple[int, ...], adding: Sequence[int]) -> None:
        """Set the replicas. Added replicas are empty and out of sync."""
        self._settle()
        self._drop_others(replicas)
        for node_id in adding:
            stand = self._stands.setdefault(node_id, Stand(self.log.start_offset))
            stand.is_out = stand.is_logged = True
        self.log.wake()

    def end_copies(self, replicas: tuple[int, ...]) -> None:
        """Set the replicas, which are then all complete. Elect another leader if the current one is removed."""
        self._drop_others(replicas)
        for node_id in replicas:
            self.release(node_id)
        if self.leader_id not in replicas:
            self.elect(next(iter(self.in_sync), NO_LEADER))
        self.log.wake()

    def _drop_others(self, replicas: tuple[int, ...]) -> None:
        self._settle()
        self.replicas = replicas
        self._stands = {one: at for one, at in self._stands.items() if one in replicas}

    # --- leaders ------------------------------------------------------------------------------------------------------

    def elect(self, node_id: int, end_offset: int | None = None) -> None:
        """Elect a leader with a new epoch. `NO_LEADER` removes the leader.

        Args:
            node_id: the new leader. It is added to the replicas if necessary.
            end_offset: end of the new leader's log. Later records are lost. None uses the node's own end offset.
        """
        if end_offset is not None and not self.log.start_offset <= end_offset <= self.log.end_offset:
            text = (
                f"offset {end_offset} is outside of the log (offsets {self.log.start_offset} to {self.log.end_offset})"
            )
            raise OffsetOutOfRange(text)
        self._settle()
        self.leader_id = node_id
        self.leader_epoch += 1
        if node_id != NO_LEADER:
            self._lead(node_id, end_offset)
        self.log.wake()
        self.when_led()

    def _lead(self, node_id: int, end_offset: int | None) -> None:
        if node_id not in self.replicas:
            self.replicas = (node_id, *self.replicas[1:])  # it replaces a replica after catching up
            end_offset = self.log.end_offset if end_offset is None else end_offset
        self.log.cut(self.end_offset_on(node_id) if end_offset is None else end_offset)
        self._holder = node_id
        self.begun_at = self.log.end_offset
        self._copied = min(self._copied, self.log.end_offset)
        self._stands = {one: at for one, at in self._stands.items() if one != node_id and one in self.replicas}
        self._settle()
        self.log.begin_epoch(self.leader_epoch)
