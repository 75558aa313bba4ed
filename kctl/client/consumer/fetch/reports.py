"""PartitionReports: tells the application why partitions return no records, once for each reason."""

from collections.abc import Callable, Iterable, Mapping
from random import Random

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.events import GiveBack, PartitionFailed, Report, Truncated, Waiting
from kctl.client.consumer.fetch.partition import Entry, FetchInFlight, FetchState
from kctl.client.consumer.waiting import NOTHING_BEYOND, WaitKind
from kctl.client.errors import BrokerError, KafkaError
from kctl.client.requests.leaders import Leaders, no_leader_reason
from kctl.client.requests.retry import FETCH, retry_backoff

LEAST_OVERDUE_MS = 500
"""Minimum time after which a fetch is overdue; the usual time is 2 x fetch.max.wait.ms."""


class PartitionReports:
    def __init__(self, config: ConsumerConfig, leaders: Leaders, rng: Random, report: Callable[[Report], None]) -> None:
        self.report = report
        self._leaders = leaders
        self._overdue_after_ms = max(2 * config.fetch_max_wait_ms, LEAST_OVERDUE_MS)
        self._backoff = retry_backoff(config, rng)
        self._overdue: dict[int, FetchInFlight] = {}
        """Last overdue fetch that was reported, by node."""

    def wait(
        self,
        tp: TopicPartition,
        state: FetchState,
        reason: str,
        kind: WaitKind = WaitKind.ANSWER,
        cause: KafkaError | None = None,
        node_id: int | None = None,
    ) -> None:
        """Report the reason of a wait if it has changed; an empty reason means that records arrive.

        While the partition waits for a connection or for metadata, the error of the last attempt remains the cause.
        """
        state.cause = cause or (state.cause if kind in (WaitKind.CONNECTION, WaitKind.METADATA) else None)
        cause = state.cause
        state.rests = kind in NOTHING_BEYOND
        if state.reason != reason:
            state.reason = reason
            self.report(Waiting(tp, state.epoch, reason, kind, node_id, cause))

    def at_its_end(self, tp: TopicPartition, state: FetchState) -> None:
        if state.is_at_its_end:
            self.wait(tp, state, f"at the requested end, offset {state.end_offset}", WaitKind.AT_END)

    def report_overdue(
        self, in_flight: Mapping[int, FetchInFlight], partitions: Mapping[TopicPartition, FetchState], now_ms: int
    ) -> int:
        """Report partitions whose fetch is overdue; return the time of the next check.

        Args: in_flight: fetches by node, in the order of sending.
        """
        for node_id, fetch in in_flight.items():
            overdue_at_ms = fetch.sent_at_ms + self._overdue_after_ms
            if now_ms < overdue_at_ms:
                return overdue_at_ms
            if self._overdue.get(node_id) is fetch:
                continue
            self._overdue[node_id] = fetch
            for tp in fetch.epochs:
                state = partitions.get(tp)
                if state is not None and state.node_id == node_id:
                    self._no_response(tp, state, node_id, fetch.sent_at_ms)
        return FOREVER_MS

    def is_overdue(self, node_id: int, fetch: FetchInFlight) -> bool:
        return self._overdue.get(node_id) is fetch

    def restarted(self, node_id: int) -> None:
        """Forget that the node's fetch was reported as overdue, so that new partition states are reported."""
        self._overdue.pop(node_id, None)

    def _no_response(self, tp: TopicPartition, state: FetchState, node_id: int, sent_at_ms: int) -> None:
        if not state.is_overdue:
            state.is_overdue = True
            state.reason = reason = f"no response from broker {node_id}"
            self.report(Waiting(tp, state.epoch, reason, WaitKind.ANSWER, node_id, state.cause, sent_at_ms))

    def responded(self, tp: TopicPartition, state: FetchState) -> None:
        state.is_overdue = False
        self.wait(tp, state, "")

    def request_return(self, partitions: Mapping[TopicPartition, FetchState], prefetch_bytes: int) -> None:
        paused = [(tp, state) for tp, state in partitions.items() if state.paused and state.buffered_bytes > 0]
        if sum(state.buffered_bytes for _, state in paused) * 2 < prefetch_bytes:
            return
        for tp, state in paused:
            if not state.is_return_requested:
                state.is_return_requested = True
                self.report(GiveBack(tp, state.epoch))

    def fail(self, tp: TopicPartition, state: FetchState, error: KafkaError, now_ms: int) -> None:
        """Stop the partition until the application decides; the next fetch waits for a backoff."""
        self._back_off(state, now_ms)
        self._stop(tp, state, error)

    def _stop(self, tp: TopicPartition, state: FetchState, error: KafkaError) -> None:
        state.stopped = True
        self.report(PartitionFailed(tp, state.epoch, state.next_offset, error))

    def retry(self, tp: TopicPartition, state: FetchState, error: KafkaError, now_ms: int) -> None:
        """Retry after the backoff and request metadata, or fail if the error is not retriable."""
        if not FETCH.is_retried(error):
            self.fail(tp, state, error, now_ms)
            return
        self._leaders.refresh()
        self._back_off(state, now_ms)
        self.wait(tp, state, str(error), WaitKind.REFUSED, error)

    def retry_at_ms(self, state: FetchState, now_ms: int) -> int:
        """Return the earliest time of the next fetch; start the backoff if the application got an error."""
        if state.is_after_error:
            state.is_after_error = False
            if state.retry_at_ms <= now_ms:
                self._back_off(state, now_ms)
        return state.retry_at_ms

    def _back_off(self, state: FetchState, now_ms: int) -> None:
        state.retry_at_ms = now_ms + self._backoff.backoff_ms(state.attempts)
        state.attempts += 1

    def truncated(
        self,
        tp: TopicPartition,
        state: FetchState,
        end_offset: int,
        leader_epoch: int,
        *,
        is_recreated: bool = False,
    ) -> None:
        """Stop the partition, because the leader's log differs from `end_offset` on (-1 if unknown)."""
        state.stopped = True
        self.report(Truncated(tp, state.epoch, state.next_offset, end_offset, leader_epoch, is_recreated))

    def no_leader(self, tp: TopicPartition, state: FetchState, now_ms: int) -> None:
        error = self._leaders.why_none(tp)
        if isinstance(error, BrokerError) and not FETCH.is_retried(error):
            state.retry_at_ms = self._leaders.denied(tp.topic, self._backoff, now_ms)
            self._stop(tp, state, error)
        else:
            self.wait(tp, state, no_leader_reason(error), WaitKind.METADATA, error)

    def another_topic(self, tp: TopicPartition, state: FetchState) -> None:
        """Report that metadata and assignment have different topic ids; either of them may be outdated."""
        reason = f"topic {tp.topic} was recreated: the topic id in the metadata differs from the assignment"
        self.wait(tp, state, reason, WaitKind.RECREATED)

    def not_ready(self, node_id: int, entries: Iterable[Entry]) -> None:
        if self._leaders.has_connection(node_id):
            return  # throttled, or renewing its SASL session: a wait for neither connection nor metadata
        error = self._leaders.why_not_ready(node_id)
        reason = self._leaders.not_ready_reason(node_id, error)
        for tp, state, _ in entries:
            self.wait(tp, state, reason, WaitKind.CONNECTION, error, node_id)
