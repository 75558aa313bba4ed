"""FetchManager: keeps one fetch in flight at every leader and hands over what comes, undecoded.

Owns, per assigned partition, the offset to fetch next and how much of it the application holds. Prefetching goes on
until a partition holds `max.partition.fetch.bytes`, or all of them hold the budget; what the application has consumed
makes room. Partitions that brought data go to the end of the order in which they are asked, so none starves.
Knows nothing of records, groups or positions. Shown by tests/unit/consumer/test_fetch_manager.py.
"""

from collections.abc import Callable, Iterator
from random import Random

from kctl.client.backoff import ExponentialBackoff
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import NO_TOPIC_ID, PartitionInfo, TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.chunk import FetchedChunk, walk_batches
from kctl.client.consumer.events import Fetched, PartitionFailed, StartFetch, ToApplication, Waiting
from kctl.client.consumer.managers.leaders import Leaders, may_pass
from kctl.client.consumer.managers.requests import Outgoing, Poll
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import CorruptBatchError, KafkaError
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from kctl.client.records import AbortedTransaction

PREFETCH_BYTES = 64 * 1024 * 1024
"""How much may lie fetched and unconsumed, over all partitions."""
SHORT_WAIT_MS = 20
"""Wait of a fetch that leaves out a partition for lack of room: its turn comes when the application has caught up."""
LAST_VERSION_WITH_NAMES = 12
"""From the next version on, Fetch names topics by their id, which old brokers do not have."""


class FetchState:
    """One assigned partition, as the network side sees it."""

    __slots__ = (
        "attempts", "buffered_bytes", "epoch", "next_offset", "node_id", "paused", "reason", "retry_at_ms", "stopped"
    )  # fmt: skip

    def __init__(self, epoch: int, offset: int) -> None:
        self.epoch = epoch
        self.next_offset = offset
        self.paused = False
        self.stopped = False
        """An error was handed over; the application decides how to go on."""
        self.node_id: int | None = None
        """Where a fetch of it is in flight."""
        self.buffered_bytes = 0
        self.retry_at_ms = 0
        self.attempts = 0
        self.reason = ""


class InFlight:
    """One fetch on the wire: the epoch each partition had, and the names behind topic ids."""

    __slots__ = ("epochs", "reserved_bytes", "topics_by_id")

    def __init__(self, epochs: dict[TopicPartition, int], topics_by_id: dict[bytes, str], reserved_bytes: int) -> None:
        self.epochs = epochs
        self.topics_by_id = topics_by_id
        self.reserved_bytes = reserved_bytes


