"""FetchState: one assigned partition as the network side sees it, and what is on the wire. Values without decisions."""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import NO_EPOCH, NO_TOPIC_ID, Cluster, PartitionInfo, TopicPartition
from kctl.client.consumer.chunk import MAX_OFFSET
from kctl.client.errors import KafkaError

GUESSED_BYTES_PER_OFFSET = 256.0
"""Before anything is fetched: so a short range with much behind it does not bring that along, and one of large records
takes a second fetch."""
MORE_THAN_EXPECTED = 1.125
LEAST_WANTED_BYTES = 64 * 1024
"""Records differ in size, and a batch that is cut short has to be fetched again: the last fetch of a range asks for an
eighth and a few batches more than what came before makes it expect."""

LEADER_ONLY_MS = 5_000
"""How long a partition is read from its leader after a follower failed: the leader would send us back at once."""
PREFETCH_DEPTH = 3
"""With room for this many responses of every partition, one is on the wire while the application has another."""
QUIET_MS = 500
"""How long a partition that brought nothing is not fetched again where its node has full ones: a slow application keeps
those full, and fetches of SHORT_WAIT_MS each would follow one another. A fetch of any other partition includes it."""


class FetchState:
    """Where one partition is fetched next, and what is known of it."""

    __slots__ = (
        "_buffered",
        "asked_epoch",
        "attempts",
        "buffered_bytes",
        "bytes_per_offset",
        "cause",
        "checked_epoch",
        "end_offset",
        "epoch",
        "fetched_epoch",
        "follower_id",
        "follower_until_ms",
        "high_watermark",
        "is_overdue",
        "is_return_requested",
        "last_stable_offset",
        "leader_only_until_ms",
        "next_offset",
        "node_id",
        "paused",
        "quiet_until_ms",
        "read_id",
        "reason",
        "rests",
        "retry_at_ms",
        "stopped",
        "topic_id"
    )  # fmt: skip

    def __init__(
        self,
        epoch: int,
        offset: int,
        fetched_epoch: int = NO_EPOCH,
        topic_id: bytes = NO_TOPIC_ID,
        end_offset: int = MAX_OFFSET,
    ) -> None:
        self.epoch = epoch
        """Of the application's decision that this answers."""
        self.topic_id = self.read_id = topic_id
        """Of the only topic that may be read under its name; NO_TOPIC_ID: whichever has it. `read_id`: of the topic
        that the position belongs to; NO_TOPIC_ID until metadata has one."""
        self.next_offset = offset
        self.end_offset = end_offset
        """Nothing is fetched from there on."""
        self.bytes_per_offset = GUESSED_BYTES_PER_OFFSET
        """Of what was fetched last."""
        self.fetched_epoch = fetched_epoch
        """The leader epoch in which the record before `next_offset` was written, where that is known."""
        self.checked_epoch = NO_EPOCH
        """The leader epoch at which that record is known to be in the log."""
        self.asked_epoch = NO_EPOCH
        """The leader epoch that the latest request named."""
        self.paused = False
        self.stopped = False
        """An error was handed over; the application decides how to continue."""
        self.node_id: int | None = None
        """Where a request about it is in flight."""
        self.buffered_bytes = 0
        self._buffered: deque[tuple[int, int]] = deque()
        """The chunks that the application has not consumed: where each ends, and its size."""
        self.is_return_requested = False
        """The application is to give back what it holds of it unread, as others need the room."""
        self.is_overdue = self.rests = False
        """Reported as being without a response; `rests`: its reason is that there is nothing to fetch now."""
        self.retry_at_ms = self.attempts = 0
        self.quiet_until_ms = 0
        """It was at its end; until then it alone is no reason to fetch from a node that has full partitions."""
        self.reason = ""
        self.cause: KafkaError | None = None
        """The error of the last attempt."""
        self.high_watermark = self.last_stable_offset = -1
        self.follower_id: int | None = None
        """The replica that the leader sends us to (KIP-392)."""
        self.follower_until_ms = 0
        self.leader_only_until_ms = 0
        """A follower has failed; until then the leader itself is read."""

    @property
    def is_at_its_end(self) -> bool:
        """Whether all is fetched that the application wants."""
        return self.next_offset >= self.end_offset

    def buffer(self, next_offset: int, size_bytes: int) -> None:
        """Count a chunk that was handed over."""
        self._buffered.append((next_offset, size_bytes))
        self.buffered_bytes += size_bytes

    def consumed(self, next_offset: int) -> int:
        """Count the chunks up to there no longer, and return their bytes."""
        consumed_bytes = 0
        while self._buffered and self._buffered[0][0] <= next_offset:
            consumed_bytes += self._buffered.popleft()[1]
        self.buffered_bytes -= consumed_bytes
        return consumed_bytes

    def node_to_read(self, info: PartitionInfo, has_node: Callable[[int], bool], now_ms: int) -> int:
        """Return the replica that the leader named, for as long as that counts; otherwise the leader."""
        follower_id = self.follower_id
        if follower_id is None:
            return info.leader_id
        is_there = has_node(follower_id) and follower_id not in info.offline_replicas
        if is_there and now_ms < self.follower_until_ms:
            return follower_id
        self.follower_id = None
        return info.leader_id

    def back_to_leader(self, now_ms: int) -> None:
        """Read from the leader for a while, instead of the follower."""
        self.follower_id = None
        self.leader_only_until_ms = now_ms + LEADER_ONLY_MS

    def wanted_bytes(self, most: int) -> int:
        """Return how many bytes to ask for: a little more than what is left to the end should have."""
        if self.end_offset == MAX_OFFSET:
            return most
        left = (self.end_offset - self.next_offset) * self.bytes_per_offset
        return min(most, int(left * MORE_THAN_EXPECTED) + LEAST_WANTED_BYTES)


class Entry(NamedTuple):
    """A partition that can be asked for now, and its leader."""

    topic_partition: TopicPartition
    state: FetchState
    info: PartitionInfo


class FetchInFlight(NamedTuple):
    """One fetch on the wire.

    Attributes:
        epochs: of its partitions.
        wanted_bytes: sum of the maximum bytes of its partitions.
        rack: sent with it, so that the leader may name a follower.
        reserved_bytes: maximum of the response.
        early_before_ms: an empty response before it is early.
        cluster: the snapshot of the metadata that it was made by.
        may_repeat: only a change of a partition or of the metadata makes the next fetch another one.
    """

    epochs: dict[TopicPartition, int]
    wanted_bytes: int
    rack: str
    cluster: Cluster
    may_repeat: bool
    reserved_bytes: int = 0
    sent_at_ms: int = 0
    early_before_ms: int = 0


def held_while_fetching(partition_bytes: int, partitions: int, prefetch_bytes: int) -> int:
    """Return how much of a partition may be held while more of it is fetched: a whole response where there is room."""
    has_room = PREFETCH_DEPTH * partition_bytes * partitions <= prefetch_bytes
    return partition_bytes if has_room else max(0, partition_bytes - 1)


def drop_quiet(to_fetch: dict[int, list[Entry]], left_out: dict[int, None], now_ms: int) -> int:
    """Drop the fetches of quiet partitions alone at nodes that have full ones; return when the first of them is due."""
    next_at_ms = FOREVER_MS
    for node_id in left_out:
        entries = to_fetch.get(node_id, ())
        due_at_ms = min((entry.state.quiet_until_ms for entry in entries), default=0)
        if due_at_ms > now_ms:
            del to_fetch[node_id]
            next_at_ms = min(next_at_ms, due_at_ms)
    return next_at_ms
