"""Consumer: the public blocking API: arguments, guarantees and errors of each call.

Owns the checking of arguments and the one Timer of each blocking call; `application_side.py` carries the calls out.
Never touches a socket.
"""

import logging
import math
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
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
"""What the names of the threads of asyncio's executor begin with."""

ConsumerRecord = Record
Timeout = float | timedelta | None
"""Seconds, a timedelta, `math.inf`, or None for default.api.timeout.ms."""


class Consumer(NotCopied):
    """Reads records of assigned partitions.

    One thread at a time may use it: a call while another thread is inside of one raises ConcurrentModificationError.
    `wakeup()` alone may be called from any thread and from signal handlers. A network thread does the I/O and ends
    with close().

    Errors of every call, besides those that it names itself: ValueError for an argument that makes no sense, a
    negative timeout among them; IllegalStateError after close(); and in those that wait (all with a timeout)
    WakeupError; ApiTimeout except in poll and close; AuthenticationError, TlsError and WrongPeerError where no broker
    accepts the connection; UnsupportedVersionError where the broker lacks the API. KeyboardInterrupt may end any call;
    the consumer stays usable, and the next call returns what the interrupted one did not.

    A loop over the consumer (`for record in consumer`) is given one record at a time: commits and close() commit what
    it was given, and its rest comes from the next poll or loop. `with` that ends with an exception does not commit
    what was given last, unless that was committed since: the record of a loop, or all of a poll.

    Args:
        config: Kafka property names and values, or a parsed ConsumerConfig.
        runtime: clock, threads and sockets; None for the system's.
        events: gets every connection event, on the network thread.
        prefetch_bytes: how much may lie fetched and undelivered, over all partitions.
        max_decompressed_bytes: the largest batch that is decompressed; one at a time is.
    """

    def __init__(
        self,
        config: Mapping[str, object] | ConsumerConfig,
        runtime: Runtime | None = None,
        *,
        events: EventSink = ignore_events,
        prefetch_bytes: int = PREFETCH_BYTES,
        max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
    ) -> None:
        self._is_unpolled = True
        self._config = ConsumerConfig.parse(config)
        check("events", events, EventSink)
        check("prefetch_bytes", prefetch_bytes, int)
        check("max_decompressed_bytes", max_decompressed_bytes, int)
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
        """Share the partitions of these topics with the other members of the group, from the next poll on.

        Args:
            topics: names, or a compiled pattern for the whole names of all topics there are and will be.
            listener: what to do when partitions come and go; replaces the one before.
        Raises: IllegalStateError: no group.id, or partitions are assigned by hand. ValueError: no topic's name.
        """
        group = self._need_group("subscribe")
        if group.subscribed is None and self._side.subscription.assignment:
            raise IllegalStateError("partitions are assigned manually; unsubscribe() first")
        wanted = Subscribe((), topics) if isinstance(topics, re.Pattern) else Subscribe(tuple(dict.fromkeys(topics)))
        for topic in wanted.topics:
            check_topic_name(topic)
        if wanted.topics or wanted.pattern is not None:
            group.subscribe(wanted, listener)
        else:
            self.unsubscribe()

    @for_one_user
    def unsubscribe(self) -> None:
        """Revoke every partition and leave the group; calls the listener, waits for nothing."""
        self._check_open()
        if self._side.group is not None:
            self._side.group.unsubscribe()
        self.assign(())

    @property
    @for_one_user
    def subscription(self) -> tuple[str, ...] | re.Pattern[str] | None:
        """What was subscribed to; None without a subscription."""
        subscribed = None if self._side.group is None else self._side.group.subscribed
        return None if subscribed is None else subscribed.pattern or subscribed.topics

    @for_one_user
    def commit_sync(
        self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None, timeout: Timeout = None
    ) -> None:
        """Commit, and wait for it; the callbacks of every commit_async before it have run when this returns.

        Args: offsets: the next offset to read of each partition; None for the positions, or with
            enable.auto.offset.store=false for the stored offsets.
        Raises:
            CommitFailedError: the group has given the partitions away; what was read since is read by others again.
            ApiTimeout, WakeupError, IllegalStateError (no group.id), and BrokerErrors that trying again does not cure.
        Source: KIP-266. Differs: a rebalance under way is waited for while this member keeps its partitions.
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
        """Commit without waiting; it is retried only if close, unsubscribe or a revocation follows.

        Args: callback: called with offsets and error (None when all is well) in a later poll, commit_sync or close.
        Raises: IllegalStateError: no group.id.
        """
        group = self._need_group("commit_async")
        check("callback", callback, OnCommit | None)
        group.commit_async(group.to_commit() if offsets is None else checked_offsets(offsets), callback)
        self._side.data.processed()

    @for_one_user
    def store_offsets(self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata]) -> None:
        """Set the offsets of later commits: of automatic commits, of close, and of commits without offsets.

        Sends nothing. Needs enable.auto.offset.store=false. A commit with offsets replaces the stored offsets of its
        partitions. The stored offset of a partition is forgotten once the partition is not assigned any more.
        Inside `on_partitions_revoked` call `commit_sync` instead: the last automatic commit was sent before it.

        Args: offsets: the next offset to read of each partition.
        Raises: IllegalStateError: no group.id, a partition is not assigned, or enable.auto.offset.store=true.
        Source: librdkafka. Differs: Java has none.
        """
        group = self._need_group("store_offsets")
        if self._config.enable_auto_offset_store:
            raise IllegalStateError("store_offsets() needs enable.auto.offset.store=false, or positions are committed")
        group.store(checked_offsets(offsets))

    @for_one_user
    @checked
    def committed(
        self, topic_partitions: Iterable[TopicPartition], timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return what the group has committed for each partition, by whomever; None where nothing is.

        Raises: ApiTimeout, GroupAuthorizationFailedError, IllegalStateError (no group.id).
        """
        self._need_group("committed")
        return self._side.lookups.committed(topic_partitions, self._timer(timeout))

    @for_one_user
    def group_metadata(self) -> GroupMetadata:
        """Return who this member is at present; does not block."""
        group = self._need_group("group_metadata")
        self._side.mailbox.drain()
        return group.metadata

    @for_one_user
    @checked
    def enforce_rebalance(self, reason: str = "requested by the application") -> None:
        """Request a rebalance of the group, with the next polls; does nothing while one is in progress."""
        self._need_group("enforce_rebalance").rejoin(reason)

    @property
    @for_one_user
    def assignment(self) -> list[TopicPartition]:
        """The assigned partitions in the order they were given."""
        return self._side.subscription.assignment

    @for_one_user
    @checked
    def assign(self, topic_partitions: Iterable[TopicPartition], *, topic_ids: Mapping[str, bytes] = NO_IDS) -> None:
        """Read exactly these partitions from now on; those already assigned keep their position.

        Args: topic_ids: by name, the only topic that is read under it: nothing is read of a topic that was deleted and
            recreated, and `waiting_for()` reports it. Topics without an id are read whatever their id is.
        Differs: Java has no `topic_ids`.
        """
        self._check_open()
        self._check_unsubscribed()
        wanted = list(topic_partitions)
        for topic, partition in wanted:
            if not topic or partition < 0:
                raise ValueError(f"not a partition: topic {topic!r}, partition {partition}")
        self._side.assign(wanted, topic_ids)

    @for_one_user
    @checked
    def unassign(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Stop reading these partitions; all others keep their position. Partitions that are not assigned are ignored.

        Differs: Java has only `assign` with the partitions that are left, whose cost grows with their number.
        """
        self._check_open()
        self._check_unsubscribed()
        self._side.unassign(topic_partitions)

    def _check_unsubscribed(self) -> None:
        if self.subscription is not None:
            raise IllegalStateError("subscribed to topics, so the group assigns the partitions; unsubscribe() first")

    @for_one_user
    @checked
    def seek(self, topic_partition: TopicPartition, offset: int, *, end_offset: int = MAX_OFFSET) -> None:
        """Continue with the record at `offset`; takes effect with the next poll and does not block.

        Args: end_offset: fetch nothing from there on, until the next seek. The last batch that is fetched may hold
            records behind it, which are delivered like all others.
        Differs: Java has no `end_offset`.
        """
        self._check_open()
        if offset < 0:
            raise ValueError(f"an offset must not be negative: {offset}")
        self._side.seek(topic_partition, offset, end_offset)

    @for_one_user
    @checked
    def seek_to_beginning(self, topic_partitions: Iterable[TopicPartition] | None = None) -> None:
        """Continue with the first record of these partitions (None: all assigned); looked up by the next poll."""
        self._reset(topic_partitions, EARLIEST_TIMESTAMP)

    @for_one_user
    @checked
    def seek_to_end(self, topic_partitions: Iterable[TopicPartition] | None = None) -> None:
        """Continue with what is written after the next poll looks the end up."""
        self._reset(topic_partitions, LATEST_TIMESTAMP)

    @for_one_user
    @checked
    def seek_to_committed(self, topic_partitions: Iterable[TopicPartition] | None = None) -> None:
        """Continue with the committed offset of these partitions (None: all assigned); looked up by the next poll.

        Records that were read since come again, as after an aborted transaction. If nothing is committed,
        auto.offset.reset decides.
        Raises: IllegalStateError: no group.id, or a partition is not assigned.
        Differs: Java has none.
        """
        self._need_group("seek_to_committed")
        wanted = self._side.subscription.assignment if topic_partitions is None else topic_partitions
        self._side.reset_to_committed(wanted)

    @for_one_user
    def positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the next offset of each assigned partition, with the leader epoch for a commit; never blocks.

        Partitions without a position are left out. Raises: IllegalStateError: no group.id.
        Differs: Java has none.
        """
        return dict(self._need_group("positions").positions())

    @for_one_user
    def lag(self, timeout: Timeout = None) -> dict[TopicPartition, int]:
        """Request the ends of the assigned partitions, and return how many offsets each position is behind its end.

        Raises: ApiTimeout. InvalidOffsetError: no position and auto.offset.reset=none.
        Differs: Java returns the lag of one partition, without a request.
        """
        timer = self._timer(timeout)
        ends = self._side.lookups.ends(self._side.subscription.assignment, LATEST_TIMESTAMP, timer)
        self._side.learn_ends(ends)
        return {tp: max(0, end_offset - self._side.position(tp, timer)) for tp, end_offset in ends.items()}

    @for_one_user
    @checked
    def position(self, topic_partition: TopicPartition, timeout: Timeout = None) -> int:
        """Return the offset of the next record to be delivered, looking it up where there is none yet.

        Raises: IllegalStateError: not assigned. InvalidOffsetError: no position and auto.offset.reset=none. ApiTimeout.
        Source: KIP-266. Differs: not assigned is an illegal state, as in later versions of Java, and no argument.
        """
        return self._side.position(topic_partition, self._timer(timeout))

    @for_one_user
    @checked
    def current_lag(self, topic_partition: TopicPartition) -> int | None:
        """Return how many offsets the position is behind the end that isolation.level makes visible; never blocks.

        None where position or end is not known yet: poll, or ask `end_offsets`. Gaps of compaction count as offsets.
        Raises: IllegalStateError: not assigned.
        Source: KIP-666. Differs: Java also starts a look-up of the end.
        """
        self._check_open()
        return self._side.current_lag(topic_partition)

    def metrics(self) -> dict[str, float]:
        """Return what the consumer has counted since it began, by Kafka's names of the metrics.

        Costs microseconds and never waits. Any thread may call it, also while another polls and after close(). Metrics
        without a measurement are NaN. Rates are differences of two totals.

        Returns:
            records-consumed-total: records that the application was given; those of poll_chunk() are not counted.
            bytes-consumed-total: bytes of fetched batches, compressed.
            records-lag-max: the greatest current lag of an assigned partition, in offsets.
            assigned-partitions, rebalance-total: partitions that the consumer has now, rebalances that have ended.
            fetch-total: Fetch responses. fetch-throttle-time-avg, fetch-throttle-time-max: of each of them, in ms.
            commit-total: commits that succeeded.
            last-poll-seconds-ago: since the last poll began, in seconds.
            time-between-poll-avg, time-between-poll-max: from the beginning of one poll to the next, in ms.
            poll-idle-ratio-avg: share of the time that the application spent inside of poll, 0 to 1.
        Source: Kafka's consumer metrics. Differs: counted since the beginning, without time windows.
        """
        return self._side.metrics()

    @for_one_user
    @checked
    def pause(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Deliver nothing of these partitions until `resume`; what was fetched is kept."""
        self._set_paused(topic_partitions, True)

    @for_one_user
    @checked
    def resume(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Deliver the records of paused partitions again."""
        self._set_paused(topic_partitions, False)

    @property
    @for_one_user
    def paused(self) -> list[TopicPartition]:
        """The paused partitions."""
        return self._side.subscription.paused

    def poll(self, timeout: Timeout = None) -> list[ConsumerRecord]:
        """Return the next records, up to max.poll.records, as soon as there are any.

        Never waits longer than `timeout` and raises no timeout error: [] then, and the fetches stay in flight. Records
        of one partition come in offset order; the position is after them when poll returns.

        Raises:
            IllegalStateError: neither subscribed to topics nor assigned any partition.
            CorruptBatchError: with topic, partition and offset; polling again tries again, seeking goes past it.
            InvalidOffsetError: no position, or one that does not exist, and auto.offset.reset=none.
            TopicAuthorizationFailedError and other BrokerErrors that trying again does not cure.
            AuthenticationError, WrongPeerError, TlsError: no broker accepts the connection.
            WakeupError: wakeup() was called.
        Source: KIP-266. Differs: an unknown topic is no error (see `waiting_for`); the timeout may be left out.
        """
        if self._is_unpolled:
            self._note_first_poll()
        result = self._poll(timeout)
        if result is None:
            return []
        records = result.records
        result.given = result.count  # no call, so no KeyboardInterrupt, from here to the caller
        return records

    def poll_chunk(self, timeout: Timeout = None) -> FetchedChunk | None:
        """Return the next fetched chunk undecoded, or None when the timeout passes first.

        For callers that turn batches into bytes or columns without making records of them:
        `chunk.reader(stop_offset).output(plan)`. The position is after the whole chunk when this returns; a caller that
        stops in the middle seeks back to `reader.next_offset`. Raises as `poll`; the reader finds damage in batches.
        """
        result = self._poll_chunk(timeout)
        if result is None:
            return None
        chunk = result.chunk
        result.given = result.count
        return chunk

    def __iter__(self) -> Iterator[ConsumerRecord]:
        """Yield records for ever; ends when the consumer is closed.

        The position moves record by record: what a loop that ends early was not given comes from the next poll or loop.
        """
        data = self._side.data
        while self._side.close_result is None:
            result = self._poll(math.inf)
            if result is None:
                continue
            result.is_one_by_one = True
            for record in result.records:
                result.given += 1
                yield record
                if data.result is not result:  # a call has taken note of the positions, and may have moved them
                    break

    @for_one_user
    def waiting_for(self) -> dict[TopicPartition, WaitReason]:
        """Return, for each assigned partition, why nothing arrives from it right now; does not block."""
        return self._side.waiting_for()

    @for_one_user
    def waiting_for_group(self) -> WaitReason | None:
        """Return why the group has given this member no partition yet; None when it has, or without a subscription."""
        return self._side.waiting_for_group()

    def wakeup(self) -> None:
        """Make the present or next blocking call raise WakeupError; any thread, and signal handlers."""
        if self._one_user.is_forked:
            self._one_user.refuse()
        self._side.mailbox.wakeup()

    @for_one_user
    @checked
    def partitions_for(self, topic: str, timeout: Timeout = None) -> list[PartitionInfo]:
        """Return the partitions of a topic by number.

        Raises: UnknownTopicOrPartitionError, TopicAuthorizationFailedError, ApiTimeout.
        Source: KIP-266. Differs: always asks a broker, not only without metadata; Java has null for an unknown topic.
        """
        return list(self._side.lookups.topics((topic,), self._timer(timeout))[topic])

    @for_one_user
    def list_topics(self, timeout: Timeout = None) -> dict[str, list[PartitionInfo]]:
        """Return every topic that may be seen, with its partitions."""
        answer = self._side.lookups.topics(None, self._timer(timeout))
        return {topic: list(answer[topic]) for topic in sorted(answer)}

    @for_one_user
    @checked
    def beginning_offsets(
        self, topic_partitions: Iterable[TopicPartition], timeout: Timeout = None
    ) -> dict[TopicPartition, int]:
        """Return the offset of the first record of each partition."""
        return self._side.lookups.ends(topic_partitions, EARLIEST_TIMESTAMP, self._timer(timeout))

    @for_one_user
    @checked
    def end_offsets(
        self, topic_partitions: Iterable[TopicPartition], timeout: Timeout = None
    ) -> dict[TopicPartition, int]:
        """Return the offset after the last record of each partition that isolation.level makes visible."""
        ends = self._side.lookups.ends(topic_partitions, LATEST_TIMESTAMP, self._timer(timeout))
        self._side.learn_ends(ends)
        return ends

    @for_one_user
    @checked
    def offsets_for_times(
        self, timestamps_ms: Mapping[TopicPartition, int | datetime], timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the first record at or after a time for each partition; None where all records are older.

        Args: timestamps_ms: milliseconds since the epoch, >= 0, or datetimes with a time zone.
        """
        asked = _instants(timestamps_ms)
        for tp, timestamp_ms in asked.items():
            if timestamp_ms < 0:
                raise ValueError(f"{tp}: a timestamp must not be negative: {timestamp_ms}")
        return self._side.lookups.offsets(asked, self._timer(timeout))

    @for_one_user
    @checked
    def look_up_offsets(
        self, timestamps_ms: Mapping[TopicPartition, int | datetime], *, log_end: bool = False
    ) -> OffsetLookup:
        """Start to look up offsets by time, EARLIEST_TIMESTAMP or LATEST_TIMESTAMP; see `OffsetLookup`."""
        self._check_open()
        return self._side.lookups.start(_instants(timestamps_ms), reads_uncommitted=log_end)

    @for_one_user
    def client_instance_id(self, timeout: Timeout = None) -> "UUID":
        """Return the id by which the cluster knows this client; asked once, the same from then on.

        Raises:
            IllegalStateError: enable.metrics.push=false.
            UnsupportedVersionError, ApiTimeout: the broker is older than 3.7, takes no client metrics, or is silent.
        Source: KIP-714. Differs: no metrics are sent; the timeout may be left out.
        """
        if not self._config.enable_metrics_push:
            raise IllegalStateError("client_instance_id() needs enable.metrics.push=true")
        return self._side.lookups.client_instance_id(self._timer(timeout))

    @for_one_user
    @checked
    def close(self, timeout: Timeout = None, on_close: OnClose | None = None) -> CloseResult:
        """Commit where that is automatic, leave the group, close the sockets and end the network thread, in that order.

        Args:
            timeout: for all steps together, 30 s by default; 0 sends the requests and waits for nothing. With math.inf
                each step that needs a response still has request.timeout.ms at most.
            on_close: "leave" or "remain" in the group; by default only static members remain.
        Returns: what was achieved. The same again when called again.
        Raises: what a rebalance listener or a commit's callback raises; never a timeout, and no wakeup interrupts it.
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
        """Close; after an exception, what was given last and not committed since counts as not processed."""
        if self._one_user.is_forked:
            return
        if kind is not None:
            self._side.data.step_back()
        self.close()

    def _timer(self, timeout: Timeout) -> Timer:
        self._check_open()
        timeout_ms = to_timeout_ms(timeout, self._config.default_api_timeout_ms)
        closing = self._side.closing
        return Timer(self._clock, timeout_ms) if closing is None else closing.sub(timeout_ms)

    def _check_assigned(self) -> None:
        if self.subscription is None and not (self._side.subscription.has_any or self._side.lookups.are_open):
            raise IllegalStateError("not subscribed to a topic and no partition assigned: nothing to poll")

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

    def _note_first_poll(self) -> None:
        """Warn of `asyncio.to_thread(consumer.poll)`.

        A poll in a thread returns its records to asyncio, which drops them if the coroutine was cancelled. The
        next poll comes as it does after records that were processed, so the consumer cannot tell the two.
        """
        self._is_unpolled = False
        if threading.current_thread().name.startswith(_THREADS_OF_ASYNCIO):
            logger.warning("poll() in a thread of asyncio loses its records if it is cancelled; use AsyncConsumer")

    def _check_open(self) -> None:
        if self._side.close_result is not None:
            raise IllegalStateError("this consumer is closed")

    def _need_group(self, call: str) -> GroupSide:
        self._check_open()
        if self._side.group is None:
            raise IllegalStateError(f"{call}() needs group.id, which is not set")
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
