"""CommittedManager: queries committed offsets at the coordinator, for calls and for positions.

It passes positions without a committed offset on to the reset policy.
"""

from collections.abc import Callable, Iterable
from functools import partial
from random import Random

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.events import (
    CallDone,
    PartitionFailed,
    PositionResolved,
    Report,
    ResolvePosition,
    Waiting,
)
from kctl.client.consumer.group.events import AskCommitted, NoCommittedOffset
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import KafkaError
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.protocol.api.committed_offsets import OffsetFetchRequest, OffsetFetchResponse
from kctl.client.requests.coordinator import PROMPT, Coordinator
from kctl.client.requests.group_offsets import (
    LAST_VERSION_WITH_NAMES,
    NOTHING,
    OffsetAndMetadata,
    committed_in,
    offset_fetch,
)
from kctl.client.requests.items import each_once
from kctl.client.requests.request import CallProgress, Poll
from kctl.client.requests.retry import OFFSET_FETCH, RetryPause, retry_backoff

POSITIONS = 0
"""`call_id` of the query for positions. Calls count from 1."""


class LookUp:
    __slots__ = ("call_id", "deadline_at_ms", "error", "is_in_flight", "pause", "wanted")

    def __init__(self, call_id: int, wanted: Iterable[TopicPartition], deadline_at_ms: int, pause: RetryPause) -> None:
        self.call_id = call_id
        self.wanted: dict[TopicPartition, ResolvePosition | None] = dict.fromkeys(wanted)
        """Event that requested each position, to detect newer events; None for calls."""
        self.deadline_at_ms = deadline_at_ms
        self.is_in_flight = False
        self.pause = pause
        self.error: KafkaError | None = None


Found = dict[TopicPartition, OffsetAndMetadata | None]


