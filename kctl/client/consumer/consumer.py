"""Consumer: public blocking API of `application_side.py`; checks arguments and creates timers."""

import logging
import math
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Self

from kctl.client.arguments import check, checked, instant_ms
from kctl.client.clock import Timer, to_timeout_ms
from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.application_side import ApplicationSide
from kctl.client.consumer.chunk import MAX_OFFSET, FetchedChunk
from kctl.client.consumer.close import DEFAULT_CLOSE_TIMEOUT_MS, OnClose
from kctl.client.consumer.events import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kctl.client.consumer.fetch.manager import PREFETCH_BYTES
from kctl.client.consumer.fetched_data import PollResult
from kctl.client.consumer.group.application_side import GroupSide, RebalanceListener
from kctl.client.consumer.group.commit_callbacks import OnCommit
from kctl.client.consumer.group.events import NO_IDS, GroupMetadata, Subscribe
from kctl.client.consumer.lookups import OffsetLookup
from kctl.client.consumer.one_user import OneUser, for_one_user
from kctl.client.consumer.waiting import WaitReason
from kctl.client.errors import IllegalStateError
from kctl.client.events import EventSink, OwnedSink, ignore_events
from kctl.client.lifetime import NotCopied, when_dropped
from kctl.client.loop.close import CloseResult
from kctl.client.network.system import has_threads, system_runtime
from kctl.client.records import Record
from kctl.client.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from kctl.client.requests.group_offsets import OffsetAndMetadata, checked_offsets
from kctl.client.requests.list_offsets import OffsetAndTimestamp
from kctl.client.runtime import Runtime
from kctl.client.topic_names import check_topic_name

if TYPE_CHECKING:
    from uuid import UUID

logger = logging.getLogger("kctl.client.consumer")
_THREADS_OF_ASYNCIO = "asyncio_"
"""Prefix of the thread names of asyncio's executor."""

ConsumerRecord = Record
OnPoll = Callable[[Sequence[ConsumerRecord]], object]
"""Function that gets the records before `poll` returns them, or the next record of a loop.

It runs on the calling thread and must not call the consumer. If it raises, `poll` or the loop raises its exception, and
the next poll returns the records again.
"""
Timeout = float | timedelta | None
"""Seconds, a timedelta, `math.inf`, or None for default.api.timeout.ms."""


