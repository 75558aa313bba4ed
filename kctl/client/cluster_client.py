"""ClusterClient: connections and metadata of one client; the base of consumer, producer and admin.

Owns the order of the two within one poll and the record of where time went. Single-threaded except `wakeup`.
"""

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
    """A snapshot of the time breakdown, for the difference to a later one."""

    spent_ms: Mapping[str, int]
    attempts: int


class Steps:
    """Steps of a call that are under way. One that an interrupt has left midway is never counted off."""

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
    """One client's view of a cluster.

    Attributes: steps: of a caller that has no network thread: what runs on its own may be interrupted anywhere.

    Args:
        auto_create_topics: whether asking for a topic of interest may create it (where the broker allows that).
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

    def poll(self, until_ms: int) -> None:
        """Refresh the metadata when it is due, do the I/O that is ready, call back for the requests that ended.

        Args: until_ms: the instant at which the wait ends; it ends earlier for I/O, a wake-up or any deadline.
        """
        now_ms = self.clock.now_ms()
        until_ms = min(until_ms, self.send_due_requests(now_ms))
        activity = self.activity()
        self.network.poll(until_ms)
        spent_ms = self.clock.now_ms() - now_ms
        if spent_ms:
            self._spent_ms[activity] = self._spent_ms.get(activity, 0) + spent_ms

    def poll_arrived(self) -> None:
        """Handle the bytes that have arrived, without a wait and without new requests: the last poll before a timeout.

        A process that was not scheduled until after its deadline has not seen yet who refused it or responded.
        """
        if not self.network.status.attempts:
            self.network.any_ready_node()
        self.network.poll(self.clock.now_ms())

    def send_due_requests(self, now_ms: int) -> int:
        """Send the metadata and hedged requests that are due; return when the next are.

        `poll` does so too. A caller with much to send calls it first, so that these requests do not wait behind that.
        """
        return min(self._updater.run(now_ms), self._hedged.run(now_ms))

    def send(self, outgoing: Outgoing) -> None:
        """Send to a ready node; a request that any broker can answer is hedged."""
        if outgoing.is_for_any:
            self._hedged.send(outgoing)
        else:
            self.network.send(outgoing)

    def learn_leaders(self, named: Mapping[TopicPartition, NamedLeader], nodes: Iterable[Node]) -> list[TopicPartition]:
        """Apply the leaders that a response names; return the partitions with a newer leader than before.

        Args: nodes: the brokers whose addresses the response has. Source: KIP-951.
        """
        news = self.metadata.learn_leaders(named, nodes)
        if news:
            self.network.set_nodes(tuple(self.metadata.cluster.nodes.values()))
        return news

    def report(self, event: Event) -> None:
        """Pass an event to the event sink of this client."""
        self._events(event)

    def last_error(self) -> KafkaError | None:
        """Return the last error of the metadata, else of a node, else the phase that a connection attempt is in.

        Any thread: the caller of a loop that does not respond asks for it.
        """
        return self.failure() or self.network.status.unfinished()

    def failure(self) -> KafkaError | None:
        """Return the last error of the metadata, or of a node; None while no attempt has failed. Any thread."""
        if self.metadata.last_error is not None:
            return self.metadata.last_error
        errors = self.network.status.errors()
        return errors[0] if errors else None

    def metadata_sources(self) -> str:
        """Return ` from` and the brokers that have not answered a request for metadata; empty where none was asked."""
        asked = self._updater.asked
        return f" from {', '.join(asked)}" if asked else ""

    def activity(self) -> str:
        """Return in a few words what the client is waiting for now."""
        return "metadata" if self._updater.is_in_flight else self.network.status.activity()

    def time_mark(self) -> TimeMark:
        """Return a snapshot of the time breakdown, for `account_since`."""
        return TimeMark(dict(self._spent_ms), self.network.status.attempts)

    def account_since(self, mark: TimeMark) -> Account:
        """Return the time breakdown and connection attempts since the mark, and the current errors of the nodes."""
        attempts = self.network.status.attempts - mark.attempts
        return Account(time_breakdown(self.spent_since(mark)), attempts, tuple(self.network.status.errors()))

    def spent_since(self, mark: TimeMark) -> dict[str, int]:
        """Return the milliseconds since the mark by activity, up to the end of the last poll."""
        return {activity: ms - mark.spent_ms.get(activity, 0) for activity, ms in self._spent_ms.items()}

    def wakeup(self) -> None:
        """End the present or next poll; any thread may call it."""
        self.network.wakeup()

    def close(self) -> None:
        """Close every connection; requests in flight fail, and their callbacks run here. Idempotent."""
        try:
            self.network.close()
        except Exception:
            if not self.steps.under_way:
                raise  # else an interrupt has left a node half changed, and all connections are closed


def time_breakdown(spent_ms: Mapping[str, int]) -> tuple[str, ...]:
    """Return times by activity in words, largest first: `("connecting 4000 ms", "metadata 12 ms")`."""
    return tuple(f"{activity} {ms} ms" for activity, ms in sorted(spent_ms.items(), key=lambda item: -item[1]) if ms)
