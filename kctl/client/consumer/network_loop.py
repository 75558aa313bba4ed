"""NetworkLoop: network thread of a consumer; the application thread calls only `counts`."""

import sys
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import TopicPartition
from kctl.client.cluster_client import ClusterClient, TimeMark, time_breakdown
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.broker_queries import BrokerQueries
from kctl.client.consumer.close import COMMITTING, GroupClose
from kctl.client.consumer.events import (
    AbandonCall,
    AskClientInstanceId,
    AskOffsets,
    AskTopics,
    CallDone,
    Consumed,
    Fetched,
    Forget,
    NetworkFailed,
    Pause,
    PositionMoved,
    Query,
    Report,
    ResolvePosition,
    StartFetch,
    ToNetwork,
    TryAgain,
    Waiting,
    WaitReport,
)
from kctl.client.consumer.fetch.manager import FetchManager
from kctl.client.consumer.group.events import AskCommitted, CommitSync, GroupWaiting
from kctl.client.consumer.mailbox import CloseReport, ConsumerMailbox
from kctl.client.consumer.metrics import NetworkCounts
from kctl.client.consumer.offset_queries import OffsetQueries
from kctl.client.errors import CloseTimeout, KafkaError
from kctl.client.events import PositionReset
from kctl.client.loop.client_loop import ClientLoop
from kctl.client.loop.close import CloseRequest
from kctl.client.loop.mailbox import Call, CallInterrupted
from kctl.client.requests.leaders import Leaders
from kctl.client.requests.request import CallManager, RequestManager
from kctl.client.runtime import Entropy

if TYPE_CHECKING:
    from kctl.client.consumer.group.coordinator_client import GroupCoordinatorClient

EARLIER_QUESTIONS = "earlier requests"
"""Name of the time that a call with several queries, such as position(), spent on earlier queries."""


class OpenCall(NamedTuple):
    query: Query
    manager: CallManager
    time_mark: TimeMark


