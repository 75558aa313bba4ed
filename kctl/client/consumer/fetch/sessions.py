"""FetchSessions: fetch sessions with brokers, in which requests contain only changes.

Source: KIP-227, KIP-516. After a failure, the next request contains all partitions and replaces the session.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import NO_TOPIC_ID, TopicPartition
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.protocol.api.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from kctl.client.requests.leaders import Leaders
from kctl.client.requests.request import Poll

NO_SESSION = 0
OPENING_EPOCH = 0
"""Session epoch of a full request, which opens a session and closes the given session."""
FINAL_EPOCH = -1
"""Session epoch of a request that closes the given session and opens none."""
LAST_EPOCH = 2**31 - 1
SESSIONS_CLOSE_MS = 100
"""Time that close() waits for responses to its requests."""
BEHIND_FETCH_MS = 20
"""Time to wait for a response that follows a fetch in flight, which the broker may hold for fetch.max.wait.ms.

The broker handles the request even after the connection is closed (tests/broker/test_fetch_session_close.py).
"""
SESSION_ERRORS = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)
"""Codes of a closed session, after which the client fetches again immediately, without a session."""


class AskedPartition(NamedTuple):
    topic_id: bytes
    fetch_offset: int
    current_leader_epoch: int
    last_fetched_epoch: int
    partition_max_bytes: int


class Difference(NamedTuple):
    session_id: int
    session_epoch: int
    topics: list[FetchTopic]
    forgotten: list[ForgottenTopic]


class FetchSession:
    """Session with one node.

    Attributes:
        is_full: whether the last request contained all partitions, and so does its response.
        names: topic names by id.
    """

    def __init__(self) -> None:
        self.session_id = NO_SESSION
        self.is_full = True
        self.names: dict[bytes, str] = {}
        self._epoch = OPENING_EPOCH
        self.uses_topic_ids = False
        self._known: dict[TopicPartition, AskedPartition] = {}

    def begin(self, wanted: Mapping[TopicPartition, AskedPartition], *, uses_topic_ids: bool) -> Difference:
        if uses_topic_ids != self.uses_topic_ids:
            self._epoch = OPENING_EPOCH
            self.uses_topic_ids = uses_topic_ids
        known = self._known
        self.is_full = self._epoch == OPENING_EPOCH
        forgotten: list[tuple[TopicPartition, bytes]] = []
        changed = wanted
        if self.is_full:
            self.names = {}
        else:
            changed = {tp: asked for tp, asked in wanted.items() if known.get(tp) != asked}
            forgotten = [
                (tp, was.topic_id)
                for tp, was in known.items()
                if tp not in wanted or (tp in changed and not self._continues(was, wanted[tp]))
            ]
        self._known = dict(wanted)
        for tp, asked in changed.items():
            self.names[asked.topic_id] = tp.topic
        return Difference(self.session_id, self._epoch, topics_of(changed), forgotten_of(forgotten))

    @property
    def is_open(self) -> bool:
        return self._epoch != OPENING_EPOCH

    def repeat(self) -> Difference:
        self.is_full = False
        return Difference(self.session_id, self._epoch, [], [])

    def _continues(self, was: AskedPartition, asked: AskedPartition) -> bool:
        return asked.topic_id == was.topic_id or not self.uses_topic_ids

    def partitions_in(self, response: FetchResponse) -> Iterator[tuple[TopicPartition, PartitionData]]:
        """Yield the partitions of a response; a topic with an unknown id has an empty name."""
        for topic in response.responses:
            name = topic.topic or self.names.get(topic.topic_id, "")
            for data in topic.partitions:
                yield TopicPartition(name, data.partition_index), data

    def answered(self, response: FetchResponse) -> None:
        if response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
            self._forget()
        elif response.error_code != ErrorCode.NONE:
            self.failed()
        elif response.session_id == NO_SESSION:
            self._forget()
        elif self.is_full:
            self.session_id, self._epoch = response.session_id, 1
        elif response.session_id == self.session_id:
            self._epoch = 1 if self._epoch == LAST_EPOCH else self._epoch + 1
        else:
            self.failed()

    def failed(self) -> None:
        """Let the next request replace the session, because its state is unknown."""
        self._epoch = OPENING_EPOCH

    def _forget(self) -> None:
        self.session_id = NO_SESSION
        self._epoch = OPENING_EPOCH


class FetchSessions:
    def __init__(self) -> None:
        self._sessions: dict[int, FetchSession] = {}

    def of(self, node_id: int) -> FetchSession:
        session = self._sessions.get(node_id)
        if session is None:
            session = self._sessions[node_id] = FetchSession()
        return session

    def open_ones(self) -> Iterator[tuple[int, int]]:
        return (
            (node_id, session.session_id)
            for node_id, session in self._sessions.items()
            if session.session_id != NO_SESSION
        )


class SessionsClose:
    """Closes all sessions, to free their slots, with one request to each connected broker.

    Failures are ignored, because brokers evict idle sessions. Source: KAFKA-7109. Differs: Java waits as long as
    close() allows.
    """

    def __init__(
        self,
        sessions: FetchSessions,
        leaders: Leaders,
        fetching: Container[int],
        request_timeout_ms: int,
        *,
        now_ms: int,
        deadline_at_ms: int,
    ) -> None:
        self._request_timeout_ms = request_timeout_ms
        self._deadline_at_ms = min(deadline_at_ms, now_ms + SESSIONS_CLOSE_MS)
        self._behind_fetch_until_ms = min(deadline_at_ms, now_ms + BEHIND_FETCH_MS)
        self._fetching = fetching
        self._unsent = {node_id: each for node_id, each in sessions.open_ones() if leaders.is_connected(node_id)}
        self._pending: dict[int, int] = {}
        """Time until which each node's response is awaited."""

    def is_over(self, now_ms: int) -> bool:
        return not self._unsent and all(now_ms >= until_ms for until_ms in self._pending.values())

    def poll(self, now_ms: int) -> Poll:
        if now_ms >= self._deadline_at_ms:
            self._unsent.clear()
        requests = []
        for node_id, session_id in self._unsent.items():
            is_behind = node_id in self._fetching
            self._pending[node_id] = self._behind_fetch_until_ms if is_behind else self._deadline_at_ms
            request = FetchRequest(session_id=session_id, session_epoch=FINAL_EPOCH, max_bytes=0)
            requests.append(Outgoing(node_id, request, self._request_timeout_ms, self._on_answer))
        self._unsent.clear()
        waits_until_ms = max(self._pending.values(), default=now_ms)
        return Poll(requests, waits_until_ms if waits_until_ms > now_ms else FOREVER_MS)

    def _on_answer(self, answer: Answer) -> None:
        self._pending.pop(answer.node_id, None)


