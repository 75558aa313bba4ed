"""ApplicationSide: parts of a consumer on the application thread, and the steps of a poll."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar
from weakref import WeakMethod

from kctl.client.clock import FOREVER_MS, Timer
from kctl.client.cluster import TopicPartition
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.chunk import FetchedChunk
from kctl.client.consumer.close import DEFAULT_CLOSE_TIMEOUT_MS, OnClose, close
from kctl.client.consumer.events import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    Fetched,
    GiveBack,
    LookupNews,
    PartitionFailed,
    PositionResolved,
    ToApplication,
    Truncated,
    WaitReport,
)
from kctl.client.consumer.fetched_data import FetchedData
from kctl.client.consumer.group.application_side import GroupSide
from kctl.client.consumer.group.events import IdsByName, NoCommittedOffset
from kctl.client.consumer.lookups import Lookups
from kctl.client.consumer.mailbox import ConsumerMailbox
from kctl.client.consumer.metrics import PollTimes, lag_max, network_metrics
from kctl.client.consumer.network_loop import NetworkLoop
from kctl.client.consumer.subscription import Subscription
from kctl.client.consumer.waiting import NOTHING_BEYOND, SESSION_OVER, WaitKind, WaitReason
from kctl.client.errors import IllegalStateError, InvalidOffsetError
from kctl.client.events import EventSink
from kctl.client.loop.at_exit import OpenLoop
from kctl.client.loop.close import CloseResult
from kctl.client.runtime import Runtime
from kctl.client.wording import listed

T = TypeVar("T")


class ApplicationSide:
    def __init__(
        self,
        config: ConsumerConfig,
        runtime: Runtime,
        *,
        events: EventSink,
        prefetch_bytes: int,
        max_decompressed_bytes: int,
    ) -> None:
        self._config = config
        self._clock = runtime.clock
        client = ClusterClient(config, runtime, events=events, auto_create_topics=config.allow_auto_create_topics)
        on_event = WeakMethod(self._on_event)
        self.mailbox = ConsumerMailbox(runtime.clock, runtime.driver, client.wakeup, client.last_error, on_event)
        loop = NetworkLoop(config, client, self.mailbox, runtime.rng, runtime.entropy, prefetch_bytes=prefetch_bytes)
        self.lookups = Lookups(self.mailbox)
        group_id = config.group_id
        self.subscription = Subscription(
            has_reset_policy=config.auto_offset_reset != "none", has_group=group_id is not None
        )
        self.data = FetchedData(self.subscription, self.mailbox.post_consumed, max_decompressed_bytes)
        self.group: GroupSide | None = None
        if group_id is not None:
            self.group = GroupSide(config, group_id, self._clock, self.mailbox, self.subscription, self.data)
        self._handlers: dict[type, Callable[[Any], None]] = {
            Fetched: self._on_fetched,
            PartitionFailed: self.data.add_failure,
            Truncated: self.data.truncated,
            GiveBack: lambda event: self.data.give_back(*event),
            PositionResolved: self._on_position,
            LookupNews: self.lookups.on_news,
            NoCommittedOffset: lambda event: self.subscription.nothing_committed(*event),
            WaitReport: self._on_waits,
            **({} if self.group is None else self.group.handlers),
        }
        """Handler of each event type of the network thread."""
        self._is_polling = False
        self._polls = PollTimes()
        self._counts = loop.counts
        self.closing: Timer | None = None
        self._is_in_close = False
        self.close_result: CloseResult | None = None
        self.open_loop = OpenLoop(self.mailbox, DEFAULT_CLOSE_TIMEOUT_MS)
        """Does not commit positions: the records of the last poll may not have been processed."""
        self._spawn = partial(runtime.driver.spawn, loop.run, "kctl-consumer-network")

    def start(self) -> None:
        """Start the network thread; `open_loop` or `close` stops it."""
        self._task = self.mailbox.task = self._spawn()
        self.open_loop.follow()

    # --- decisions about partitions ---------------------------------------------------------------------------------

    def assign(self, topic_partitions: Iterable[TopicPartition], topic_ids: IdsByName) -> None:
        self.data.settle()
        for tp in self.subscription.assign(topic_partitions, topic_ids):
            self.data.drop(tp)
        self._report_removals()

    def unassign(self, topic_partitions: Iterable[TopicPartition]) -> None:
        self.data.settle()
        for tp in topic_partitions:
            if self.subscription.remove(tp):
                self.data.drop(tp)
        self._report_removals()

    def _report_removals(self) -> None:
        """Post removed partitions without waiting for a poll, because a close retries commits of the others."""
        self.mailbox.post_each(self.subscription.pending_changes)

    def seek(self, topic_partition: TopicPartition, offset: int, end_offset: int) -> None:
        self.data.settle()
        self.subscription.seek(topic_partition, offset, end_offset=end_offset)
        self.data.drop(topic_partition)

    def set_paused(self, topic_partitions: Iterable[TopicPartition], paused: bool) -> None:
        self.data.settle()
        for tp in topic_partitions:
            self.subscription.set_paused(tp, paused)

    def reset(self, topic_partitions: Iterable[TopicPartition], timestamp_ms: int) -> None:
        self.data.settle()
        for tp in topic_partitions:
            self.subscription.reset(tp, timestamp_ms)
            self.data.drop(tp)

    def reset_to_committed(self, topic_partitions: Iterable[TopicPartition]) -> None:
        self.data.settle()
        for tp in topic_partitions:
            self.subscription.reset_to_committed(tp)
            self.data.drop(tp)

    def position(self, topic_partition: TopicPartition, timer: Timer) -> int:
        """Return the position, from the sources of a poll: explicit reset, committed offset, or reset policy.

        The first call also starts the queries of all other positions.
        """
        self.data.settle()
        state = self.subscription.state(topic_partition)
        if state.position is None:
            self.subscription.resolve_others(topic_partition, self._reset_policy_timestamp_ms())
            self.mailbox.post_each(self.subscription.pending_changes)
            self.mailbox.drain()
        if state.position is None and self.group is not None and state.may_be_committed:
            committed = self.lookups.committed([topic_partition], timer)[topic_partition]
            if committed is not None and state.position is None:
                self.subscription.seek(topic_partition, committed.offset, committed.leader_epoch)
            elif state.uncommitted_from is not None and state.position is None:
                self.subscription.seek(topic_partition, state.uncommitted_from)
        if state.position is None:
            timestamp_ms = state.reset_timestamp_ms
            if timestamp_ms is None:
                timestamp_ms = self._reset_policy_timestamp_ms()
            if timestamp_ms is None:
                raise self._unpositioned([topic_partition])
            offset = self.lookups.position(topic_partition, timestamp_ms, timer)
            if state.position is None:
                self.subscription.seek(topic_partition, offset)
        assert state.position is not None
        return state.position

    # --- the poll ---------------------------------------------------------------------------------------------------

    def poll(self, take: Callable[[], T | None], timer: Timer) -> T | None:
        if self._is_polling:
            raise IllegalStateError("cannot call poll() within poll(): return from the listener or callback first")
        group = self.group
        self._is_polling = True
        try:
            self._polls.began(timer.start_at_ms)
            self.data.processed()
            if group is not None:
                group.poll_began()
            while True:
                self._advance()
                taken = take() if group is None or group.may_deliver else None
                if taken is not None or self.lookups.had_results() or not self._wait(timer):
                    return taken
        finally:
            self._is_polling = False
            if group is not None:
                group.poll_ended()
            self._polls.ended(timer.now_ms)

    def _advance(self) -> None:
        self.mailbox.look()
        if self.group is not None:
            self.group.advance()
        self._report_changes()
        unpositioned = self.subscription.unpositioned
        if unpositioned:
            raise self._unpositioned(unpositioned)

    def _wait(self, timer: Timer) -> bool:
        self._report_changes()  # an offset out of range needs a new position
        return self.mailbox.wait(timer, FOREVER_MS if self.group is None else self.group.next_deadline_at_ms)

    def _report_changes(self) -> None:
        if self.subscription.has_changes:
            self.mailbox.post_each(self.subscription.changes(self._reset_policy_timestamp_ms()))
        else:
            self.mailbox.post_all(())

    def _reset_policy_timestamp_ms(self) -> int | None:
        policy = self._config.auto_offset_reset
        age_ms = self._config.auto_offset_reset_duration_ms
        if age_ms is not None:
            return max(0, self._clock.wall_ms() - age_ms)
        return {"earliest": EARLIEST_TIMESTAMP, "latest": LATEST_TIMESTAMP}.get(policy)

    def _unpositioned(self, topic_partitions: list[TopicPartition]) -> InvalidOffsetError:
        text = f"no position for {listed(topic_partitions)}: call seek() or set auto.offset.reset"
        return InvalidOffsetError(text, partitions=tuple(topic_partitions))

    # --- events of the network loop ---------------------------------------------------------------------------------

    def waiting_for(self) -> dict[TopicPartition, WaitReason]:
        self.data.settle()
        self.mailbox.drain()
        if self.group is not None and not self.group.may_deliver:
            return {tp: WaitReason(WaitKind.COORDINATOR, SESSION_OVER) for tp in self.subscription}
        return {tp: self.subscription.state(tp).why_waiting(is_fetched=self.data.has(tp)) for tp in self.subscription}

    def waiting_for_group(self) -> WaitReason | None:
        self.mailbox.drain()
        return None if self.group is None or self.group.subscribed is None else self.group.waiting

    def current_lag(self, topic_partition: TopicPartition) -> int | None:
        self.data.settle()
        self.mailbox.drain()
        state = self.subscription.state(topic_partition)
        if state.position is None:
            return None
        if state.end_offset is not None:
            return max(0, state.end_offset - state.position)
        is_at_end = state.waiting is not None and state.waiting.kind in NOTHING_BEYOND
        return 0 if is_at_end and not self.data.has(topic_partition) else None

    def metrics(self) -> dict[str, float]:
        """Return the counters; any thread."""
        return {
            "records-consumed-total": self.data.records_given,
            "bytes-consumed-total": self.data.bytes_fetched,
            "records-lag-max": lag_max(self.subscription.states),
            "assigned-partitions": len(self.subscription.states),
            "rebalance-total": 0 if self.group is None else self.group.rebalances,
            **network_metrics(self._counts()),
            **self._polls.metrics(self._clock.now_ms()),
        }

    def learn_ends(self, ends: Mapping[TopicPartition, int]) -> None:
        for tp, end_offset in ends.items():
            if tp in self.subscription:
                self.subscription.state(tp).end_offset = end_offset

    def _learn_end(self, chunk: FetchedChunk) -> None:
        state = self.subscription.current(chunk.topic_partition, chunk.epoch)
        is_committed_only = self._config.isolation_level == "read_committed"
        end_offset = chunk.last_stable_offset if is_committed_only else chunk.high_watermark
        if state is not None and end_offset >= 0:
            state.end_offset = end_offset

    def _on_event(self, event: ToApplication) -> None:
        self.data.settle()  # what the event means may depend on the positions
        self._handlers[type(event)](event)

    def _on_fetched(self, event: Fetched) -> None:
        self._learn_end(event.chunk)
        self.data.add_chunk(event.chunk)

    def _on_position(self, event: PositionResolved) -> None:
        self.subscription.resolved(*event)
        state = self.subscription.current(event.topic_partition, event.epoch)
        if state is not None:
            state.waiting = None

    def _on_waits(self, report: WaitReport) -> None:
        current, reported_at_ms = self.subscription.current, report.at_ms
        for tp, epoch, text, kind, node_id, cause, at_ms in report.waits:
            state = current(tp, epoch)
            if state is None:
                continue
            if kind in NOTHING_BEYOND:
                state.setback = None
            if text:
                reason = WaitReason(kind, text, node_id, cause, at_ms or reported_at_ms)
                state.waiting = reason.after(state.waiting)
            else:
                state.waiting = None

    # --- the end ----------------------------------------------------------------------------------------------------

    def close(self, timer: Timer, on_close: OnClose | None) -> CloseResult:
        """Close once, even if a listener or callback raises; later calls return the first result.

        After a KeyboardInterrupt, another call waits for the rest of the close, with a new timer.
        """
        if self.close_result is None:
            self.data.settle()
            if self._is_in_close:
                raise IllegalStateError(
                    "cannot call close() within close(): return from the listener or callback first"
                )
            self.closing = timer
            self._is_in_close = True
            try:
                self.close_result, error = close(self.mailbox, self._task, self.group, timer, on_close)
            finally:
                self._is_in_close = False
            if error is not None:
                raise error
        return self.close_result