class NetworkLoop(ClientLoop[ToNetwork]):
    EVENTS_PER_TURN = sys.maxsize

    def __init__(
        self,
        config: ConsumerConfig,
        client: ClusterClient,
        mailbox: ConsumerMailbox,
        rng: Random,
        entropy: Entropy,
        *,
        prefetch_bytes: int,
    ) -> None:
        super().__init__(client, mailbox)
        self._mailbox: ConsumerMailbox = mailbox
        leaders = Leaders(client)
        self._queries = BrokerQueries(config, client, rng, self._report)
        self._offsets = OffsetQueries(config, leaders, rng, self._report)
        self._fetch = FetchManager(config, leaders, rng, self._report, prefetch_bytes)
        self._managers: tuple[RequestManager, ...] = (self._queries, self._offsets, self._fetch)
        self._handlers: dict[type, Callable[[Any], None]] = {
            Consumed: lambda event: self._fetch.consumed(*event),
            StartFetch: self._start_fetch,
            ResolvePosition: self._resolve,
            Forget: self._forget,
            Pause: lambda event: self._fetch.set_paused(*event),
            PositionMoved: self._report_moved,
            AskOffsets: self._offsets.ask,
            AbandonCall: lambda event: self._offsets.abandon(event.call_id),
            TryAgain: self._try_again,
        }
        """Handler of each event type."""
        self._questions: dict[type, tuple[CallManager, Callable[[Any], None]]] = {
            AskTopics: (self._queries, self._queries.ask_topics),
            AskOffsets: (self._offsets, self._offsets.ask),
            AskClientInstanceId: (self._queries, self._queries.ask_client_instance_id),
        }
        """Manager of each type of question, and its method."""
        self._group = group = self._group_of(config, client, leaders, rng, entropy)
        if group is not None:
            self._managers += group.managers
            self._handlers |= group.handlers
            self._questions |= {
                CommitSync: (group.commits, group.commits.commit),
                AskCommitted: (group.committed, group.committed.ask),
            }
        self._request_timeout_ms = config.request_timeout_ms
        self._auto_offset_reset = config.auto_offset_reset
        self._is_closing = False
        self._group_close: GroupClose | None = None
        self._has_new_wishes = False
        self._group_topics: tuple[str, ...] = ()
        self.open_calls: dict[int, OpenCall] = {}
        self._fatal_error: KafkaError | None = None
        self._has_news = False
        self._waits: list[Waiting] = []

    def _group_of(
        self, config: ConsumerConfig, client: ClusterClient, leaders: Leaders, rng: Random, entropy: Entropy
    ) -> "GroupCoordinatorClient | None":
        """Return the group coordinator client, if any. Deferred import: a tenth of all imports."""
        if config.group_id is None:
            return None
        from kctl.client.consumer.group.coordinator_client import GroupCoordinatorClient

        return GroupCoordinatorClient(
            config, config.group_id, client, leaders, self._fetch.ids_of, rng, entropy, self._report, self._reset
        )

    def counts(self) -> NetworkCounts:
        """Return the counters; any thread."""
        fetch, commits = self._fetch, 0 if self._group is None else self._group.commits.committed
        return NetworkCounts(fetch.fetches, fetch.throttle_time_ms, fetch.throttle_time_max_ms, commits)

    # --- the turn -----------------------------------------------------------------------------------------------------

    def _apply(self, events: Iterable[ToNetwork | Call | CallInterrupted]) -> None:
        for event in events:
            self._handle(event)
        self._has_new_wishes = True

    def _advance(self, now_ms: int) -> None:
        if now_ms >= self._until_ms and now_ms >= self._nearest_deadline_at_ms():
            self._client.poll_arrived()
            if self._mailbox.awake():  # this poll may have read the wake-up for new events
                self._take()
        self._notify()  # about events of the last poll
        for call_id, call in list(self.open_calls.items()):
            if now_ms >= call.query.timer.deadline_at_ms:
                self._time_out(call_id, call)
        if self.close_request is not None:
            self._advance_close(self.close_request, now_ms)

    def _nearest_deadline_at_ms(self) -> int:
        close_at_ms = FOREVER_MS if self.close_request is None else self.close_request.deadline_at_ms
        if not self.open_calls:
            return close_at_ms
        return min([close_at_ms, *(call.query.timer.deadline_at_ms for call in self.open_calls.values())])

    def _run(self, now_ms: int) -> int:
        until_ms = self._nearest_deadline_at_ms()
        if self._group_close is not None:
            until_ms = min(until_ms, self._group_close.deadline_at_ms)
        until_ms = self._poll(self._managers, now_ms, until_ms)
        self._mailbox.wants_room = self._fetch.wants_room
        self._use_topics()
        error = self._client.network.status.fatal_error()
        if error is not self._fatal_error:
            self._fatal_error = error
            self._report(NetworkFailed(error))
        self._notify()
        return until_ms

    # --- from the application ---------------------------------------------------------------------------------------

    def _use_topics(self) -> None:
        group = () if self._group is None else tuple(self._group.membership.topics)
        if not self._has_new_wishes and group == self._group_topics:
            return
        self._has_new_wishes = False
        self._group_topics = group
        if self._group is not None and self._group.membership.wants_all_topics:
            self._client.metadata.want_all_topics()
        else:
            self._client.metadata.want_topics([*self._fetch.topics, *self._offsets.topics, *group])

    def _handle(self, event: ToNetwork | Call | CallInterrupted) -> None:
        if isinstance(event, Query):
            self._open_call(event)
        elif isinstance(event, CallInterrupted):
            assert isinstance(event.call, Query)
            self._close_call(event.call.question.call_id)
        else:
            self._handlers[type(event)](event)

    def _start_fetch(self, event: StartFetch) -> None:
        self._forget_position(event.topic_partition)
        self._fetch.start(event)

    def _forget(self, event: Forget) -> None:
        self._forget_position(event.topic_partition)
        self._fetch.forget(event.topic_partition)
        if self._group is not None:
            self._group.commits.forget(event.topic_partition)

    def _try_again(self, _event: TryAgain) -> None:
        self._fatal_error = None
        self._client.network.status.clear_refusals()

    def _report_moved(self, event: PositionMoved) -> None:
        topic, partition = event.topic_partition
        now_ms = self._client.clock.now_ms()
        policy = self._auto_offset_reset
        self._client.report(
            PositionReset(now_ms, topic, partition, event.old_offset, event.new_offset, policy, event.cause)
        )

    def _resolve(self, event: ResolvePosition) -> None:
        self._forget_position(event.topic_partition)
        self._fetch.suspend(event.topic_partition)
        if self._group is not None and event.is_committed_first:
            self._group.committed.resolve(event)
        else:
            self._offsets.resolve(event)

    def _reset(self, event: ResolvePosition) -> None:
        """Query a position by timestamp, because no offset is committed; its topic may be new."""
        self._offsets.resolve(event)
        self._has_new_wishes = True

    def _forget_position(self, topic_partition: TopicPartition) -> None:
        self._offsets.forget(topic_partition)
        if self._group is not None:
            self._group.committed.forget(topic_partition)

    # --- calls --------------------------------------------------------------------------------------------------------

    def _open_call(self, query: Query) -> None:
        question = query.question
        manager, ask = self._questions[type(question)]
        self.open_calls[question.call_id] = OpenCall(query, manager, self._client.time_mark())
        ask(question)

    def _close_call(self, call_id: int) -> Query | None:
        call = self.open_calls.pop(call_id, None)
        if call is None:
            return None
        call.manager.abandon(call_id)
        return call.query

    def _time_out(self, call_id: int, call: OpenCall) -> None:
        query, manager, mark = call
        unseen = "waiting for the network thread to accept the call", self._client.last_error()
        waiting_for, cause = manager.progress(call_id) or unseen
        query.timer.update()
        spent_ms = self._client.spent_since(mark)
        spent_ms[EARLIER_QUESTIONS] = max(0, query.timer.elapsed_ms - sum(spent_ms.values()))
        account = self._client.account_since(mark)._replace(time_breakdown=time_breakdown(spent_ms))
        self._close_call(call_id)
        query.finish(query.timed_out(waiting_for, cause, account))

    # --- close --------------------------------------------------------------------------------------------------------

    def _advance_close(self, request: CloseRequest, now_ms: int) -> None:
        if not self._is_closing:
            self._is_closing = True
            if self._group is not None:
                self._group_close = GroupClose(self._group, request, self._request_timeout_ms, now_ms)
            self._fetch.stop(now_ms, request.deadline_at_ms)
            self._managers = (self._fetch, *(() if self._group is None else self._group.managers))
        if self._group_close is not None:
            self._group_close.advance(self._client, now_ms)
        is_done = self._group_close is None or self._group_close.report is not None
        self.is_over = now_ms >= request.deadline_at_ms or (is_done and self._fetch.is_stopped(now_ms))

    def _fail_outstanding(self) -> None:
        """Do nothing: requests in flight fail when the sockets close."""

    def _end(self, events: Sequence[ToNetwork | Call | CallInterrupted]) -> None:
        report = CloseReport() if self._group_close is None else self._group_close.report or CloseReport()
        if self._group is not None and not self._group.commits.is_idle:
            self._group.commits.abort(CloseTimeout(COMMITTING, timeout_ms=0, elapsed_ms=0))
            report = report._replace(expired_in=COMMITTING)
        self._mailbox.close_report = report
        over = self._mailbox.closed_error()
        for call in [*(each.query for each in self.open_calls.values()), *events]:
            if isinstance(call, Call) and not call.is_done:
                call.finish(over)
        self._mailbox.waiter.notify()

    # --- to the application -------------------------------------------------------------------------------------------

    def _report(self, event: Report) -> None:
        if isinstance(event, CallDone):
            query = self._close_call(event.call_id)
            if query is not None:
                query.result = event.result
                query.finish(event.error)
            return
        if isinstance(event, Waiting):
            self._waits.append(event)
            return
        if not isinstance(event, Fetched):  # data means the same before and after a wait
            self._report_waits()
        if isinstance(event, GroupWaiting):  # the application reads it on demand: no wake-up
            self._mailbox.reports.append(event._replace(at_ms=event.at_ms or self._clock.now_ms()))
        else:
            self._mailbox.reports.append(event)
            self._has_news = True

    def _report_waits(self) -> None:
        """Report waits without a wake-up, because the application reads them on demand."""
        if self._waits:
            waits, self._waits = self._waits, []
            self._mailbox.reports.append(WaitReport(waits, self._clock.now_ms()))

    def _notify(self) -> None:
        self._report_waits()
        if self._has_news:
            self._has_news = False
            self._mailbox.waiter.notify()