class FetchManager:
    """Fetches the assigned partitions from their leaders, in parallel and within a budget of bytes."""

    def __init__(
        self,
        config: ConsumerConfig,
        leaders: Leaders,
        chance: Random,
        report: Callable[[ToApplication], None],
        prefetch_bytes: int = PREFETCH_BYTES,
    ) -> None:
        self._config = config
        self._leaders = leaders
        self._report = report
        self._prefetch_bytes = prefetch_bytes
        self._backoff = ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms, chance)
        self._isolation_level = int(config.isolation_level == "read_committed")
        self._partitions: dict[TopicPartition, FetchState] = {}
        self._in_flight: dict[int, InFlight] = {}

    # --- what the application decided -------------------------------------------------------------------------------

    def start(self, event: StartFetch) -> None:
        """Fetch from there on; whatever was held or is in flight for the partition no longer counts."""
        state = FetchState(event.epoch, event.offset)
        before = self._partitions.get(event.topic_partition)
        if before is not None:
            state.node_id = before.node_id
        self._partitions[event.topic_partition] = state

    def forget(self, topic_partition: TopicPartition) -> None:
        self._partitions.pop(topic_partition, None)

    def set_paused(self, topic_partition: TopicPartition, paused: bool) -> None:
        state = self._partitions.get(topic_partition)
        if state is not None:
            state.paused = paused

    def consumed(self, topic_partition: TopicPartition, epoch: int, size_bytes: int) -> None:
        """Make room: the application is done with so many bytes."""
        state = self._partitions.get(topic_partition)
        if state is not None and state.epoch == epoch:
            state.buffered_bytes -= size_bytes

    @property
    def topics(self) -> Iterator[str]:
        """The topics whose metadata is needed."""
        return (tp.topic for tp in self._partitions)

    # --- requests ---------------------------------------------------------------------------------------------------

    def poll(self, now_ms: int) -> Poll:
        by_leader: dict[int, list[tuple[TopicPartition, FetchState, PartitionInfo]]] = {}
        left_out: dict[int, None] = {}
        deadline_at_ms = FOREVER_MS
        for tp, state in self._partitions.items():
            if state.paused or state.stopped or state.node_id is not None:
                continue
            if state.retry_at_ms > now_ms:
                deadline_at_ms = min(deadline_at_ms, state.retry_at_ms)
                continue
            info = self._leaders.find(tp)
            if info is None:
                self._no_leader(tp, state)
            elif state.buffered_bytes >= self._config.max_partition_fetch_bytes:
                left_out[info.leader_id] = None
            elif info.leader_id not in self._in_flight:
                by_leader.setdefault(info.leader_id, []).append((tp, state, info))
        requests = []
        share = self._prefetch_bytes // max(1, len(by_leader) + len(self._in_flight))
        for node_id, entries in by_leader.items():
            if not self._leaders.is_ready(node_id):
                self._not_ready(node_id, entries)
            elif (room := min(share, self._room())) > 0:
                requests.append(self._request(node_id, entries, room, node_id in left_out))
        return Poll(requests, deadline_at_ms)

    def _room(self) -> int:
        """Return how many bytes one more fetch may bring."""
        held = sum(state.buffered_bytes for state in self._partitions.values() if not state.paused)
        reserved = sum(fetch.reserved_bytes for fetch in self._in_flight.values())
        return min(self._config.fetch_max_bytes, self._prefetch_bytes - held - reserved)

    def _request(
        self, node_id: int, entries: list[tuple[TopicPartition, FetchState, PartitionInfo]], room: int, is_short: bool
    ) -> Outgoing:
        topics: dict[str, FetchTopic] = {}
        for tp, state, info in entries:
            state.node_id = node_id
            topic = topics.get(tp.topic)
            if topic is None:
                topic = topics[tp.topic] = FetchTopic(topic=tp.topic, topic_id=self._leaders.topic_id(tp.topic))
            topic.partitions.append(
                FetchPartition(
                    partition=tp.partition,
                    current_leader_epoch=info.leader_epoch,
                    fetch_offset=state.next_offset,
                    partition_max_bytes=self._config.max_partition_fetch_bytes,
                )
            )
        max_bytes = min(room, len(entries) * self._config.max_partition_fetch_bytes)
        request = FetchRequest(
            max_wait_ms=min(self._config.fetch_max_wait_ms, SHORT_WAIT_MS if is_short else FOREVER_MS),
            min_bytes=self._config.fetch_min_bytes,
            max_bytes=max_bytes,
            isolation_level=self._isolation_level,
            topics=list(topics.values()),
        )
        epochs = {tp: state.epoch for tp, state, _ in entries}
        names = {topic.topic_id: topic.topic for topic in request.topics}
        self._in_flight[node_id] = InFlight(epochs, names, max_bytes)
        max_version = LAST_VERSION_WITH_NAMES if NO_TOPIC_ID in names else None
        timeout_ms = self._config.request_timeout_ms
        return Outgoing(node_id, request, timeout_ms, lambda answer: self._on_answer(node_id, answer), max_version)

    # --- answers ----------------------------------------------------------------------------------------------------

    def _on_answer(self, node_id: int, answer: Answer) -> None:
        fetch = self._in_flight.pop(node_id)
        asked = {}
        for tp, epoch in fetch.epochs.items():
            state = self._partitions.get(tp)
            if state is not None and state.node_id == node_id:
                state.node_id = None
                if state.epoch == epoch:
                    asked[tp] = state
        error = answer.error
        if isinstance(answer.response, FetchResponse):
            if answer.response.error_code != 0:
                error = broker_error(answer.response.error_code, f"Fetch from {self._leaders.name_of(node_id)}")
            for topic in answer.response.responses:
                name = topic.topic or fetch.topics_by_id.get(topic.topic_id, "")
                for data in topic.partitions:
                    tp = TopicPartition(name, data.partition_index)
                    state = asked.pop(tp, None)
                    if state is not None:
                        self._on_partition(tp, state, data, answer.received_at_ms)
        for tp, state in asked.items():
            left_out = broker_error(ErrorCode.UNKNOWN_SERVER_ERROR, f"Fetch of {tp}", "not in the answer")
            self._on_error(tp, state, error or left_out, answer.received_at_ms)

    def _on_partition(self, tp: TopicPartition, state: FetchState, data: PartitionData, now_ms: int) -> None:
        if data.error_code != 0:
            what = f"Fetch of {tp} from offset {state.next_offset}"
            self._on_error(tp, state, broker_error(data.error_code, what), now_ms)
            return
        state.attempts = 0
        if data.records:
            self._on_records(tp, state, data, data.records)
            self._partitions[tp] = self._partitions.pop(tp)  # to the end of the order
        elif data.high_watermark > state.next_offset and data.last_stable_offset == state.next_offset:
            self._wait(
                tp, state, f"an open transaction begins at offset {state.next_offset}", WaitKind.OPEN_TRANSACTION
            )
        else:
            self._wait(tp, state, f"at the end, offset {state.next_offset}", WaitKind.AT_END)

    def _on_records(self, tp: TopicPartition, state: FetchState, data: PartitionData, records: bytes) -> None:
        fetch_offset = state.next_offset
        walk = walk_batches(records, fetch_offset)
        if walk.end > 0:
            aborted = data.aborted_transactions or []
            state.next_offset = walk.next_offset
            state.buffered_bytes += len(records)
            self._wait(tp, state, "")
            self._report(
                Fetched(
                    FetchedChunk(
                        tp,
                        state.epoch,
                        fetch_offset,
                        walk.next_offset,
                        records[: walk.end] if walk.damage else records,
                        tuple(AbortedTransaction(each.producer_id, each.first_offset) for each in aborted)
                        if self._isolation_level
                        else None,
                        self._config.check_crcs,
                        data.high_watermark,
                        data.log_start_offset,
                        data.last_stable_offset,
                    )
                )
            )
        damage = walk.damage or ("no whole batch" if walk.end == 0 else "")
        if damage:
            error = CorruptBatchError(
                f"{tp} is damaged at or after offset {state.next_offset}: {damage}",
                topic=tp.topic,
                partition=tp.partition,
                offset=state.next_offset,
            )
            self._fail(tp, state, error)

    # --- what goes wrong --------------------------------------------------------------------------------------------

    def _on_error(self, tp: TopicPartition, state: FetchState, error: KafkaError, now_ms: int) -> None:
        """Try again with newer metadata where that can help, else hand the decision to the application."""
        if not may_pass(error) or getattr(error, "code", None) == ErrorCode.CORRUPT_MESSAGE:
            self._fail(tp, state, error)
            return
        self._leaders.refresh()
        state.retry_at_ms = now_ms + self._backoff.backoff_ms(state.attempts)
        state.attempts += 1
        self._wait(tp, state, str(error), WaitKind.REFUSED, error)

    def _no_leader(self, tp: TopicPartition, state: FetchState) -> None:
        error = self._leaders.why_none(tp)
        if error is not None and not may_pass(error):
            self._fail(tp, state, error)
        else:
            self._wait(tp, state, "waiting for metadata" if error is None else str(error), WaitKind.METADATA, error)

    def _not_ready(self, node_id: int, entries: list[tuple[TopicPartition, FetchState, PartitionInfo]]) -> None:
        error = self._leaders.why_not_ready(node_id)
        for tp, state, _ in entries:
            if error is not None and not may_pass(error):
                self._fail(tp, state, error)
            else:
                reason = self._leaders.not_ready_reason(node_id, error)
                self._wait(tp, state, reason, WaitKind.CONNECTION, error, node_id)

    def _wait(
        self,
        tp: TopicPartition,
        state: FetchState,
        reason: str,
        kind: WaitKind = WaitKind.ANSWER,
        cause: KafkaError | None = None,
        node_id: int | None = None,
    ) -> None:
        if state.reason != reason:
            state.reason = reason
            self._report(Waiting(tp, state.epoch, reason, kind, node_id, cause))

    def _fail(self, tp: TopicPartition, state: FetchState, error: KafkaError) -> None:
        state.stopped = True
        self._report(PartitionFailed(tp, state.epoch, state.next_offset, error))
