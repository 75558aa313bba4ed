"""Connections and metadata of one client; base of consumer, producer, and admin."""

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import NamedTuple

from kctl.client.backoff import ExponentialBackoff
from kctl.client.cluster import NamedLeader, Node, TopicPartition
from kctl.client.config import ClientConfig
from kctl.client.errors import Account, KafkaError
from kctl.client.events import Event, EventLog, EventSink, GuardedSink, ignore_events
from kctl.client.hedged_requests import HedgedRequests
from kctl.client.metadata import Metadata
from kctl.client.metadata_updater import MetadataUpdater
from kctl.client.network.in_flight import Outgoing
from kctl.client.network.network_client import NetworkClient
from kctl.client.runtime import Runtime


class TimeMark(NamedTuple):
    spent_ms: Mapping[str, int]
    attempts: int


class Steps:
    """Number of steps in progress. A step that an interrupt ended stays counted."""

    __slots__ = ("under_way",)

    def __init__(self) -> None:
        self.under_way = 0

    def __enter__(self) -> None:
        self.under_way += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or issubclass(kind, Exception):
            self.under_way -= 1


class ClusterClient:
    """Connections and metadata of one client. Single-threaded except `wakeup`, `last_error`, and `failure`.

    Callers without a network thread, which an interrupt may end anywhere, use `steps`.

    Args: auto_create_topics: whether metadata requests may create wanted topics, if the broker allows it.
    """

    def __init__(
        self,
        config: ClientConfig,
        runtime: Runtime,
        *,
        events: EventSink = ignore_events,
        auto_create_topics: bool = False,
    ) -> None:
        self.clock = runtime.clock
        self.entropy = runtime.entropy
        events = EventLog(config.client_id or "", events if events is ignore_events else GuardedSink(events))
        self.network = NetworkClient(config, runtime, events=events)
        self.metadata = Metadata(
            max_age_ms=config.metadata_max_age_ms,
            backoff=ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms, runtime.rng),
            auto_create_topics=auto_create_topics,
        )
        self._hedged = HedgedRequests(self.network, self.clock)
        self._updater = MetadataUpdater(config, self.network, self._hedged, self.metadata, self.clock)
        self.steps = Steps()
        self._events = events
        self._spent_ms: dict[str, int] = {}
        self._activity = ""
        """Activity that the last poll waited for."""

    def poll(self, until_ms: int) -> None:
        """Refresh due metadata, do the I/O that is ready, and run the callbacks of finished requests.

        Args: until_ms: end of the wait, unless I/O, a wake-up, or a deadline comes first.
        """
        now_ms = self.clock.now_ms()
        until_ms = min(until_ms, self.send_due_requests(now_ms))
        self._activity = self.activity()
        self.network.poll(until_ms)
        self._count_ms(now_ms)

    def poll_again(self) -> None:
        """Continue the last poll, which only a wake-up ended (`NetworkClient.is_only_woken`)."""
        now_ms = self.clock.now_ms()
        self.network.poll_again()
        self._count_ms(now_ms)

    def _count_ms(self, since_ms: int) -> None:
        spent_ms = self.clock.now_ms() - since_ms
        if spent_ms:
            self._spent_ms[self._activity] = self._spent_ms.get(self._activity, 0) + spent_ms

    def poll_arrived(self) -> None:
        """Handle bytes that have arrived; a suspended process may see them only after its deadline."""
        if not self.network.status.attempts:
            self.network.any_ready_node()
        self.network.poll(self.clock.now_ms())

    def send_due_requests(self, now_ms: int) -> int:
        """Send due metadata and hedged requests; return the time of the next.

        `poll` does this; callers with much to send call it before.
        """
        return min(self._updater.run(now_ms), self._hedged.run(now_ms))

    def send(self, outgoing: Outgoing) -> None:
        """Send a request to a ready broker; a request for any broker is hedged."""
        if outgoing.is_for_any:
            self._hedged.send(outgoing)
        else:
            self.network.send(outgoing)

    def learn_leaders(self, named: Mapping[TopicPartition, NamedLeader], nodes: Iterable[Node]) -> list[TopicPartition]:
        """Apply the leaders and broker addresses of a response; return the partitions with a newer leader.

        Source: KIP-951.
        """
        news = self.metadata.learn_leaders(named, nodes)
        if news:
            self.network.set_nodes(tuple(self.metadata.cluster.nodes.values()))
        return news

    def report(self, event: Event) -> None:
        self._events(event)

    def last_error(self) -> KafkaError | None:
        """Return the last error of the metadata or a broker, otherwise of an unfinished connection; any thread."""
        return self.failure() or self.network.status.unfinished()

    def failure(self) -> KafkaError | None:
        """Return the last error of the metadata or a broker; any thread."""
        if self.metadata.last_error is not None:
            return self.metadata.last_error
        errors = self.network.status.errors()
        return errors[0] if errors else None

    def metadata_sources(self) -> str:
        """Return ` from` and the brokers that have not responded to a metadata request; empty without a request."""
        asked = self._updater.asked
        return f" from {', '.join(asked)}" if asked else ""

    def activity(self) -> str:
        return "metadata" if self._updater.is_in_flight else self.network.status.activity()

    def time_mark(self) -> TimeMark:
        return TimeMark(dict(self._spent_ms), self.network.status.attempts)

    def account_since(self, mark: TimeMark) -> Account:
        attempts = self.network.status.attempts - mark.attempts
        return Account(time_breakdown(self.spent_since(mark)), attempts, tuple(self.network.status.errors()))

    def spent_since(self, mark: TimeMark) -> dict[str, int]:
        """Return the milliseconds since the mark by activity, up to the end of the last poll."""
        return {activity: ms - mark.spent_ms.get(activity, 0) for activity, ms in self._spent_ms.items()}

    def wakeup(self) -> None:
        self.network.wakeup()

    def close(self) -> None:
        """Close all connections. Requests in flight fail, and their callbacks run. Idempotent."""
        try:
            self.network.close()
        except Exception:
            if not self.steps.under_way:
                raise  # otherwise an interrupt has left a node in an inconsistent state; all connections are closed


def time_breakdown(spent_ms: Mapping[str, int]) -> tuple[str, ...]:
    """Return times as text, largest first: `("connecting 4000 ms", "metadata 12 ms")`."""
    return tuple(f"{activity} {ms} ms" for activity, ms in sorted(spent_ms.items(), key=lambda item: -item[1]) if ms)
