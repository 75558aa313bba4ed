"""ClusterClient: connections and metadata kept up together; what consumer, producer and admin stand on.

Owns the order of the two within one poll and the record of where time went. Single-threaded save `wakeup`.
Shown by tests/unit/test_cluster_client.py.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kctl.client.backoff import ExponentialBackoff
from kctl.client.cluster import Node, TopicPartition
from kctl.client.config import ClientConfig
from kctl.client.errors import Account, KafkaError
from kctl.client.events import Event, EventSink, GuardedSink, ignore_events
from kctl.client.metadata import Metadata
from kctl.client.metadata_updater import MetadataUpdater
from kctl.client.network.in_flight import Outgoing
from kctl.client.network.network_client import NetworkClient
from kctl.client.questions import Questions
from kctl.client.seams import Runtime


class LedgerMark(NamedTuple):
    """A moment of the ledger, to tell later what was done since then."""

    spent_ms: Mapping[str, int]
    attempts: int


class ClusterClient:
    """One client's view of a cluster.

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
        events = events if events is ignore_events else GuardedSink(events)
        self.network = NetworkClient(config, runtime, events=events)
        self.metadata = Metadata(
            max_age_ms=config.metadata_max_age_ms,
            backoff=ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms, runtime.chance),
            auto_create_topics=auto_create_topics,
        )
        self._questions = Questions(self.network, self.clock)
        self._updater = MetadataUpdater(config, self.network, self._questions, self.metadata, self.clock)
        self._events = events
        self._spent_ms: dict[str, int] = {}

    def poll(self, until_ms: int) -> None:
        """Keep up the metadata, do the I/O that is ready, call back for the requests that ended.

        Args: until_ms: the instant at which the wait ends; it ends earlier for I/O, a wake-up or any deadline.
        """
        now_ms = self.clock.now_ms()
        until_ms = min(until_ms, self.send_due_questions(now_ms))
        activity = self.activity()
        self.network.poll(until_ms)
        spent_ms = self.clock.now_ms() - now_ms
        if spent_ms:
            self._spent_ms[activity] = self._spent_ms.get(activity, 0) + spent_ms

    def send_due_questions(self, now_ms: int) -> int:
        """Send the metadata and the repeated questions that are due; return when the next are.

        `poll` does so too. A caller with much to send calls it first, so that questions do not wait behind that.
        """
        return min(self._updater.run(now_ms), self._questions.run(now_ms))

    def send(self, outgoing: Outgoing) -> None:
        """Send to a ready node, and to others too when it is silent and any could answer."""
        if outgoing.is_for_any:
            self._questions.ask(outgoing)
        else:
            self.network.send(outgoing)

    def learn_leader(self, partition: TopicPartition, leader_id: int, leader_epoch: int, nodes: Iterable[Node]) -> bool:
        """Take the new leader of a partition from an answer that named it; return whether that is news.

        Args: nodes: the brokers that the answer told addresses of. Source: KIP-951.
        """
        is_news = self.metadata.learn_leader(partition, leader_id, leader_epoch, nodes)
        if is_news:
            self.network.set_nodes(self.metadata.cluster.nodes)
        return is_news

    def tell(self, event: Event) -> None:
        """Hand an event to whoever watches this client."""
        self._events(event)

    def last_error(self) -> KafkaError | None:
        """Return what went wrong most recently: with the metadata, else with a node, else what a connect hangs in."""
        if self.metadata.last_error is not None:
            return self.metadata.last_error
        errors = self.network.errors()
        return errors[0] if errors else self.network.unfinished()

    def activity(self) -> str:
        """Return in a few words what the time is being spent on now."""
        return "metadata" if self._updater.is_in_flight else self.network.activity()

    def ledger_mark(self) -> LedgerMark:
        """Return the ledger as it is now, for `account_since`."""
        return LedgerMark(dict(self._spent_ms), self.network.attempts)

    def account_since(self, mark: LedgerMark) -> Account:
        """Return what was done since the mark and what is wrong with the nodes now."""
        attempts = self.network.attempts - mark.attempts
        return Account(ledger_text(self.spent_since(mark)), attempts, tuple(self.network.errors()))

    def spent_since(self, mark: LedgerMark) -> dict[str, int]:
        """Return the milliseconds since the mark by what they were spent on, up to the end of the last poll."""
        return {activity: ms - mark.spent_ms.get(activity, 0) for activity, ms in self._spent_ms.items()}

    def wakeup(self) -> None:
        """End the present or next poll; any thread may call it."""
        self.network.wakeup()

    def close(self) -> None:
        """Close every connection; requests in flight fail, and their callbacks run here. Idempotent."""
        self.network.close()


def ledger_text(spent_ms: Mapping[str, int]) -> tuple[str, ...]:
    """Return times by activity in words, largest first: `("connecting 4000 ms", "metadata 12 ms")`."""
    return tuple(f"{activity} {ms} ms" for activity, ms in sorted(spent_ms.items(), key=lambda item: -item[1]) if ms)
