"""RangeFetch: one consumer that fetches ranges of several partitions together and returns them one partition at a time.

Chunks of later partitions are held undecoded. If they exceed HELD_BYTES, the consumer pauses those partitions. After an
error of another partition, it fetches only the current partition.
"""

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kctl.client.clock import Timer
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer import Consumer, FetchedChunk, WaitReason
from kctl.client.errors import BrokerError, CorruptBatchError, InvalidOffsetError
from kctl.client.protocol.primitives import parse_uuid
from kctl.client.runtime import Runtime
from kctl.pipeline.isolation import ReadingProperties
from kctl.pipeline.ranges import OffsetRange, Properties

if TYPE_CHECKING:
    from kctl.pipeline.client_pool import ClientPool

PREFETCH_BYTES: Final = 16 << 20
"""Maximum number of fetched bytes that are not decoded yet, excluding one response that is arriving."""
HELD_BYTES: Final = 8 << 20
"""Maximum number of bytes held for partitions that are not current, in addition to PREFETCH_BYTES."""
FETCH_BYTES: Final = 8 << 20
"""Default of max.partition.fetch.bytes.

Fewer and larger responses reduce contention between the two threads of a task. A task that reads one partition needs a
third less CPU for each record than with Kafka's default of 1 MiB.
"""
_OURS: Final = {"auto.offset.reset": "none", "allow.auto.create.topics": "false"}
_NOT_FOR_READING: Final = ("group.id", "group.instance.id", "enable.auto.commit", "auto.commit.interval.ms")


class RangeFetch:
    """Consumer for some ranges, for use by one thread.

    Args:
        ranges: at most one for each partition.
        pool: pool that lends the consumer until `release`. None creates a new consumer.

    Attributes:
        api_timeout_ms: default.api.timeout.ms.
        lost_topics: topics that no longer exist. Further ranges of these topics do not wait.
    """

    def __init__(
        self,
        properties: ReadingProperties,
        ranges: Sequence[OffsetRange],
        *,
        pool: "ClientPool[Consumer] | None",
        runtime: Runtime,
    ) -> None:
        config = reading_config(properties)
        self.api_timeout_ms = config.default_api_timeout_ms
        if len({each.topic_partition for each in ranges}) != len(ranges):
            raise ValueError("cannot fetch two ranges of one partition together")
        self._left = {each.topic_partition: each for each in ranges if each.size > 0}
        self._held: dict[TopicPartition, deque[FetchedChunk]] = {}
        self._held_bytes = 0
        self._paused: set[TopicPartition] = set()
        self._has_failed = len(ranges) == 1
        self._found: set[str] = set()
        self.lost_topics: set[str] = set()
        self._is_begun = self._is_over = False
        self._properties = properties
        self._pool = pool

        def make() -> Consumer:
            return Consumer(config, runtime, prefetch_bytes=PREFETCH_BYTES)

        self._consumer = make() if pool is None else pool.acquire(properties, make)

    def begin(self, tp: TopicPartition) -> None:
        """Make a partition current. The first call assigns all partitions and starts fetching."""
        if not self._is_begun:
            self._is_begun = True
            ids = {tp.topic: parse_uuid(each.topic_id) for tp, each in self._left.items() if each.topic_id}
            self._consumer.assign(self._left, topic_ids=ids)
            for each in self._left.values():
                self._consumer.seek(each.topic_partition, each.start_offset, end_offset=each.end_offset)
        is_room = not self._has_failed and self._held_bytes * 2 < HELD_BYTES
        resumed = self._paused if is_room else self._paused & {tp}
        if resumed:
            self._consumer.resume(resumed)
            self._paused = self._paused - resumed

    def end(self, tp: TopicPartition, *, is_read: bool) -> None:
        """Finish the current partition, and drop its remaining records."""
        was_left = self._left.pop(tp, None) is not None
        self._held_bytes -= sum(chunk.size_bytes for chunk in self._held.pop(tp, ()))
        if was_left and self._is_begun and not is_read:
            self._consumer.pause([tp])

    def find_topic(self, topic: str, timer: Timer) -> None:
        if topic not in self._found:
            self._consumer.partitions_for(topic, timer.remaining_ms / 1000)
            self._found.add(topic)

    def next_chunk(self, tp: TopicPartition, timer: Timer) -> FetchedChunk | None:
        """Return the next chunk of the current partition, or None when the timer expires."""
        while not (held := self._held.get(tp)):
            try:
                chunk = self._consumer.poll_chunk(timer.remaining_ms / 1000)
            except (InvalidOffsetError, CorruptBatchError, BrokerError):
                if self._has_failed:
                    raise
                self._has_failed = True  # the current partition's error is raised again by the next poll
                self._pause_others(tp)
                continue
            if chunk is None or chunk.topic_partition == tp:
                return chunk
            self._hold(chunk, tp)
            timer.update()
        chunk = held.popleft()
        self._held_bytes -= chunk.size_bytes
        return chunk

    def _hold(self, chunk: FetchedChunk, tp: TopicPartition) -> None:
        if chunk.topic_partition not in self._left:
            return
        self._held.setdefault(chunk.topic_partition, deque()).append(chunk)
        self._held_bytes += chunk.size_bytes
        if self._held_bytes >= HELD_BYTES:
            self._pause_others(tp)

    def _pause_others(self, tp: TopicPartition) -> None:
        others = self._left.keys() - {tp} - self._paused
        self._consumer.pause(others)
        self._paused |= others

    def seek(self, tp: TopicPartition, offset: int) -> None:
        self._consumer.seek(tp, offset, end_offset=self._left[tp].end_offset)

    def first_offset(self, tp: TopicPartition, timer: Timer) -> int:
        return self._consumer.beginning_offsets([tp], timer.remaining_ms / 1000)[tp]

    def waiting_for(self, tp: TopicPartition) -> WaitReason:
        return self._consumer.waiting_for()[tp]

    def close(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._consumer.close(0)

    def release(self) -> None:
        """Return the consumer to the pool, or close it if there is no pool."""
        if self._pool is None:
            self.close()
        elif not self._is_over:
            self._is_over = True
            self._consumer.assign([])
            self._pool.release(self._properties, self._consumer)


def reading_config(properties: Properties) -> ConsumerConfig:
    """Return a consumer config for reading ranges: no group, no topic creation, and larger responses."""
    wanted = {name: value for name, value in properties.items() if name not in _NOT_FOR_READING}
    return ConsumerConfig.parse({"max.partition.fetch.bytes": FETCH_BYTES, **wanted, **_OURS})
