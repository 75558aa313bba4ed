"""One partition: its log, who leads it, who follows and how far.

One log serves all replicas. A follower that is held back sees it up to an offset and is not in sync; if it is made
the leader all the same, what it lacks is lost, as in an unclean election. Time and protocol are not known here.
Shown by tests/unit/sandbox/test_partition.py.
"""

from kctl.sandbox.log import OffsetOutOfRange, PartitionLog

NO_LEADER = -1


class Partition:
    """One partition."""

    __slots__ = ("_held", "index", "leader_epoch", "leader_id", "log", "replicas", "topic_name")

    def __init__(self, topic_name: str, index: int, replicas: tuple[int, ...], log: PartitionLog) -> None:
        self.topic_name = topic_name
        self.index = index
        self.replicas = replicas
        self.leader_id = replicas[0]
        self.leader_epoch = 0
        self.log = log
        self._held: dict[int, int] = {}
        """By node id: the offset at which a follower stands."""
        log.begin_epoch(0)

    @property
    def in_sync(self) -> list[int]:
        """The replicas that have all there is, in the order of `replicas`."""
        return [node_id for node_id in self.replicas if node_id not in self._held]

    def end_offset_on(self, node_id: int) -> int:
        """Return up to where a replica has the log."""
        return min(self._held.get(node_id, self.log.end_offset), self.log.end_offset)

    def hold(self, node_id: int) -> None:
        """Let a follower stand where it is, out of sync.

        Raises:
            ValueError: the node is no follower.
        """
        if node_id not in self.replicas or node_id == self.leader_id:
            raise ValueError(f"node {node_id} is no follower of {self.topic_name}-{self.index}")
        self._held.setdefault(node_id, self.log.end_offset)

    def release(self, node_id: int) -> None:
        """Let a follower catch up."""
        if self._held.pop(node_id, None) is not None:
            self.log.wake()

    def elect(self, node_id: int, end_offset: int | None = None) -> None:
        """Let a node lead, in a new epoch; `NO_LEADER` leaves the partition without a leader.

        Args:
            node_id: the new leader; it becomes a replica if it is none.
            end_offset: where the new leader's log ends, in the middle of a batch before that batch; what is behind
                was never replicated to it and is lost. None: where the node was held back, or all there is.
        Raises:
            OffsetOutOfRange: there is no such offset.
        """
        if end_offset is not None and not self.log.start_offset <= end_offset <= self.log.end_offset:
            raise OffsetOutOfRange(f"{end_offset} in a log from {self.log.start_offset} to {self.log.end_offset}")
        self.leader_id = node_id
        self.leader_epoch += 1
        if node_id != NO_LEADER:
            if node_id not in self.replicas:
                self.replicas = (node_id, *self.replicas[1:])
            self.log.cut(self.end_offset_on(node_id) if end_offset is None else end_offset)
            self._held = {one: at for one, at in self._held.items() if one != node_id and one in self.replicas}
            self.log.begin_epoch(self.leader_epoch)
        self.log.wake()
