"""OffsetQueries: queries offsets by timestamp at the leaders, with retries.

Calls such as `end_offsets` have a deadline; queries for positions of assigned partitions have none.
"""

from collections.abc import Callable, Iterator
from random import Random

from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.events import (
    LATEST_TIMESTAMP,
    AskOffsets,
    CallDone,
    LookupNews,
    PartitionFailed,
    PositionResolved,
    Report,
    ResolvePosition,
    Waiting,
)
from kctl.client.consumer.waiting import WaitKind, WaitReason
from kctl.client.errors import BrokerError, KafkaError, RemoteProtocolError
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.protocol.api.partition_offsets import ListOffsetsResponse
from kctl.client.requests.items import each_once
from kctl.client.requests.leaders import Leaders, no_leader_reason
from kctl.client.requests.list_offsets import NOT_FOUND, OffsetAndTimestamp, list_offsets, offsets_in
from kctl.client.requests.request import NOTHING_TO_SEND, CallProgress, Poll
from kctl.client.requests.retry import LIST_OFFSETS, RetryPause, retry_backoff

POSITIONS = 0
"""`call_id` of position queries; calls count from 1."""


class OffsetQuery:
    __slots__ = (
        "call_id", "epoch", "error", "node_id", "pause", "reason", "since_ms", "timestamp_ms", "topic_partition"
    )  # fmt: skip

    def __init__(
        self, call_id: int, topic_partition: TopicPartition, timestamp_ms: int, pause: RetryPause, epoch: int = 0
    ) -> None:
        self.call_id = call_id
        self.topic_partition = topic_partition
        self.timestamp_ms = timestamp_ms
        self.epoch = epoch
        self.pause = pause
        self.node_id: int | None = None
        """Leader of the request in flight."""
        self.error: KafkaError | None = None
        self.reason = ""
        self.since_ms: int | None = None
        """Start of the wait for a response; None before the first attempt."""


class OffsetCall:
    __slots__ = ("asked_at_version", "deadline_at_ms", "found", "is_background", "isolation_level", "queries")

    def __init__(
        self,
        deadline_at_ms: int,
        queries: list[OffsetQuery],
        asked_at_version: int,
        isolation_level: str,
        *,
        is_background: bool = False,
    ) -> None:
        self.asked_at_version = asked_at_version
        self.isolation_level = isolation_level
        self.is_background = is_background
        self.deadline_at_ms = deadline_at_ms
        self.queries = {query.topic_partition: query for query in queries}
        self.found: dict[TopicPartition, OffsetAndTimestamp | None] = {}


