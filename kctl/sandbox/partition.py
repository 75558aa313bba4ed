"""One partition: its log, who leads it, who follows, how far, and what counts as committed.

One log, the leader's, serves all replicas: each follower sees it up to where it stands. What the replicas in sync all
have is committed: the high watermark. A new leader continues where it stood; what it lacks is lost. Time and protocol
are not known here: replication.py says when followers move.

Source: KIP-101, KIP-966 (the high watermark stands while fewer than min.insync.replicas are in sync).
"""

from collections.abc import Callable, Sequence

from kctl.sandbox.log import OffsetOutOfRange, PartitionLog

NO_LEADER = -1


class Stand:
    """A follower that copies nothing at present.

    Attributes:
        offset: where it stands.
        is_out: it is out of sync, whatever it has.
        is_overdue: it is out of sync as soon as it lacks anything (replica.lag.time.max.ms has passed).
        is_logged, is_frozen: why it stands still: by a command, or because its node does.
    """

    __slots__ = ("is_frozen", "is_logged", "is_out", "is_overdue", "offset")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.is_out = self.is_overdue = self.is_logged = self.is_frozen = False


class Partition:
    """One partition.

    Attributes:
        is_late: followers have only what they were given by `copy`, and not at once all there is.
        begun_at: where the log ended when the leader began.
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
        """By node id: the followers that copy nothing."""
        self._copied = log.end_offset
        """Up to where the others have the log, if they are late."""
        self._holder = replicas[0]
        """Who has the whole log: the leader, or the last one."""
        self._high_watermark = self.begun_at = log.end_offset
        self.when_led: Callable[[], None] = lambda: None
        """Called when another leader was elected, or none is left."""
        log.begin_epoch(0)

    # --- who has what -----------------------------------------------------------------------------------------------

    @property
    def in_sync(self) -> list[int]:
        """The replicas that count as having all there is, in the order of `replicas`."""
        return [node_id for node_id in self.replicas if self._is_in_sync(node_id)]

    def _is_in_sync(self, node_id: int) -> bool:
        stand = self._stands.get(node_id)
        return stand is None or not (stand.is_out or (stand.is_overdue and stand.offset < self.log.end_offset))

    @property
    def needed_in_sync(self) -> int:
        """How many replicas have to be in sync for acks=all; more than there are cannot be asked for."""
        return min(self.log.settings.min_insync_replicas, len(self.replicas))

    def end_offset_on(self, node_id: int) -> int:
        """Return up to where a replica has the log."""
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
        """Up to where the log is committed."""
        if not self._stands and not self.is_late:
            self._high_watermark = self.log.end_offset
            return self._high_watermark
        in_sync = self.in_sync
        if in_sync and len(in_sync) >= self.needed_in_sync:
            self._high_watermark = max(self._high_watermark, min(self.end_offset_on(one) for one in in_sync))
        self._high_watermark = min(self._high_watermark, self.log.end_offset)
        return self._high_watermark

    def readable_on(self, node_id: int) -> int:
        """Return up to where a replica lets consumers read."""
        return min(self.high_watermark, self.end_offset_on(node_id))

    # --- followers --------------------------------------------------------------------------------------------------

    def hold(self, node_id: int) -> None:
        """Let a follower stand where it is, out of sync.

        Raises:
            ValueError: the node is not a follower.
        """
        stand = self.lag(node_id)
        if not stand.is_out:
            stand.is_out = True
            self._settle()

    def lag(self, node_id: int) -> Stand:
        """Let a follower stand where it is, in sync until it is found to be overdue.

        Raises:
            ValueError: the node is not a follower.
        """
        if node_id not in self.replicas or node_id == self.leader_id:
            raise ValueError(f"node {node_id} is not a follower of {self.topic_name}-{self.index}")
        stand = self._stand(node_id)
        stand.is_logged = True
        return stand

    def freeze(self, node_id: int) -> Stand | None:
        """Take note that the node of a follower stands still; return what is new, or None."""
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
        """Take note that a follower has stood for replica.lag.time.max.ms, if it still does."""
        if self._stands.get(node_id) is stand:
            self._settle()
            stand.is_overdue = True
            self.log.wake()

    def release(self, node_id: int) -> None:
        """Let a follower that stood still by a command catch up."""
        stand = self._stands.get(node_id)
        if stand is not None:
            stand.is_logged = False
            self._catch_up(node_id, stand)

    def thaw(self, node_id: int) -> None:
        """Let a follower whose node stood still catch up."""
        stand = self._stands.get(node_id)
        if stand is not None and stand.is_frozen:
            stand.is_frozen = False
            self._catch_up(node_id, stand)

    def _catch_up(self, node_id: int, stand: Stand) -> None:
        if not stand.is_logged and not stand.is_frozen:
            self._settle()
            del self._stands[node_id]
            self._copied = max(self._copied, self._high_watermark)  # before that it would not count as in sync again
            self.log.wake()

    def copy(self, end_offset: int) -> None:
        """Let the followers that are late, and do not stand, have the log up to there."""
        if end_offset > self._copied:
            self._copied = end_offset
            self.log.wake()

    def _settle(self) -> None:
        """Commit what is committed by now, before who counts for that changes."""
        self._high_watermark = self.high_watermark

    # --- moves ------------------------------------------------------------------------------------------------------

    def begin_copies(self, replicas: tuple[int, ...], adding: Sequence[int]) -> None:
        """Have these replicas from now on; those that are added have nothing and are out of sync."""
        self._settle()
        self._drop_others(replicas)
        for node_id in adding:
            stand = self._stands.setdefault(node_id, Stand(self.log.start_offset))
            stand.is_out = stand.is_logged = True
        self.log.wake()

    def end_copies(self, replicas: tuple[int, ...]) -> None:
        """Have these replicas and no others, with all there is; if the leader is not among them another leads."""
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

    # --- leaders ----------------------------------------------------------------------------------------------------

    def elect(self, node_id: int, end_offset: int | None = None) -> None:
        """Let a node lead, in a new epoch; `NO_LEADER` leaves the partition without a leader.

        Args:
            node_id: the new leader; it becomes a replica if it is none.
            end_offset: where the new leader's log ends, in the middle of a batch before that batch; what is behind
                was never replicated to it and is lost. None: where the node stands.
        Raises:
            OffsetOutOfRange: there is no such offset.
        """
        if end_offset is not None and not self.log.start_offset <= end_offset <= self.log.end_offset:
            raise OffsetOutOfRange(f"{end_offset} in a log from {self.log.start_offset} to {self.log.end_offset}")
        self._settle()
        self.leader_id = node_id
        self.leader_epoch += 1
        if node_id != NO_LEADER:
            self._lead(node_id, end_offset)
        self.log.wake()
        self.when_led()

    def _lead(self, node_id: int, end_offset: int | None) -> None:
        if node_id not in self.replicas:
            self.replicas = (node_id, *self.replicas[1:])  # it has caught up before it takes the place of another
            end_offset = self.log.end_offset if end_offset is None else end_offset
        self.log.cut(self.end_offset_on(node_id) if end_offset is None else end_offset)
        self._holder = node_id
        self.begun_at = self.log.end_offset
        self._copied = min(self._copied, self.log.end_offset)
        self._stands = {one: at for one, at in self._stands.items() if one != node_id and one in self.replicas}
        self._settle()
        self.log.begin_epoch(self.leader_epoch)
