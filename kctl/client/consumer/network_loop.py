"""NetworkLoop: the network side of a consumer, one loop that owns every socket and every request manager.

It takes the application's events, lets the managers say what to send, and waits in the cluster client's poll until
the nearest deadline of all. The application never touches anything in here. Shown by tests/unit/consumer and tests/sim.
"""

from collections import deque
from random import Random
from typing import NamedTuple

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster_client import ClusterClient, LedgerMark
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.events import (
    AbandonCall,
    AskOffsets,
    AskTopics,
    CallDone,
    CallProgress,
    Consumed,
    Forget,
    LoopEnded,
    NetworkFailed,
    Pause,
    ResolvePosition,
    StartFetch,
    Stop,
    ToApplication,
    ToNetwork,
    TryAgain,
    Waiting,
)
from kctl.client.consumer.managers import CallManager, FetchManager, OffsetsManager, RequestManager, TopicsManager
from kctl.client.consumer.managers.leaders import Leaders
from kctl.client.errors import KafkaError
from kctl.client.seams import Waiter


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
        self._managers: tuple[RequestManager, ...] = (self._topics, self._offsets, self._fetch)
        self.open_calls: dict[int, OpenCall] = {}
        self._fatal_error: KafkaError | None = None
        self._has_news = False
        self._is_stopping = False

    def run(self) -> None:
        """Run to the end; whatever happens, the sockets are closed and the application is told."""
        try:
            while not self._is_stopping:
                self.run_once()
        finally:
            self._client.close()
            self._outbox.append(LoopEnded())
            self._application.notify()

    def run_once(self) -> None:
        """Do what there is to do, then wait for I/O, an event or the nearest deadline."""
        self._take_events()
        if self._is_stopping:
            return
        now_ms = self._client.clock.now_ms()
        deadline_at_ms = FOREVER_MS
        for manager in self._managers:
            wanted = manager.poll(now_ms)
            deadline_at_ms = min(deadline_at_ms, wanted.next_deadline_at_ms)
            for request in wanted.requests:
                self._client.send(
                    request.node_id,
                    request.request,
                    timeout_ms=request.timeout_ms,
                    on_done=request.on_done,
                    max_version=request.max_version,
                )
        self._tell_progress()
        self._tell_news()
        self._client.poll(max(0, deadline_at_ms - now_ms))
        self._tell_news()

    # --- from the application ---------------------------------------------------------------------------------------

    def _take_events(self) -> None:
        if not self._inbox:
            return
        while self._inbox:
            self._take(self._inbox.popleft())
        self._topics.use([*self._fetch.topics, *self._offsets.topics])

    def _take(self, event: ToNetwork) -> None:
        match event:
            case Consumed():
                self._fetch.consumed(*event)
            case StartFetch():
                self._offsets.forget(event.topic_partition)
                self._fetch.start(event)
            case ResolvePosition():
                self._fetch.forget(event.topic_partition)
                self._offsets.resolve(event)
            case Forget(topic_partition):
                self._fetch.forget(topic_partition)
                self._offsets.forget(topic_partition)
            case Pause():
                self._fetch.set_paused(*event)
            case AskTopics():
                self.open_calls[event.call_id] = OpenCall(self._topics, self._client.ledger_mark())
                self._topics.ask(event)
            case AskOffsets():
                self.open_calls[event.call_id] = OpenCall(self._offsets, self._client.ledger_mark())
                self._offsets.ask(event)
            case AbandonCall(call_id):
                self._close_call(call_id)
            case TryAgain():
                self._fatal_error = None
                self._client.network.forgive()
            case Stop():
                self._is_stopping = True

    def _close_call(self, call_id: int) -> None:
        call = self.open_calls.pop(call_id, None)
        if call is not None:
            call.manager.abandon(call_id)

    # --- to the application -----------------------------------------------------------------------------------------

    def _report(self, event: ToApplication) -> None:
        self._outbox.append(event)
        if isinstance(event, CallDone):
            self._close_call(event.call_id)
        if not isinstance(event, Waiting | CallProgress):
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