class CommittedManager:
    """Open queries of committed offsets.

    Args:
        reset: function that gets the positions without a committed offset.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        coordinator: Coordinator,
        rng: Random,
        report: Callable[[Report], None],
        reset: Callable[[ResolvePosition], None],
    ) -> None:
        self._request_timeout_ms = config.request_timeout_ms
        self._coordinator = coordinator
        self._report = report
        self._reset = reset
        self._backoff = retry_backoff(config, rng)
        self._positions: dict[TopicPartition, ResolvePosition] = {}
        self._open: dict[int, LookUp] = {POSITIONS: LookUp(POSITIONS, (), FOREVER_MS, RetryPause(self._backoff))}
        self._told: dict[TopicPartition, str] = {}

    # --- questions --------------------------------------------------------------------------------------------------

    def ask(self, question: AskCommitted) -> None:
        self._open[question.call_id] = LookUp(
            question.call_id, question.topic_partitions, question.deadline_at_ms, RetryPause(self._backoff)
        )

    def resolve(self, event: ResolvePosition) -> None:
        self._positions[event.topic_partition] = event

    def forget(self, topic_partition: TopicPartition) -> None:
        self._positions.pop(topic_partition, None)
        self._told.pop(topic_partition, None)

    def abandon(self, call_id: int) -> None:
        self._open.pop(call_id, None)

    def progress(self, call_id: int) -> CallProgress | None:
        each = self._open.get(call_id)
        if each is None:
            return None
        waiting_for = f"{self._coordinator.waiting_for} to return the committed offsets"
        return CallProgress(waiting_for, each.error or self._coordinator.last_error())

    # --- requests ---------------------------------------------------------------------------------------------------

    def poll(self, now_ms: int) -> Poll:
        requests: list[Outgoing] = []
        deadline_at_ms = FOREVER_MS
        positions = self._open[POSITIONS]
        if not positions.is_in_flight:
            positions.wanted = dict(self._positions)
        for each in list(self._open.values()):
            if now_ms >= each.deadline_at_ms:
                self.abandon(each.call_id)
            elif each.wanted:
                deadline_at_ms = min(deadline_at_ms, each.deadline_at_ms)
                requests += self._requests_of(each, now_ms)
                if each.pause.until_ms > now_ms:
                    deadline_at_ms = min(deadline_at_ms, each.pause.until_ms)
        return Poll(requests, deadline_at_ms)

    def _requests_of(self, each: LookUp, now_ms: int) -> list[Outgoing]:
        if each.is_in_flight or each.pause.until_ms > now_ms:
            return []
        if self._coordinator.refusal is not None:
            self._fail(each, self._coordinator.refusal, now_ms)
            return []
        if not self._coordinator.ready(PROMPT):
            self._finish_waiting(each)
            return []
        self._finish_waiting(each)
        each.is_in_flight = True
        wanted = tuple(each.wanted)
        return [
            self._coordinator.outgoing(
                PROMPT,
                self._request(wanted),
                self._request_timeout_ms,
                lambda answer: self._on_answer(each, wanted, answer),
                LAST_VERSION_WITH_NAMES,
            )._replace(wanted_until_ms=each.deadline_at_ms)
        ]

    def _request(self, wanted: Iterable[TopicPartition]) -> OffsetFetchRequest:
        speaks = partial(self._coordinator.speaks, PROMPT, OffsetFetchRequest)
        return offset_fetch(self._coordinator.key, wanted, speaks, require_stable=True)

    # --- answers ----------------------------------------------------------------------------------------------------

    def _on_answer(self, each: LookUp, wanted: tuple[TopicPartition, ...], answer: Answer) -> None:
        each.is_in_flight = False
        error = answer.error
        found: Found = {}
        if isinstance(answer.response, OffsetFetchResponse):
            found, error = self._read(answer.response, wanted)
        if error is None:
            self._on_found(each, found)
        elif OFFSET_FETCH.is_retried(error):
            each.error = error
            each.pause.failed(answer.received_at_ms)
            self._finish_waiting(each)
        else:
            self._fail(each, error, answer.received_at_ms)

    def _read(
        self, response: OffsetFetchResponse, wanted: tuple[TopicPartition, ...]
    ) -> tuple[Found, KafkaError | None]:
        broker = self._coordinator.name
        committed = committed_in(response, self._coordinator.key, wanted, broker)
        if isinstance(committed, KafkaError):
            return {}, self._coordinator.noted(committed)
        committed = each_once(committed.items(), wanted, "OffsetFetch", broker)
        errors = [each for each in committed.values() if isinstance(each, KafkaError)]
        error = self._coordinator.noted(errors[0] if errors else None)
        return {tp: each for tp, each in committed.items() if not isinstance(each, KafkaError)}, error

    def _on_found(self, each: LookUp, found: Found) -> None:
        each.pause.succeeded()
        each.error = None
        if each.call_id != POSITIONS:
            if self._open.pop(each.call_id, None) is not None:
                self._report(CallDone(each.call_id, found, None))
            return
        for tp, committed in found.items():
            event = self._positions.get(tp)
            if event is not None and event is each.wanted.get(tp):
                self.forget(tp)
                self._on_committed(event, committed)

    def _on_committed(self, event: ResolvePosition, committed: OffsetAndMetadata | None) -> None:
        tp = event.topic_partition
        if committed is not None:
            self._report(PositionResolved(tp, event.epoch, committed.offset, committed.leader_epoch))
        elif event.timestamp_ms is not None:
            self._reset(event)
        else:
            self._report(NoCommittedOffset(tp, event.epoch))

    # --- what goes wrong --------------------------------------------------------------------------------------------

    def _fail(self, each: LookUp, error: KafkaError, now_ms: int) -> None:
        if each.call_id != POSITIONS:
            if self._open.pop(each.call_id, None) is not None:
                self._report(CallDone(each.call_id, None, error))
            return
        each.pause.failed(now_ms)
        for tp in list(each.wanted):
            event = self._positions.get(tp)
            if event is not None:
                self.forget(tp)
                self._report(PartitionFailed(tp, event.epoch, NOTHING, error))

    def _finish_waiting(self, each: LookUp) -> None:
        if each.call_id != POSITIONS:
            return
        error = each.error or self._coordinator.known_error
        reason = self._coordinator.waiting_for if error is None else str(error)
        for tp, event in self._positions.items():
            if self._told.get(tp) != reason:
                self._told[tp] = reason
                said = f"waiting for the committed offset: {reason}"
                self._report(Waiting(tp, event.epoch, said, WaitKind.COMMITTED_OFFSET, cause=error))
