"""NetworkLoop: the network side of a consumer, one loop that owns every socket and every request manager.

It takes the application's events, lets the managers say what to send, and waits in the cluster client's poll until
the nearest deadline of all. The application never touches anything in here. Shown by tests/unit/consumer and tests/sim.
"""

from collections import deque
from collections.abc import Iterable
from random import Random
from typing import NamedTuple

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import TopicPartition
from kctl.client.cluster_client import ClusterClient, LedgerMark
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.events import (
    AbandonCall,
    AskClientInstanceId,
    AskOffsets,
    AskTopics,
    CallDone,
    CallProgress,
    Consumed,
    Forget,
    LoopEnded,
    NetworkFailed,
    PartitionToNetwork,
    Pause,
    PositionMoved,
    ResolvePosition,
    StartFetch,
    Stop,
    ToApplication,
    ToNetwork,
    TryAgain,
    Waiting,
)
from kctl.client.consumer.farewell import COMMITTING, LEAVING, Farewell
from kctl.client.consumer.group_desk import GroupDesk
from kctl.client.consumer.group_events import AskCommitted, CommitSync, GroupToNetwork, GroupWaiting
from kctl.client.consumer.managers import CallManager, FetchManager, OffsetsManager, RequestManager, TopicsManager
from kctl.client.consumer.managers.telemetry import TelemetryManager
from kctl.client.errors import CloseTimeout, KafkaError
from kctl.client.events import PositionReset
from kctl.client.network.in_flight import Outgoing
from kctl.client.requests.leaders import Leaders
from kctl.client.seams import Entropy, Waiter


class OpenCall(NamedTuple):
    """A blocking call of the application: who answers it, and the ledger when it began."""

    manager: CallManager
    ledger_mark: LedgerMark


