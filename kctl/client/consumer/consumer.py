"""Consumer: the blocking API on the application thread.

Owns the subscription, the fetched data and the end of the queues towards the network loop; never touches a socket.
Every blocking call makes one Timer and ends by it. Shown by tests/unit/consumer and, whole, by tests/sim/consumer.
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from types import TracebackType
from typing import NamedTuple, Self, cast

from kctl.client.clock import Timer, to_timeout_ms
from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.chunk import FetchedChunk
from kctl.client.consumer.events import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    AskOffsets,
    AskTopics,
    Fetched,
    OffsetAndTimestamp,
    OffsetsAnswer,
    PartitionFailed,
    PositionResolved,
    ToApplication,
    ToNetwork,
    TopicsAnswer,
    Waiting,
)
from kctl.client.consumer.fetched_data import FetchedData
from kctl.client.consumer.managers.fetch import PREFETCH_BYTES
from kctl.client.consumer.network_link import NetworkLink
from kctl.client.consumer.network_loop import NetworkLoop
from kctl.client.consumer.subscription import Stage, Subscription
from kctl.client.errors import IllegalStateError, InvalidOffsetError
from kctl.client.events import EventSink, ignore_events
from kctl.client.network.system import system_runtime
from kctl.client.records import Record
from kctl.client.seams import Runtime

ConsumerRecord = Record
Timeout = float | timedelta | None
"""Seconds, a timedelta, `math.inf`, or None for default.api.timeout.ms."""

DEFAULT_CLOSE_TIMEOUT_MS = 30_000


class CloseResult(NamedTuple):
    """What close() achieved.

    Attributes:
        committed, left_group: None without a group.
        expired_in: the step in which the timeout passed, or None when everything was done in time.
        elapsed_ms: how long it took.
    """

    committed: bool | None
    left_group: bool | None
    expired_in: str | None
    elapsed_ms: int


class Consumer:
    """Reads records of assigned partitions.

    One thread at a time may use it; `wakeup()` alone may be called from any thread and from signal handlers. A second
    thread does the network's work and ends with close().

    Args:
        config: Kafka property names and values.
        runtime: clock, threads and sockets; None for the system's.
        events: gets every connection event, on the network thread.
        prefetch_bytes: how much may lie fetched and undelivered, over all partitions.
    """

    def __init__(
        self,
        config: Mapping[str, object] | ConsumerConfig,
        runtime: Runtime | None = None,
        *,
        events: EventSink = ignore_events,
        prefetch_bytes: int = PREFETCH_BYTES,
    ) -> None:
        self._config = config if isinstance(config, ConsumerConfig) else ConsumerConfig.parse(config)
        runtime = runtime or system_runtime()
        self._clock = runtime.clock
        to_network: deque[ToNetwork] = deque()
        to_application: deque[ToApplication] = deque()
        waiter = runtime.driver.waiter()
        client = ClusterClient(
            self._config, runtime, events=events, auto_create_topics=self._config.allow_auto_create_topics
        )
        loop = NetworkLoop(
            self._config,
            client,
            runtime.chance,
            inbox=to_network,
            outbox=to_application,
            application=waiter,
            prefetch_bytes=prefetch_bytes,
        )
        self._link = NetworkLink(
            runtime.driver,
            waiter,
            outbox=to_network,
            inbox=to_application,
            wake_network=client.wakeup,
            on_event=self._on_event,
        )
        self._subscription = Subscription(has_reset_policy=self._config.auto_offset_reset != "none")
        self._data = FetchedData(self._subscription, self._link.post_quietly)
        self._close_result: CloseResult | None = None
        self._task = runtime.driver.spawn(loop.run, "kctl-consumer-network")

    # --- assignment and position ------------------------------------------------------------------------------------

    @property
    def assignment(self) -> list[TopicPartition]:
        """The assigned partitions in the order they were given."""
        return self._subscription.assignment

    def assign(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions from now on; those already assigned keep their position."""
        self._check_open()
        wanted = [TopicPartition(*tp) for tp in topic_partitions]
        for topic, partition in wanted:
            if not topic or partition < 0:
                raise ValueError(f"not a partition: topic {topic!r}, partition {partition}")
        for tp in self._subscription.assign(wanted):
            self._data.drop(tp)

    def seek(self, topic_partition: TopicPartition, offset: int) -> None:
        """Go on with the record at `offset`; takes effect with the next poll and does not block."""
        self._check_open()
        if offset < 0:
            raise ValueError(f"an offset is not negative: {offset}")
        self._subscription.seek(topic_partition, offset)
        self._data.drop(topic_partition)

    def seek_to_beginning(self, topic_partitions: Iterable[TopicPartition] | None = None) -> None:
        """Go on with the first record of these partitions (None: all assigned); looked up by the next poll."""
        self._reset(topic_partitions, EARLIEST_TIMESTAMP)

    def seek_to_end(self, topic_partitions: Iterable[TopicPartition] | None = None) -> None:
        """Go on with what is written after the next poll looks the end up."""
        self._reset(topic_partitions, LATEST_TIMESTAMP)

    def position(self, topic_partition: TopicPartition, timeout: Timeout = None) -> int:
        """Return the offset of the next record to be delivered, looking it up where there is none yet.

        Raises: IllegalStateError: not assigned. InvalidOffsetError: no position and auto.offset.reset=none. ApiTimeout.
        """
        timer = self._timer(timeout)
        state = self._subscription.state(topic_partition)
        if state.position is None:
            timestamp_ms = state.reset_timestamp_ms
            if timestamp_ms is None:
                timestamp_ms = self._reset_policy_timestamp_ms()
            if timestamp_ms is None:
                raise self._unpositioned([topic_partition])
            self._subscription.seek(topic_partition, self._find_offset(topic_partition, timestamp_ms, timer))
        assert state.position is not None
        return state.position

    def pause(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Deliver nothing of these partitions until `resume`; what was fetched is kept."""
        self._set_paused(topic_partitions, True)

    def resume(self, topic_partitions: Iterable[TopicPartition]) -> None:
        self._set_paused(topic_partitions, False)

    @property
    def paused(self) -> list[TopicPartition]:
        return self._subscription.paused

    # --- records ----------------------------------------------------------------------------------------------------

    def poll(self, timeout: Timeout = None) -> list[ConsumerRecord]:
        """Return the next records, up to max.poll.records, as soon as there are any.

        Never waits longer than `timeout` and raises no timeout error: [] then, and the fetches stay in flight. Records
        of one partition come in offset order; the position is after them when poll returns.

        Raises:
            CorruptBatchError: with topic, partition and offset; polling again tries again, seeking goes past it.
            InvalidOffsetError: no position, or one that does not exist, and auto.offset.reset=none.
            TopicAuthorizationFailedError and other BrokerErrors that trying again does not cure.
            AuthenticationError, WrongPeerError, TlsError: no broker lets us in.
            WakeupError: wakeup() was called.
        Source: KIP-266. Differs: an unknown topic is no error here; see `waiting_for`.
        """
        timer = self._timer(timeout)
        while True:
            self._advance()
            records = self._data.take_records(self._config.max_poll_records)
            if records or not self._wait(timer):
                return records

    def poll_chunk(self, timeout: Timeout = None) -> FetchedChunk | None:
        """Return the next fetched chunk undecoded, or None when the timeout passes first.

        For callers that turn batches into bytes or columns without making records of them:
        `chunk.reader(stop_offset).output(plan)`. The position is after the whole chunk when this returns; a caller that
        stops in the middle seeks back to `reader.next_offset`. Raises as `poll` does, save that damage inside the
        batches is found by the reader.
        """
        timer = self._timer(timeout)
        while True:
            self._advance()
            chunk = self._data.take_chunk()
            if chunk is not None or not self._wait(timer):
                return chunk

    def __iter__(self) -> Iterator[ConsumerRecord]:
        """Yield records for ever; ends when the consumer is closed."""
        while self._close_result is None:
            yield from self.poll(math.inf)

    def waiting_for(self) -> dict[TopicPartition, str]:
        """Return, for each assigned partition, why nothing arrives from it right now; does not block."""
        self._link.drain()
        return {tp: self._why_waiting(tp) for tp in self._subscription}

    def wakeup(self) -> None:
        """Make the present or next blocking call raise WakeupError; any thread, and signal handlers."""
        self._link.wakeup()

    # --- questions to the cluster -----------------------------------------------------------------------------------

    def partitions_for(self, topic: str, timeout: Timeout = None) -> list[PartitionInfo]:
        """Return the partitions of a topic by number.

        Raises: UnknownTopicOrPartitionError, TopicAuthorizationFailedError, ApiTimeout.
        Differs: Java returns null for an unknown topic.
        """
        return list(self._ask_topics((topic,), timeout)[topic])

    def list_topics(self, timeout: Timeout = None) -> dict[str, list[PartitionInfo]]:
        """Return every topic that may be seen, with its partitions."""
        answer = self._ask_topics(None, timeout)
        return {topic: list(answer[topic]) for topic in sorted(answer)}

    def beginning_offsets(
        self, topic_partitions: Iterable[TopicPartition], timeout: Timeout = None
    ) -> dict[TopicPartition, int]:
        """Return the offset of the first record of each partition."""
        return self._ends(topic_partitions, EARLIEST_TIMESTAMP, timeout)

    def end_offsets(
        self, topic_partitions: Iterable[TopicPartition], timeout: Timeout = None
    ) -> dict[TopicPartition, int]:
        """Return the offset after the last record of each partition that isolation.level lets us see."""
        return self._ends(topic_partitions, LATEST_TIMESTAMP, timeout)

    def offsets_for_times(
        self, timestamps_ms: Mapping[TopicPartition, int], timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the first record at or after a time for each partition; None where all records are older.

        Args: timestamps_ms: milliseconds since the epoch, >= 0.
        """
        for tp, timestamp_ms in timestamps_ms.items():
            if timestamp_ms < 0:
                raise ValueError(f"{tp}: a timestamp is not negative: {timestamp_ms}")
        return self._ask_offsets(timestamps_ms, self._timer(timeout))

    # --- the end ----------------------------------------------------------------------------------------------------

    def close(self, timeout: Timeout = None) -> CloseResult:
        """Stop, close the sockets and end the network thread, within `timeout` (default 30 s); says what was achieved.

        Never raises a timeout, is not interrupted by wakeup, and may be called again. With 0 it does not wait: the
        thread ends on its own.
        """
        timer = Timer(self._clock, to_timeout_ms(timeout, DEFAULT_CLOSE_TIMEOUT_MS))
        if self._close_result is None:
            has_ended = self._link.stop(self._task, timer)
            timer.update()
            expired_in = None if has_ended else "waiting for the network thread to end"
            self._close_result = CloseResult(None, None, expired_in, timer.elapsed_ms)
        return self._close_result

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # --- inside -----------------------------------------------------------------------------------------------------

    def _timer(self, timeout: Timeout) -> Timer:
        self._check_open()
        return Timer(self._clock, to_timeout_ms(timeout, self._config.default_api_timeout_ms))

    def _check_open(self) -> None:
        if self._close_result is not None:
            raise IllegalStateError("this consumer is closed")

    def _advance(self) -> None:
        """Take what the network said, and tell it what has been decided since."""
        self._link.look()
        self._tell_changes()
        unpositioned = self._subscription.unpositioned
        if unpositioned:
            raise self._unpositioned(unpositioned)

    def _wait(self, timer: Timer) -> bool:
        self._tell_changes()  # delivering nothing may decide something: an offset out of range asks for a position
        return self._link.wait(timer)

    def _tell_changes(self) -> None:
        has_changes = self._subscription.has_changes
        self._link.post(self._subscription.take_changes(self._reset_policy_timestamp_ms()) if has_changes else ())

    def _on_event(self, event: ToApplication) -> None:
        match event:
            case Fetched(chunk):
                self._data.add_chunk(chunk)
            case PartitionFailed():
                self._data.add_failure(event)
            case PositionResolved():
                self._subscription.resolved(*event)
            case Waiting(topic_partition, epoch, reason):
                state = self._subscription.current(topic_partition, epoch)
                if state is not None:
                    state.waiting = reason

    def _reset(self, topic_partitions: Iterable[TopicPartition] | None, timestamp_ms: int) -> None:
        self._check_open()
        for tp in self._subscription.assignment if topic_partitions is None else list(topic_partitions):
            self._subscription.reset(tp, timestamp_ms)
            self._data.drop(tp)

    def _set_paused(self, topic_partitions: Iterable[TopicPartition], paused: bool) -> None:
        self._check_open()
        for tp in topic_partitions:
            self._subscription.set_paused(tp, paused)

    def _reset_policy_timestamp_ms(self) -> int | None:
        policy = self._config.auto_offset_reset
        age_ms = self._config.auto_offset_reset_duration_ms
        if age_ms is not None:
            return max(0, self._clock.wall_ms() - age_ms)
        return {"earliest": EARLIEST_TIMESTAMP, "latest": LATEST_TIMESTAMP}.get(policy)

    def _unpositioned(self, topic_partitions: list[TopicPartition]) -> InvalidOffsetError:
        names = ", ".join(map(str, topic_partitions))
        text = f"no position for {names}, and auto.offset.reset=none; seek first"
        return InvalidOffsetError(text, partitions=tuple(topic_partitions))

    def _why_waiting(self, topic_partition: TopicPartition) -> str:
        state = self._subscription.state(topic_partition)
        if state.paused:
            return "paused"
        if self._data.has(topic_partition):
            return "fetched, to be delivered by the next poll"
        if state.stage in (Stage.UNPOSITIONED, Stage.POSITIONED):
            return "the next poll starts it"
        default = "looking for the position" if state.stage is Stage.RESOLVING else "waiting for the leader's answer"
        return state.waiting or default

    def _ask_topics(self, topics: tuple[str, ...] | None, timeout: Timeout) -> TopicsAnswer:
        timer = self._timer(timeout)
        answer = self._link.ask(lambda call_id: AskTopics(call_id, topics, timer.deadline_at_ms), timer)
        return cast(TopicsAnswer, answer)

    def _ask_offsets(
        self, timestamps_ms: Mapping[TopicPartition, int], timer: Timer
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        asked = tuple((TopicPartition(*tp), timestamp_ms) for tp, timestamp_ms in timestamps_ms.items())
        if not asked:
            return {}
        answer = self._link.ask(lambda call_id: AskOffsets(call_id, asked, timer.deadline_at_ms), timer)
        found = cast(OffsetsAnswer, answer)
        return {tp: found[tp] for tp, _ in asked}

    def _ends(
        self, topic_partitions: Iterable[TopicPartition], timestamp_ms: int, timeout: Timeout
    ) -> dict[TopicPartition, int]:
        found = self._ask_offsets(dict.fromkeys(topic_partitions, timestamp_ms), self._timer(timeout))
        return {tp: 0 if each is None else each.offset for tp, each in found.items()}

    def _find_offset(self, topic_partition: TopicPartition, timestamp_ms: int, timer: Timer) -> int:
        """Return where a partition starts by timestamp; its end where no record is that young."""
        for wanted_ms in (timestamp_ms, LATEST_TIMESTAMP):
            found = self._ask_offsets({topic_partition: wanted_ms}, timer)[topic_partition]
            if found is not None:
                return found.offset
        return 0