class Consumer(NotCopied):
    """Kafka consumer.

    Only one thread at a time may use it: a call during another thread's call raises ConcurrentModificationError. Any
    thread or signal handler may call `wakeup()`. A network thread does the I/O until close().

    All calls raise ValueError for invalid arguments and IllegalStateError after close(). Calls that wait also raise
    WakeupError, UnsupportedVersionError, and, except poll and close, ApiTimeout. If no broker accepts the connection,
    they raise AuthenticationError, TlsError, or WrongPeerError. After a KeyboardInterrupt in a poll, the next poll
    returns its records.

    Iteration (`for record in consumer`) returns one record at a time. Commits cover the returned records, and the next
    poll or loop returns the others. If a `with` block raises, the last returned records (one in a loop, all of a poll)
    are not committed.

    Args:
        config: Kafka property names and values, or a parsed ConsumerConfig.
        runtime: clock, threads, and sockets. None for those of the system.
        events: function that gets every connection event, on the network thread.
        prefetch_bytes: maximum size of fetched, unread data of all partitions.
        max_decompressed_bytes: maximum size of a decompressed batch.
        on_poll: function that gets all records before their return; see `OnPoll`. It does not get chunks of
            `poll_chunk`.
    """

    def __init__(
        self,
        config: Mapping[str, object] | ConsumerConfig,
        runtime: Runtime | None = None,
        *,
        events: EventSink = ignore_events,
        prefetch_bytes: int = PREFETCH_BYTES,
        max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
        on_poll: OnPoll | None = None,
    ) -> None:
        self._is_unpolled = True
        self._config = ConsumerConfig.parse(config)
        check("events", events, EventSink)
        check("prefetch_bytes", prefetch_bytes, int)
        check("max_decompressed_bytes", max_decompressed_bytes, int)
        check("on_poll", on_poll, OnPoll | None)
        self._on_poll = on_poll
        runtime = runtime or system_runtime()
        self._clock = runtime.clock
        self._events = OwnedSink(events)
        self._one_user = OneUser(runtime.driver)
        lent, self._token_callback = self._config.lent()
        self._side = ApplicationSide(
            lent,
            runtime,
            events=self._events.lend(),
            prefetch_bytes=prefetch_bytes,
            max_decompressed_bytes=max_decompressed_bytes,
        )
        loop = self._side.open_loop
        self._on_drop = when_dropped(self, loop.drop, self._side.mailbox, has_threads=has_threads(runtime.driver))
        self._side.start()

    @for_one_user
    @checked
    def subscribe(self, topics: Iterable[str] | re.Pattern[str], listener: RebalanceListener | None = None) -> None:
        """Subscribe to topics as a member of the group, from the next poll on; without topics, unsubscribe.

        Args:
            topics: names, or a compiled pattern for full names of current and future topics.
            listener: callbacks for assignment changes, in place of the previous listener.

        Raises:
            IllegalStateError: group.id is not set, or partitions are assigned manually.
            ValueError: a topic name is invalid.
        """
        group = self._need_group("subscribe")
        if group.subscribed is None and self._side.subscription.assignment:
            raise IllegalStateError("cannot subscribe: partitions are assigned manually. Call unsubscribe() first")
        wanted = Subscribe((), topics) if isinstance(topics, re.Pattern) else Subscribe(tuple(dict.fromkeys(topics)))
        for topic in wanted.topics:
            check_topic_name(topic)
        if wanted.topics or wanted.pattern is not None:
            group.subscribe(wanted, listener)
        else:
            self.unsubscribe()

    @for_one_user
    def unsubscribe(self) -> None:
        """Revoke all partitions and leave the group, without waiting; calls the listener."""
        self._check_open()
        if self._side.group is not None:
            self._side.group.unsubscribe()
        if self._side.close_result is None:  # otherwise the listener has closed the consumer
            self.assign(())

    @property
    @for_one_user
    def subscription(self) -> tuple[str, ...] | re.Pattern[str] | None:
        """Subscribed topics or pattern; None without a subscription."""
        subscribed = None if self._side.group is None else self._side.group.subscribed
        return None if subscribed is None else subscribed.pattern or subscribed.topics

    @for_one_user
    def commit_sync(
        self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None, timeout: Timeout = None
    ) -> None:
        """Commit offsets and wait; callbacks of earlier commit_async calls run first.

        Args: offsets: next offset to read of each partition. None: the positions, or with
            enable.auto.offset.store=false, the stored offsets.
        Raises:
            CommitFailedError: the partitions belong to other members, which read the records again.
            IllegalStateError: group.id is not set.
            ApiTimeout, WakeupError, and BrokerErrors that are not retriable.
        Source: KIP-266. Differs: waits for a rebalance in which this member keeps its partitions.
        """
        group, timer = self._need_group("commit_sync"), self._timer(timeout)
        group.commit_sync(group.to_commit() if offsets is None else checked_offsets(offsets), timer)
        self._side.data.processed()

    @for_one_user
    def commit_async(
        self,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None,
        callback: OnCommit | None = None,
    ) -> None:
        """Commit offsets without waiting; a failed commit is retried only before close, unsubscribe, or a revocation.

        Args:
            offsets: as for `commit_sync`.
            callback: function that gets the offsets and the error (or None) in a later poll, commit_sync, or close.
        Raises: IllegalStateError: group.id is not set.
        """
        group = self._need_group("commit_async")
        check("callback", callback, OnCommit | None)
        group.commit_async(group.to_commit() if offsets is None else checked_offsets(offsets), callback)
        self._side.data.processed()

    @for_one_user
    def store_offsets(self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata]) -> None:
        """Set the offsets of later commits without explicit offsets, such as automatic commits and the commit of close.

        Commits with explicit offsets replace the stored offsets of their partitions. Unassigned partitions lose their
        stored offsets. In `on_partitions_revoked`, use `commit_sync` instead: the last automatic commit was already
        sent.

        Args: offsets: next offset to read of each partition.
        Raises: IllegalStateError: group.id is not set, a partition is not assigned, or enable.auto.offset.store=true.
        Source: librdkafka; not in Java.
        """
        group = self._need_group("store_offsets")
        if self._config.enable_auto_offset_store:
            raise IllegalStateError("store_offsets() needs enable.auto.offset.store=false")
        group.store(checked_offsets(offsets))

    @for_one_user
    @checked
    def committed(
        self, topic_partitions: Iterable[TopicPartition], timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the group's committed offset of each partition, or None.

        Raises: ApiTimeout, GroupAuthorizationFailedError. IllegalStateError: group.id is not set.
        """
        self._need_group("committed")
        return self._side.lookups.committed(topic_partitions, self._timer(timeout))

    @for_one_user
    def group_metadata(self) -> GroupMetadata:
        """Return the current identity of this group member, without waiting."""
        group = self._need_group("group_metadata")
        self._side.mailbox.drain()
        return group.metadata

    @for_one_user
    @checked
    def enforce_rebalance(self, reason: str = "requested by the application") -> None:
        """Request a rebalance, which the next polls carry out. During a rebalance, the request has no effect."""
        self._need_group("enforce_rebalance").rejoin(reason)

    @property
    @for_one_user
    def assignment(self) -> list[TopicPartition]:
        """Assigned partitions, in the order of assignment."""
        return self._side.subscription.assignment

    @for_one_user
    @checked
    def assign(self, topic_partitions: Iterable[TopicPartition], *, topic_ids: Mapping[str, bytes] = NO_IDS) -> None:
        """Read exactly these partitions; partitions that stay assigned keep their position.

        Args: topic_ids: required topic id of each topic name. A topic with another id is not read; see `waiting_for`.
        Differs: `topic_ids` is not in Java.
        """
        self._check_open()
        self._check_unsubscribed()
        wanted = list(topic_partitions)
        for topic, partition in wanted:
            if not topic or partition < 0:
                raise ValueError(f"invalid partition: topic {topic!r}, partition {partition}")
        self._side.assign(wanted, topic_ids)

    @for_one_user
    @checked
    def unassign(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Stop reading these partitions; partitions that are not assigned are ignored.

        Differs: not in Java, where `assign` of the remaining partitions costs time for each of them.
        """
        self._check_open()
        self._check_unsubscribed()
        self._side.unassign(topic_partitions)

    def _check_unsubscribed(self) -> None:
        if self.subscription is not None:
            raise IllegalStateError(
                "cannot assign partitions: the consumer is subscribed to topics. Call unsubscribe() first"
            )

    @for_one_user
    @checked
    def seek(self, topic_partition: TopicPartition, offset: int, *, end_offset: int = MAX_OFFSET) -> None:
        """Set the position; the next poll reads from there.

        Args: end_offset: end of fetching until the next seek. The last batch may return records beyond it.
        Differs: `end_offset` is not in Java.
        """
        self._check_open()
        if offset < 0:
            raise ValueError(f"offset must not be negative: {offset}")
        self._side.seek(topic_partition, offset, end_offset)

    @for_one_user
    @checked
    def seek_to_beginning(self, topic_partitions: Iterable[TopicPartition] | None = None) -> None:
        """Set the positions to the first available record, at the next poll. None means all assigned partitions."""
        self._reset(topic_partitions, EARLIEST_TIMESTAMP)

    @for_one_user
    @checked
    def seek_to_end(self, topic_partitions: Iterable[TopicPartition] | None = None) -> None:
        """Set the positions to the end of the log, at the next poll. None means all assigned partitions."""
        self._reset(topic_partitions, LATEST_TIMESTAMP)

    @for_one_user
    @checked
    def seek_to_committed(self, topic_partitions: Iterable[TopicPartition] | None = None) -> None:
        """Set the positions to the committed offsets, at the next poll. None means all assigned partitions.

        Records after the committed offset are returned again. Without a committed offset, the partition returns to its
        first position.

        Raises: IllegalStateError: group.id is not set, or a partition is not assigned.
        Differs: not in Java.
        """
        self._need_group("seek_to_committed")
        subscription = self._side.subscription
        wanted = subscription.assignment if topic_partitions is None else topic_partitions
        self._side.reset_to_committed(wanted)
        if topic_partitions is None:
            subscription.settled_removals = subscription.removals

    @for_one_user
    def positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the known positions of assigned partitions, with the leader epochs for a commit, without waiting.

        Raises: IllegalStateError: group.id is not set.
        Differs: not in Java.
        """
        return dict(self._need_group("positions").positions())

    @for_one_user
    def lag(self, timeout: Timeout = None) -> dict[TopicPartition, int]:
        """Query the end offsets of the assigned partitions, and return how many offsets each position is behind.

        Raises:
            InvalidOffsetError: a partition has no position, and auto.offset.reset=none.
            ApiTimeout.
        Differs: Java returns the lag of one partition, without a request.
        """
        timer = self._timer(timeout)
        ends = self._side.lookups.ends(self._side.subscription.assignment, LATEST_TIMESTAMP, timer)
        self._side.learn_ends(ends)
        return {tp: max(0, end_offset - self._side.position(tp, timer)) for tp, end_offset in ends.items()}

    @for_one_user
    @checked
    def position(self, topic_partition: TopicPartition, timeout: Timeout = None) -> int:
        """Return the offset of the next record; an unknown position is queried.

        Raises:
            IllegalStateError: the partition is not assigned.
            InvalidOffsetError: the partition has no position, and auto.offset.reset=none.
            ApiTimeout.
        Source: KIP-266. Differs: an unassigned partition raises IllegalStateError, as in later versions of Java.
        """
        return self._side.position(topic_partition, self._timer(timeout))

    @for_one_user
    @checked
    def current_lag(self, topic_partition: TopicPartition) -> int | None:
        """Return how many offsets the position is behind the end visible with isolation.level, without waiting.

        Returns: the lag, or None if position or end is unknown. A poll or `end_offsets` learns the end.
        Raises: IllegalStateError: the partition is not assigned.
        Source: KIP-666. Differs: Java also queries the end.
        """
        self._check_open()
        return self._side.current_lag(topic_partition)

    def metrics(self) -> dict[str, float]:
        """Return the consumer's counters since its creation, by Kafka's metric names; any thread, even after close().

        Metrics without a measurement are NaN. For a rate, divide the difference of two totals by the time.

        Returns:
            records-consumed-total: records returned, except by poll_chunk().
            bytes-consumed-total: compressed bytes of fetched batches.
            records-lag-max: greatest current lag of an assigned partition, in offsets.
            assigned-partitions: number of assigned partitions.
            rebalance-total: finished rebalances.
            fetch-total: Fetch responses.
            fetch-throttle-time-avg, fetch-throttle-time-max: throttle times, in ms.
            commit-total: successful commits.
            last-poll-seconds-ago: seconds since the start of the last poll.
            time-between-poll-avg, time-between-poll-max: times between the starts of polls, in ms.
            poll-idle-ratio-avg: share of time spent in poll, 0 to 1.

        Source: Kafka's consumer metrics. Differs: no time windows.
        """
        return self._side.metrics()

    @for_one_user
    @checked
    def pause(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Stop returning records of these partitions until `resume`; fetched records are kept."""
        self._set_paused(topic_partitions, True)

    @for_one_user
    @checked
    def resume(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Return records of paused partitions again."""
        self._set_paused(topic_partitions, False)

    @property
    @for_one_user
    def paused(self) -> list[TopicPartition]:
        """Paused partitions."""
        return self._side.subscription.paused

    def poll(self, timeout: Timeout = None) -> list[ConsumerRecord]:
        """Return the next records, up to max.poll.records, or an empty list at the timeout.

        Fetching continues between polls. While the cause of an error lasts, a poll raises it again every
        retry.backoff.ms. Records of a partition are in offset order.

        Args:
            timeout: seconds or a timedelta. None uses default.api.timeout.ms.

        Raises:
            IllegalStateError: no subscription and no assignment.
            CorruptBatchError: a batch is damaged, at the topic, partition, and offset of the error. The next poll
                retries; a seek skips the batch.
            InvalidOffsetError: a partition has no valid position, and auto.offset.reset=none.
            TopicAuthorizationFailedError and other BrokerErrors that are not retriable.
            AuthenticationError, WrongPeerError, TlsError: no broker accepts the connection.
            WakeupError: wakeup() was called.

        Source: KIP-266. Unlike Java, an unknown topic is not an error (see `waiting_for`), and the timeout is optional.
        """
        if self._is_unpolled:
            self._note_first_poll()
        result = self._poll(timeout)
        if result is None:
            return []
        records = result.records
        if self._on_poll is not None:
            self._show(records, result)
        result.given = result.count  # no call, so no KeyboardInterrupt, from here to the caller
        return records

    def poll_chunk(self, timeout: Timeout = None) -> FetchedChunk | None:
        """Return the next fetched chunk undecoded, or None at the timeout.

        `chunk.reader(stop_offset).output(plan)` converts it without record objects. The position moves past the chunk;
        to continue at an earlier offset, seek to `reader.next_offset`. Errors are as in `poll`, except that the reader
        reports damaged batches.
        """
        result = self._poll_chunk(timeout)
        if result is None:
            return None
        chunk = result.chunk
        result.given = result.count
        return chunk

    def __iter__(self) -> Iterator[ConsumerRecord]:
        """Yield records until the consumer is closed.

        The position advances with each record: after an early exit, the next poll or loop returns the rest.
        """
        data = self._side.data
        while self._side.close_result is None:
            result = self._poll(math.inf)
            if result is None:
                continue
            result.is_one_by_one = True
            for record in result.records:
                if self._on_poll is not None:
                    self._show((record,), result)
                result.given += 1
                yield record
                if data.result is not result:  # a call has read the positions, and may have changed them
                    break

    @for_one_user
    def waiting_for(self) -> dict[TopicPartition, WaitReason]:
        """Return the reason why no records arrive from each assigned partition, without waiting."""
        return self._side.waiting_for()

    @for_one_user
    def waiting_for_group(self) -> WaitReason | None:
        """Return why the group has assigned no partitions; None if it has, or without a subscription."""
        return self._side.waiting_for_group()

    def wakeup(self) -> None:
        """Let the current or next blocking call raise WakeupError. Any thread or signal handler may call it."""
        if self._one_user.is_forked:
            self._one_user.refuse()
        self._side.mailbox.wakeup()

    @for_one_user
    @checked
    def partitions_for(self, topic: str, timeout: Timeout = None) -> list[PartitionInfo]:
        """Return the partitions of a topic, ordered by number.

        Raises: UnknownTopicOrPartitionError, TopicAuthorizationFailedError, ApiTimeout.
        Source: KIP-266. Differs: always queries a broker; Java returns null for an unknown topic.
        """
        return list(self._side.lookups.topics((topic,), self._timer(timeout))[topic])

    @for_one_user
    def list_topics(self, timeout: Timeout = None) -> dict[str, list[PartitionInfo]]:
        """Return the topics that this client may describe, with their partitions."""
        answer = self._side.lookups.topics(None, self._timer(timeout))
        return {topic: list(answer[topic]) for topic in sorted(answer)}

    @for_one_user
    @checked
    def beginning_offsets(
        self, topic_partitions: Iterable[TopicPartition], timeout: Timeout = None
    ) -> dict[TopicPartition, int]:
        """Return the first available offset of each partition."""
        return self._side.lookups.ends(topic_partitions, EARLIEST_TIMESTAMP, self._timer(timeout))

    @for_one_user
    @checked
    def end_offsets(
        self, topic_partitions: Iterable[TopicPartition], timeout: Timeout = None
    ) -> dict[TopicPartition, int]:
        """Return the end offset of each partition that is visible with isolation.level."""
        ends = self._side.lookups.ends(topic_partitions, LATEST_TIMESTAMP, self._timer(timeout))
        self._side.learn_ends(ends)
        return ends

    @for_one_user
    @checked
    def offsets_for_times(
        self, timestamps_ms: Mapping[TopicPartition, int | datetime], timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the offset and timestamp of the first record at or after a time for each partition, or None.

        Args: timestamps_ms: milliseconds since the epoch, >= 0, or datetimes with a time zone.
        """
        asked = _instants(timestamps_ms)
        for tp, timestamp_ms in asked.items():
            if timestamp_ms < 0:
                raise ValueError(f"the timestamp for {tp} must not be negative: {timestamp_ms}")
        return self._side.lookups.offsets(asked, self._timer(timeout))

    @for_one_user
    @checked
    def look_up_offsets(
        self, timestamps_ms: Mapping[TopicPartition, int | datetime], *, log_end: bool = False
    ) -> OffsetLookup:
        """Start a background query of offsets; see `OffsetLookup`.

        Args:
            timestamps_ms: times as in `offsets_for_times`, EARLIEST_TIMESTAMP, or LATEST_TIMESTAMP.
            log_end: whether LATEST_TIMESTAMP ignores isolation.level.
        """
        self._check_open()
        return self._side.lookups.start(_instants(timestamps_ms), reads_uncommitted=log_end)

    @for_one_user
    def client_instance_id(self, timeout: Timeout = None) -> "UUID":
        """Return the id of this client in the cluster; only the first call queries it.

        Raises:
            IllegalStateError: enable.metrics.push=false.
            UnsupportedVersionError: the broker is older than 3.7 or has no client metrics.
            ApiTimeout.

        Source: KIP-714. Differs: no metrics are sent; the timeout is optional.
        """
        if not self._config.enable_metrics_push:
            raise IllegalStateError("client_instance_id() needs enable.metrics.push=true")
        return self._side.lookups.client_instance_id(self._timer(timeout))

    @for_one_user
    @checked
    def close(self, timeout: Timeout = None, on_close: OnClose | None = None) -> CloseResult:
        """Commit if enable.auto.commit is set, leave the group, close the sockets, and end the network thread.

        Args:
            timeout: time for all steps, 30s by default. 0 sends the requests without waiting. With math.inf, each step
                has at most request.timeout.ms.
            on_close: "leave" or "remain" in the group; by default only static members remain.

        Returns: the result. Further calls return the same result.
        Raises: exceptions of rebalance listeners and commit callbacks; never a timeout or WakeupError.
        Source: KIP-102, KIP-1092.
        """
        timer = Timer(self._clock, to_timeout_ms(timeout, DEFAULT_CLOSE_TIMEOUT_MS))
        self._on_drop.detach()
        return self._side.close(timer, on_close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close; after an exception, the last returned records count as not processed."""
        if self._ends_block(kind):
            self.close()

    def _ends_block(self, kind: type[BaseException] | None) -> bool:
        """Prepare the close at the end of a `with` block, and return whether this process closes the consumer."""
        if self._one_user.is_forked:
            return False
        if kind is not None:
            self._side.data.step_back()
        return True

    def _timer(self, timeout: Timeout) -> Timer:
        self._check_open()
        timeout_ms = to_timeout_ms(timeout, self._config.default_api_timeout_ms)
        closing = self._side.closing
        return Timer(self._clock, timeout_ms) if closing is None else closing.sub(timeout_ms)

    def _check_assigned(self) -> None:
        if self.subscription is None and not (self._side.subscription.has_any or self._side.lookups.are_open):
            raise IllegalStateError("cannot poll: call subscribe() or assign() first")

    @for_one_user
    def _poll(self, timeout: Timeout) -> PollResult | None:
        timer = self._timer(timeout)
        self._check_assigned()
        return self._side.poll(lambda: self._side.data.pop_records(self._config.max_poll_records, timer), timer)

    @for_one_user
    def _poll_chunk(self, timeout: Timeout) -> PollResult | None:
        timer = self._timer(timeout)
        self._check_assigned()
        return self._side.poll(self._side.data.pop_chunk, timer)

    def _show(self, records: Sequence[ConsumerRecord], result: PollResult) -> None:
        assert self._on_poll is not None
        self._on_poll(records)
        if self._side.data.result is not result:
            raise IllegalStateError("on_poll must not call the consumer")

    def _note_first_poll(self) -> None:
        """Warn about `asyncio.to_thread(consumer.poll)`: asyncio drops the records if the coroutine is cancelled.

        The consumer cannot detect the loss, because the next poll commits as if the records were processed.
        """
        self._is_unpolled = False
        if threading.current_thread().name.startswith(_THREADS_OF_ASYNCIO):
            logger.warning("poll() in an asyncio thread loses records if it is canceled: use AsyncConsumer")

    def _check_open(self) -> None:
        if self._side.close_result is not None:
            raise IllegalStateError("the consumer is closed")

    @for_one_user
    def _transaction_mark(self) -> tuple[int, int]:
        """Return two numbers for `Producer.transaction`, which cannot commit if the second one, at the end of its
        block, is above the first one, at the start.

        Raises: IllegalStateError: no group.id, or automatic commits.
        """
        if self._need_group("transaction").commits_itself:
            need = "transaction() needs a consumer with enable.auto.commit=false"
            raise IllegalStateError(f"{need}: automatic commits would skip records of aborted transactions")
        return self._side.subscription.settled_removals, self._side.subscription.removals

    def _find_positions(self, timeout: Timeout) -> None:
        """Query the positions that a reset has left unknown, of partitions with uncommitted records."""
        timer = self._timer(timeout)
        for tp in self._side.subscription.uncommitted_without_position:
            timer.update()
            self.position(tp, timer.remaining_ms / 1000)

    @for_one_user
    def _transaction_committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        subscription = self._side.subscription
        subscription.committed(offsets)
        subscription.settled_removals = subscription.removals

    def _need_group(self, call: str) -> GroupSide:
        self._check_open()
        if self._side.group is None:
            raise IllegalStateError(f"{call}() needs group.id: set group.id")
        return self._side.group

    def _reset(self, topic_partitions: Iterable[TopicPartition] | None, timestamp_ms: int) -> None:
        self._check_open()
        wanted = self._side.subscription.assignment if topic_partitions is None else list(topic_partitions)
        self._side.reset(wanted, timestamp_ms)

    def _set_paused(self, topic_partitions: Iterable[TopicPartition], paused: bool) -> None:
        self._check_open()
        self._side.set_paused(topic_partitions, paused)


def _instants(timestamps_ms: Mapping[TopicPartition, int | datetime]) -> dict[TopicPartition, int]:
    return {tp: instant_ms("timestamps_ms", given) for tp, given in timestamps_ms.items()}