class NetworkLoop:
    """Runs until `Stop`; `inbox` and `outbox` are the only things shared with the application.

    Attributes: open_calls: the application's calls that are neither answered nor abandoned, by id.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        client: ClusterClient,
        chance: Random,
        entropy: Entropy,
        *,
        inbox: deque[ToNetwork],
        outbox: deque[ToApplication],
        application: Waiter,
        prefetch_bytes: int,
    ) -> None:
        self._client = client
        self._inbox = inbox
        self._outbox = outbox
        self._application = application
        leaders = Leaders(client)
        self._topics = TopicsManager(config, client, chance, self._report)
        self._offsets = OffsetsManager(config, leaders, chance, self._report)
        self._fetch = FetchManager(config, leaders, chance, self._report, prefetch_bytes)
        self._telemetry = TelemetryManager(config, client, chance, self._report)
        self._managers: tuple[RequestManager, ...] = (self._topics, self._offsets, self._fetch, self._telemetry)
        self._group: GroupDesk | None = None
        if config.group_id is not None:
            self._group = GroupDesk(config, config.group_id, client, chance, entropy, self._report, self._reset)
            self._managers += self._group.managers
        self._request_timeout_ms = config.request_timeout_ms
        self._auto_offset_reset = config.auto_offset_reset
        self._farewell: Farewell | None = None
        self._outcome: LoopEnded | None = None
        """How a close without time ended."""
        self._has_new_wishes = False
        self._group_topics: tuple[str, ...] = ()
        self.open_calls: dict[int, OpenCall] = {}
        self._fatal_error: KafkaError | None = None
        self._has_news = False
        self._end_by_ms = FOREVER_MS
        """The deadline of close(), once that is under way."""
        self._is_stopping = False

    def run(self) -> None:
        """Run to the end; whatever happens, the sockets are closed and the application is told."""
        failure: BaseException | None = None
        try:
            while not self._is_stopping:
                self.run_once()
        except BaseException as error:
            failure = error
            raise
        finally:
            self._client.close()
            self._outbox.append(self._last_word()._replace(failure=failure))
            self._application.notify()

    def run_once(self) -> None:
        """Do what there is to do, then wait for I/O, an event or the nearest deadline."""
        self._take_events()
        now_ms = self._client.clock.now_ms()
        self._go_on_stopping(now_ms)
        if self._is_stopping:
            return
        deadline_at_ms = self._end_by_ms
        if self._farewell is not None:
            deadline_at_ms = min(deadline_at_ms, self._farewell.deadline_at_ms)
        for manager in self._managers:
            wanted = manager.poll(now_ms)
            deadline_at_ms = min(deadline_at_ms, wanted.next_deadline_at_ms)
            self._send(wanted.requests)
        self._use_topics()
        self._tell_progress()
        self._tell_news()
        self._client.poll(deadline_at_ms)
        self._tell_news()

    def _send(self, requests: Iterable[Outgoing]) -> None:
        for request in requests:
            self._client.send(request)

    # --- from the application ---------------------------------------------------------------------------------------

    def _take_events(self) -> None:
        if not self._inbox:
            return
        while self._inbox:
            self._take(self._inbox.popleft())
        self._has_new_wishes = True

    def _use_topics(self) -> None:
        """Keep the metadata fresh of what is fetched, looked up or subscribed to, or of all topics for a pattern."""
        group = () if self._group is None else tuple(self._group.membership.topics)
        if not self._has_new_wishes and group == self._group_topics:
            return
        self._has_new_wishes = False
        self._group_topics = group
        if self._group is not None and self._group.membership.wants_all_topics:
            self._topics.use_all()
        else:
            self._topics.use([*self._fetch.topics, *self._offsets.topics, *group])

    def _take(self, event: ToNetwork) -> None:
        match event:
            case Consumed() | StartFetch() | ResolvePosition() | Forget() | Pause() | PositionMoved():
                self._take_of_partition(event)
            case AskTopics():
                self._open_call(event.call_id, self._topics)
                self._topics.ask(event)
            case AskOffsets():
                self._open_call(event.call_id, self._offsets)
                self._offsets.ask(event)
            case AskClientInstanceId():
                self._open_call(event.call_id, self._telemetry)
                self._telemetry.ask(event)
            case AbandonCall(call_id):
                self._close_call(call_id)
            case TryAgain():
                self._fatal_error = None
                self._client.network.clear_refusals()
            case Stop():
                self._stop(event)
            case _:
                self._take_of_group(event)

    def _take_of_partition(self, event: PartitionToNetwork) -> None:
        match event:
            case Consumed():
                self._fetch.consumed(*event)
            case StartFetch():
                self._forget_position(event.topic_partition)
                self._fetch.start(event)
            case ResolvePosition():
                self._forget_position(event.topic_partition)
                self._fetch.suspend(event.topic_partition)
                self._resolve(event)
            case Forget(topic_partition):
                self._forget_position(topic_partition)
                self._fetch.forget(topic_partition)
            case Pause():
                self._fetch.set_paused(*event)
            case PositionMoved():
                self._tell_moved(event)

    def _take_of_group(self, event: GroupToNetwork) -> None:
        assert self._group is not None, "the application refuses these calls without a group.id"
        if isinstance(event, CommitSync):
            self._open_call(event.call_id, self._group.commits)
        elif isinstance(event, AskCommitted):
            self._open_call(event.call_id, self._group.committed)
        self._group.take(event)

    def _tell_moved(self, event: PositionMoved) -> None:
        topic, partition = event.topic_partition
        now_ms = self._client.clock.now_ms()
        policy = self._auto_offset_reset
        self._client.tell(
            PositionReset(now_ms, topic, partition, event.old_offset, event.new_offset, policy, event.cause)
        )

    def _resolve(self, event: ResolvePosition) -> None:
        if self._group is not None and event.is_committed_first:
            self._group.committed.resolve(event)
        else:
            self._offsets.resolve(event)

    def _reset(self, event: ResolvePosition) -> None:
        """Find a position by timestamp for which nothing is committed; its topic may be one that nobody used yet."""
        self._offsets.resolve(event)
        self._has_new_wishes = True

    def _forget_position(self, topic_partition: TopicPartition) -> None:
        self._offsets.forget(topic_partition)
        if self._group is not None:
            self._group.committed.forget(topic_partition)

    def _open_call(self, call_id: int, manager: CallManager) -> None:
        self.open_calls[call_id] = OpenCall(manager, self._client.ledger_mark())

    def _close_call(self, call_id: int) -> None:
        call = self.open_calls.pop(call_id, None)
        if call is not None:
            call.manager.abandon(call_id)

    # --- the end ----------------------------------------------------------------------------------------------------

    def _stop(self, event: Stop) -> None:
        """Fetch no more, give up the fetch sessions, and leave the group where there is one.

        With no time, commits and LeaveGroup are sent and no response is awaited.

        A close that was interrupted and is made again can only make it end earlier.
        """
        now_ms = self._client.clock.now_ms()
        is_under_way = self._end_by_ms < FOREVER_MS
        self._end_by_ms = min(self._end_by_ms, event.deadline_at_ms, FOREVER_MS - 1)
        if now_ms >= self._end_by_ms:
            self._is_stopping = True
            if self._group is not None and not is_under_way:
                self._send_last(self._group, event, now_ms)
        if is_under_way or self._is_stopping:
            return
        self._fetch.stop(now_ms, event.deadline_at_ms)
        self._managers = (self._fetch,)
        if self._group is not None:
            self._managers += self._group.managers
            self._farewell = Farewell(self._group, event, self._request_timeout_ms, now_ms)

    def _send_last(self, group: GroupDesk, event: Stop, now_ms: int) -> None:
        """Send commits and LeaveGroup, and hand them to the system without waiting for a response."""
        until_ms = now_ms + self._request_timeout_ms
        self._send(group.last_requests(now_ms, until_ms, is_leaving=event.is_leaving))
        self._client.poll(0)
        if event.is_leaving:
            has_left = group.membership.has_left is True
            self._outcome = LoopEnded(has_left, None if has_left else LEAVING)

    def _go_on_stopping(self, now_ms: int) -> None:
        if self._farewell is not None:
            self._farewell.advance(now_ms)
        if self._end_by_ms < FOREVER_MS:
            has_left = self._farewell is None or self._farewell.outcome is not None
            self._is_stopping = (has_left and self._fetch.is_stopped(now_ms)) or now_ms >= self._end_by_ms

    def _last_word(self) -> LoopEnded:
        """Return how the farewell ended; commits that did not get their turn are told first."""
        outcome = self._outcome if self._farewell is None else self._farewell.outcome
        if self._group is not None and not self._group.commits.is_idle:
            self._group.commits.abort(CloseTimeout(COMMITTING, timeout_ms=0, elapsed_ms=0))
            outcome = LoopEnded(None if outcome is None else outcome.has_left, COMMITTING)
        return outcome or LoopEnded()

    # --- to the application -----------------------------------------------------------------------------------------

    def _report(self, event: ToApplication) -> None:
        if isinstance(event, Waiting | GroupWaiting):
            event = event._replace(at_ms=event.at_ms or self._client.clock.now_ms())
        self._outbox.append(event)
        if isinstance(event, CallDone):
            self._close_call(event.call_id)
        if not isinstance(event, Waiting | GroupWaiting | CallProgress):
            self._has_news = True

    def _tell_progress(self) -> None:
        """Keep the application informed of what open calls wait for: its deadline error is made without asking."""
        error = self._client.network.fatal_error()
        if error is not self._fatal_error:
            self._fatal_error = error
            self._report(NetworkFailed(error))
        now_ms = self._client.clock.now_ms()
        for call_id, call in self.open_calls.items():
            progress = call.manager.progress(call_id)
            if progress is not None:
                mark = call.ledger_mark
                account, spent_ms = self._client.account_since(mark), self._client.spent_since(mark)
                self._report(CallProgress(call_id, *progress, account, spent_ms, self._client.activity(), now_ms))

    def _tell_news(self) -> None:
        if self._has_news:
            self._has_news = False
            self._application.notify()