class OffsetQueries:
    def __init__(self, config: ConsumerConfig, leaders: Leaders, rng: Random, report: Callable[[Report], None]) -> None:
        self._config = config
        self._leaders = leaders
        self._report = report
        self._backoff = retry_backoff(config, rng)
        self._now_ms = 0
        """Time of the last poll."""
        self._isolation_level = config.isolation_level
        self._calls: dict[int, OffsetCall] = {POSITIONS: OffsetCall(FOREVER_MS, [], 0, self._isolation_level)}
        self._failed: dict[TopicPartition, RetryPause] = {}
        """Backoff of each failed position query, which the next query of the partition continues."""

    # --- questions --------------------------------------------------------------------------------------------------

    def ask(self, question: AskOffsets) -> None:
        queries = [
            OffsetQuery(question.call_id, tp, timestamp_ms, RetryPause(self._backoff))
            for tp, timestamp_ms in question.timestamps
        ]
        isolation_level = "read_uncommitted" if question.reads_uncommitted else self._isolation_level
        self._calls[question.call_id] = OffsetCall(
            question.deadline_at_ms,
            queries,
            self._leaders.version,
            isolation_level,
            is_background=question.is_background,
        )

    def resolve(self, event: ResolvePosition) -> None:
        assert event.timestamp_ms is not None
        pause = self._failed.pop(event.topic_partition, None) or RetryPause(self._backoff)
        query = OffsetQuery(POSITIONS, event.topic_partition, event.timestamp_ms, pause, event.epoch)
        self._calls[POSITIONS].queries[event.topic_partition] = query

    def forget(self, topic_partition: TopicPartition) -> None:
        self._calls[POSITIONS].queries.pop(topic_partition, None)

    def abandon(self, call_id: int) -> None:
        self._calls.pop(call_id, None)

    def progress(self, call_id: int) -> CallProgress | None:
        call = self._calls.get(call_id)
        if call is None or call.is_background:
            return None
        query = next(iter(call.queries.values()))
        others = f" and {len(call.queries) - 1} more" if len(call.queries) > 1 else ""
        what = f"waiting for the offset of {query.topic_partition}{others}"
        if query.node_id is not None:
            return CallProgress(f"{what} from {self._leaders.name_of(query.node_id)}", query.error)
        hanging = self._leaders.hanging(query.topic_partition)
        if hanging is None:
            has_leader = self._leaders.find(query.topic_partition) is not None
            error = None if has_leader else self._leaders.why_none(query.topic_partition)
            return CallProgress(what, error or query.error)
        leader, error = hanging
        return CallProgress(f"{what} from {leader}, which is not connected", query.error or error)

    @property
    def topics(self) -> Iterator[str]:
        return (tp.topic for call in self._calls.values() for tp in call.queries)

    # --- requests ---------------------------------------------------------------------------------------------------

    def poll(self, now_ms: int) -> Poll:
        self._now_ms = now_ms
        if len(self._calls) == 1 and not self._calls[POSITIONS].queries:
            return NOTHING_TO_SEND
        for call_id in [call_id for call_id, call in self._calls.items() if now_ms >= call.deadline_at_ms]:
            self.abandon(call_id)
        requests: list[Outgoing] = []
        deadline_at_ms = FOREVER_MS
        for call_id, call in list(self._calls.items()):
            requests += self._requests_of(call, now_ms)
            if call_id in self._calls:
                waits = [q.pause.until_ms for q in call.queries.values() if q.pause.until_ms > now_ms]
                deadline_at_ms = min(deadline_at_ms, call.deadline_at_ms, *waits)
        return Poll(requests, deadline_at_ms)

    def _requests_of(self, call: OffsetCall, now_ms: int) -> list[Outgoing]:
        requests = []
        for node_id, found in self._by_leader(call, now_ms).items():
            entries = [(query, info) for query, info in found if self._is_open(query)]
            if entries and self._leaders.is_ready(node_id):
                requests.append(self._request(node_id, entries, call.isolation_level, call.deadline_at_ms))
                self._report_request(call, node_id, [query for query, _ in entries], now_ms)
            elif entries:
                self._not_ready(node_id, [query for query, _ in entries])
        return requests

    def _by_leader(self, call: OffsetCall, now_ms: int) -> dict[int, list[tuple[OffsetQuery, PartitionInfo]]]:
        by_leader: dict[int, list[tuple[OffsetQuery, PartitionInfo]]] = {}
        for query in list(call.queries.values()):
            if query.node_id is not None or query.pause.until_ms > now_ms or not self._is_open(query):
                continue  # a call that ended with an earlier partition is over for all
            info = self._leaders.find(query.topic_partition)
            if info is None:
                self._no_leader(query)
            else:
                by_leader.setdefault(info.leader_id, []).append((query, info))
        return by_leader

    def _report_request(self, call: OffsetCall, node_id: int, queries: list[OffsetQuery], now_ms: int) -> None:
        """Report that the queries wait for their leader; a query with an earlier error keeps that reason."""
        for query in queries:
            query.since_ms = now_ms if query.since_ms is None else query.since_ms
            if query.error is None:
                self._report_wait(call, query, f"no response from broker {node_id}", WaitKind.ANSWER, node_id)

    def _request(
        self, node_id: int, entries: list[tuple[OffsetQuery, PartitionInfo]], isolation_level: str, wanted_until_ms: int
    ) -> Outgoing:
        for query, _ in entries:
            query.node_id = node_id
        request = list_offsets([(info, query.timestamp_ms) for query, info in entries], isolation_level)
        queries = {query.topic_partition: query for query, _ in entries}
        return Outgoing(
            node_id,
            request,
            self._config.request_timeout_ms,
            lambda answer: self._on_answer(queries, answer),
            wanted_until_ms=wanted_until_ms,
        )

    # --- answers ----------------------------------------------------------------------------------------------------

    def _on_answer(self, queries: dict[TopicPartition, OffsetQuery], answer: Answer) -> None:
        open_queries = {tp: query for tp, query in queries.items() if self._is_open(query)}
        for query in open_queries.values():
            query.node_id = None
        if isinstance(answer.response, ListOffsetsResponse):
            broker = self._leaders.name_of(answer.node_id)
            timestamps = {tp: query.timestamp_ms for tp, query in open_queries.items()}
            items = each_once(
                offsets_in(answer.response, answer.node_id, timestamps), open_queries, "ListOffsets", broker
            )
        else:
            error = answer.error or RemoteProtocolError("no response to the ListOffsets request", api="ListOffsets")
            items = dict.fromkeys(open_queries, error)
        for tp, found in items.items():
            if isinstance(found, KafkaError):
                self._on_error(open_queries[tp], found, answer.received_at_ms)
            else:
                self._on_found(open_queries[tp], None if found.offset == NOT_FOUND else found)

    def _on_found(self, query: OffsetQuery, found: OffsetAndTimestamp | None) -> None:
        tp = query.topic_partition
        call = self._calls[query.call_id]
        if call.is_background:
            self._end_query(call, query, found)
        elif query.call_id != POSITIONS:
            del call.queries[tp]
            call.found[tp] = found
            if not call.queries:
                self.abandon(query.call_id)
                self._report(CallDone(query.call_id, call.found, None))
        elif found is None:
            # Without a record that recent, the position is the end of the partition.
            call.queries[tp] = OffsetQuery(POSITIONS, tp, LATEST_TIMESTAMP, RetryPause(self._backoff), query.epoch)
        else:
            del call.queries[tp]
            self._report(PositionResolved(tp, query.epoch, found.offset))

    # --- what goes wrong --------------------------------------------------------------------------------------------

    def _on_error(self, query: OffsetQuery, error: KafkaError, now_ms: int) -> None:
        query.pause.failed(now_ms)
        if not LIST_OFFSETS.is_retried(error):
            self._fail(query, error)
            return
        self._leaders.refresh()
        self._wait(query, error, str(error))

    def _no_leader(self, query: OffsetQuery) -> None:
        error = self._leaders.why_none(query.topic_partition)
        if isinstance(error, BrokerError) and (
            not LIST_OFFSETS.is_retried(error) or self._is_surely_unknown(query, error)
        ):
            query.pause.until_ms = self._leaders.denied(query.topic_partition.topic, self._backoff, self._now_ms)
            self._fail(query, error)
        else:
            self._wait(query, error, no_leader_reason(error))

    def _is_surely_unknown(self, query: OffsetQuery, error: BrokerError) -> bool:
        """Return whether metadata that is newer than the call lacks the partition.

        Differs: Java retries until the deadline of the call; kctl does so for positions only.
        """
        return (
            query.call_id != POSITIONS
            and error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            and self._leaders.version > self._calls[query.call_id].asked_at_version
        )

    def _not_ready(self, node_id: int, queries: list[OffsetQuery]) -> None:
        error = self._leaders.why_not_ready(node_id)
        for query in queries:
            if self._is_open(query):
                self._wait(query, error, self._leaders.not_ready_reason(node_id, error))

    def _wait(self, query: OffsetQuery, error: KafkaError | None, reason: str) -> None:
        if error is None and query.error is not None:
            return
        query.error = error
        query.since_ms = self._now_ms if query.since_ms is None else query.since_ms
        self._report_wait(self._calls[query.call_id], query, reason, WaitKind.POSITION)

    def _report_wait(
        self, call: OffsetCall, query: OffsetQuery, reason: str, kind: WaitKind, node_id: int | None = None
    ) -> None:
        if query.reason == reason:
            return
        if call.is_background:
            query.reason = reason
            waiting = WaitReason(kind, reason, node_id, query.error, query.since_ms)
            self._report(LookupNews(query.call_id, query.topic_partition, waiting))
        elif query.call_id == POSITIONS:
            query.reason = reason
            said, since_ms = f"waiting for the position: {reason}", query.since_ms or 0
            tp, epoch, cause = query.topic_partition, query.epoch, query.error
            self._report(Waiting(tp, epoch, said, WaitKind.POSITION, node_id, cause, since_ms))

    def _fail(self, query: OffsetQuery, error: KafkaError) -> None:
        call = self._calls[query.call_id]
        if call.is_background:
            self._end_query(call, query, error)
        elif query.call_id != POSITIONS:
            self.abandon(query.call_id)
            self._report(CallDone(query.call_id, None, error))
        else:
            self.forget(query.topic_partition)
            self._failed[query.topic_partition] = query.pause
            self._report(PartitionFailed(query.topic_partition, query.epoch, NOT_FOUND, error))

    def _end_query(self, call: OffsetCall, query: OffsetQuery, result: OffsetAndTimestamp | KafkaError | None) -> None:
        del call.queries[query.topic_partition]
        self._report(LookupNews(query.call_id, query.topic_partition, result))
        if not call.queries:
            self.abandon(query.call_id)
            self._report(CallDone(query.call_id, None, None))

    def _is_open(self, query: OffsetQuery) -> bool:
        call = self._calls.get(query.call_id)
        return call is not None and call.queries.get(query.topic_partition) is query
