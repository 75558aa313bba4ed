"""FetchState: fetch state of one assigned partition. FetchInFlight: a fetch on the wire."""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import NO_EPOCH, NO_TOPIC_ID, Cluster, PartitionInfo, TopicPartition
from kctl.client.consumer.chunk import MAX_OFFSET
from kctl.client.errors import KafkaError

GUESSED_BYTES_PER_OFFSET = 256.0
"""Initial estimate, which keeps a first fetch of a short range from requesting much more than needed."""
MORE_THAN_EXPECTED = 1.125
LEAST_WANTED_BYTES = 64 * 1024
"""Margin for the last fetch of a range, because record sizes vary and an incomplete batch must be fetched again."""

LEADER_ONLY_MS = 5_000
"""Time to read only from the leader after a follower failed; the leader would otherwise choose the follower again."""
PREFETCH_DEPTH = 3
"""Number of responses per partition that must fit in memory for prefetching while the application holds data."""
QUIET_MS = 500
"""Pause of a partition without data at a node that also has full partitions.

It avoids frequent fetches of SHORT_WAIT_MS. Fetches for other partitions of the node include the partition.
"""


class FetchState:
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
        "is_after_error",
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
        is_after_error: bool = False,
    ) -> None:
        self.epoch = epoch
        """Epoch of the application's decision."""
        self.topic_id = self.read_id = topic_id
        """`topic_id` is the required topic id, or NO_TOPIC_ID for any. `read_id` is the topic id of the position, if
        known.
        """
        self.next_offset = offset
        self.end_offset = end_offset
        """End of fetching."""
        self.bytes_per_offset = GUESSED_BYTES_PER_OFFSET
        """Average record size of the last fetch, in bytes per offset."""
        self.fetched_epoch = fetched_epoch
        """Leader epoch of the record before `next_offset`, if known."""
        self.checked_epoch = NO_EPOCH
        """Leader epoch whose log contains the record before `next_offset`, according to its leader."""
        self.asked_epoch = NO_EPOCH
        """Leader epoch of the last request."""
        self.paused = self.stopped = False
        """`stopped` is true after an error, until the application decides."""
        self.node_id: int | None = None
        """Node that has a request for this partition in flight."""
        self.buffered_bytes = 0
        self._buffered: deque[tuple[int, int]] = deque()
        """End offset and size of each unconsumed chunk."""
        self.is_return_requested = False
        """Whether the application was requested to drop the unread data of this partition."""
        self.is_overdue = self.rests = False
        """`is_overdue`: whether a late response was reported. `rests`: whether there is nothing to fetch at present."""
        self.retry_at_ms = self.attempts = 0
        self.is_after_error = is_after_error
        """Whether the application got an error of the partition, so the next fetch waits for a backoff."""
        self.quiet_until_ms = 0
        """Time before which a node with full partitions gets no fetch for this partition alone."""
        self.reason = ""
        self.cause: KafkaError | None = None
        """Error of the last attempt."""
        self.high_watermark = self.last_stable_offset = -1
        self.follower_id: int | None = None
        """Follower that the leader chose for reading (KIP-392)."""
        self.follower_until_ms = 0
        self.leader_only_until_ms = 0
        """End of reading from the leader only, after a follower failed."""

    @property
    def is_at_its_end(self) -> bool:
        return self.next_offset >= self.end_offset

    def buffer(self, next_offset: int, size_bytes: int) -> None:
        self._buffered.append((next_offset, size_bytes))
        self.buffered_bytes += size_bytes

    def consumed(self, next_offset: int) -> int:
        consumed_bytes = 0
        while self._buffered and self._buffered[0][0] <= next_offset:
            consumed_bytes += self._buffered.popleft()[1]
        self.buffered_bytes -= consumed_bytes
        return consumed_bytes

    def node_to_read(self, info: PartitionInfo, has_node: Callable[[int], bool], now_ms: int) -> int:
        follower_id = self.follower_id
        if follower_id is None:
            return info.leader_id
        is_there = has_node(follower_id) and follower_id not in info.offline_replicas
        if is_there and now_ms < self.follower_until_ms:
            return follower_id
        self.follower_id = None
        return info.leader_id

    def back_to_leader(self, now_ms: int) -> None:
        self.follower_id = None
        self.leader_only_until_ms = now_ms + LEADER_ONLY_MS

    def wanted_bytes(self, most: int) -> int:
        """Return how many bytes to request: `most`, or slightly more than the estimated rest of the range."""
        if self.end_offset == MAX_OFFSET:
            return most
        left = (self.end_offset - self.next_offset) * self.bytes_per_offset
        return min(most, int(left * MORE_THAN_EXPECTED) + LEAST_WANTED_BYTES)


class Entry(NamedTuple):
    topic_partition: TopicPartition
    state: FetchState
    info: PartitionInfo


class FetchInFlight(NamedTuple):
    """A Fetch request in flight.

    Attributes:
        wanted_bytes: sum of the limits of its partitions.
        may_repeat: whether the next fetch is equal, unless a partition or the metadata (`cluster`) changes.
        reserved_bytes: maximum size of the response.
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
    has_room = PREFETCH_DEPTH * partition_bytes * partitions <= prefetch_bytes
    return partition_bytes if has_room else max(0, partition_bytes - 1)


def drop_quiet(to_fetch: dict[int, list[Entry]], left_out: dict[int, None], now_ms: int) -> int:
    """Drop fetches of only quiet partitions at nodes with full partitions; return the end of the first pause."""
    next_at_ms = FOREVER_MS
    for node_id in left_out:
        entries = to_fetch.get(node_id, ())
        due_at_ms = min((entry.state.quiet_until_ms for entry in entries), default=0)
        if due_at_ms > now_ms:
            del to_fetch[node_id]
            next_at_ms = min(next_at_ms, due_at_ms)
    return next_at_ms
