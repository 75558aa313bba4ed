"""FetchRequests: Fetch requests to nodes, in flight or kept for repetition.

A fetch whose response was empty is repeated unchanged, at a constant cost, until a partition or the metadata changes.
"""

from collections.abc import Callable, Iterable

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import NO_EPOCH, TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.fetch.partition import Entry, FetchInFlight
from kctl.client.consumer.fetch.sessions import AskedPartition, Difference, FetchSession, FetchSessions, all_have_ids
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.protocol.api.fetch import FetchRequest, FetchResponse
from kctl.client.requests.leaders import Leaders

SHORT_WAIT_MS = 20
"""Maximum wait of a fetch that leaves out partitions for lack of memory, because memory may soon be free."""
LAST_VERSION_WITH_NAMES = 12
"""Last version of Fetch with topic names. Later versions have topic ids, which old brokers do not provide."""
FIRST_VERSION_WITH_FETCHED_EPOCH = 12


class FetchRequests:
    """Fetches of all nodes, at most one for each.

    Attributes:
        in_flight: fetches in flight by node, in the order of sending.
        idle: fetches to repeat, by node.
    """

    def __init__(self, config: ConsumerConfig, leaders: Leaders, on_answer: Callable[[int, Answer], None]) -> None:
        self._config = config
        self._leaders = leaders
        self._on_answer = on_answer
        self._isolation_level = int(config.isolation_level == "read_committed")
        self.in_flight: dict[int, FetchInFlight] = {}
        self.idle: dict[int, FetchInFlight] = {}
        self.sessions = FetchSessions()
        self._changed: set[int] = set()
        """Nodes whose next fetch differs from the last one."""

    @property
    def partitions(self) -> int:
        return sum(len(fetch.epochs) for fetch in (*self.in_flight.values(), *self.idle.values()))

    @property
    def reserved_bytes(self) -> int:
        return sum(fetch.reserved_bytes for fetch in self.in_flight.values())

    def change(self, node_id: int | None) -> None:
        if node_id is not None:
            self._changed.add(node_id)

    # --- requests ---------------------------------------------------------------------------------------------------

    def fetch(self, node_id: int, entries: Iterable[Entry], room: int, now_ms: int, *, is_short: bool) -> Outgoing:
        """Return the fetch of these partitions, within `room` bytes.

        Args: is_short: whether other partitions of the node are left out for lack of memory.
        """
        speaks_epochs = self._leaders.speaks(node_id, FetchRequest, FIRST_VERSION_WITH_FETCHED_EPOCH)
        wanted: dict[TopicPartition, AskedPartition] = {}
        epochs: dict[TopicPartition, int] = {}
        may_follow = rests = True
        topics = {entry.topic_partition.topic for entry in entries}
        topic_ids = {topic: self._leaders.topic_id(topic) for topic in topics}
        for tp, state, info in entries:
            state.node_id = node_id
            state.asked_epoch = info.leader_epoch
            epochs[tp] = state.epoch
            may_follow = may_follow and state.leader_only_until_ms <= now_ms
            rests = rests and state.rests and state.follower_id is None
            wanted[tp] = AskedPartition(
                topic_ids[tp.topic],
                state.next_offset,
                info.leader_epoch,
                state.fetched_epoch if speaks_epochs else NO_EPOCH,
                state.wanted_bytes(self._config.max_partition_fetch_bytes),
            )
        session = self.sessions.of(node_id)
        difference = session.begin(wanted, uses_topic_ids=all_have_ids(wanted))
        has_changes = session.is_full or bool(difference.topics or difference.forgotten)
        self._changed.discard(node_id)
        fetch = FetchInFlight(
            epochs,
            sum(each.partition_max_bytes for each in wanted.values()),
            self._config.client_rack if may_follow else "",
            self._leaders.cluster,
            rests and may_follow and not has_changes,
        )
        return self._outgoing(node_id, fetch, session, difference, room, now_ms, is_short=is_short)

    def repeat(self, node_id: int, room: int, now_ms: int, *, is_short: bool) -> Outgoing:
        session = self.sessions.of(node_id)
        fetch = self.idle.pop(node_id)
        return self._outgoing(node_id, fetch, session, session.repeat(), room, now_ms, is_short=is_short)

    def _outgoing(
        self,
        node_id: int,
        fetch: FetchInFlight,
        session: FetchSession,
        difference: Difference,
        room: int,
        now_ms: int,
        *,
        is_short: bool,
    ) -> Outgoing:
        max_bytes = min(room, self._config.fetch_max_bytes, fetch.wanted_bytes)
        max_wait_ms = min(self._config.fetch_max_wait_ms, SHORT_WAIT_MS if is_short else FOREVER_MS)
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=self._config.fetch_min_bytes,
            max_bytes=max_bytes,
            isolation_level=self._isolation_level,
            session_id=difference.session_id,
            session_epoch=difference.session_epoch,
            topics=difference.topics,
            forgotten_topics_data=difference.forgotten,
            rack_id=fetch.rack,
        )
        self.in_flight[node_id] = fetch._replace(
            may_repeat=fetch.may_repeat and not is_short,  # a repetition would not pause for QUIET_MS
            reserved_bytes=max_bytes,
            sent_at_ms=now_ms,
            early_before_ms=now_ms + max_wait_ms // 2,
        )
        return Outgoing(
            node_id,
            request,
            self._config.request_timeout_ms,
            lambda answer: self._on_answer(node_id, answer),
            None if session.uses_topic_ids else LAST_VERSION_WITH_NAMES,
        )

    # --- repetition -------------------------------------------------------------------------------------------------

    def keep(self, node_id: int, fetch: FetchInFlight, response: FetchResponse) -> bool:
        """Keep a fetch for repetition if its response was empty; return whether it was kept."""
        brought_nothing = not response.error_code and not response.responses and self.sessions.of(node_id).is_open
        is_kept = fetch.may_repeat and brought_nothing
        if is_kept:
            self.idle[node_id] = fetch
        return is_kept

    def outdated(self) -> list[int]:
        cluster = self._leaders.cluster
        return [
            node_id for node_id, fetch in self.idle.items() if node_id in self._changed or fetch.cluster is not cluster
        ]