def topics_of(wanted: Mapping[TopicPartition, AskedPartition]) -> list[FetchTopic]:
    """Return the partitions in the form of a request, in order; adjacent partitions of a topic form one entry."""
    topics: list[FetchTopic] = []
    for tp, asked in wanted.items():
        if not topics or (topics[-1].topic, topics[-1].topic_id) != (tp.topic, asked.topic_id):
            topics.append(FetchTopic(topic=tp.topic, topic_id=asked.topic_id))
        topics[-1].partitions.append(
            FetchPartition(
                partition=tp.partition,
                current_leader_epoch=asked.current_leader_epoch,
                fetch_offset=asked.fetch_offset,
                last_fetched_epoch=asked.last_fetched_epoch,
                partition_max_bytes=asked.partition_max_bytes,
            )
        )
    return topics


def forgotten_of(partitions: Iterable[tuple[TopicPartition, bytes]]) -> list[ForgottenTopic]:
    topics: dict[tuple[str, bytes], ForgottenTopic] = {}
    for (name, partition), topic_id in partitions:
        topic = topics.setdefault((name, topic_id), ForgottenTopic(topic=name, topic_id=topic_id))
        topic.partitions.append(partition)
    return list(topics.values())


def all_have_ids(wanted: Mapping[TopicPartition, AskedPartition]) -> bool:
    return all(asked.topic_id != NO_TOPIC_ID for asked in wanted.values())
