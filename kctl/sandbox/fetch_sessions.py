"""Fetch sessions of one node. Source: KIP-227.

A session has the partitions of a consumer and the state that was last sent for each. Its epoch increases with each
fetch. If a request has another epoch, a response was lost. Kafka divides the slots among eight caches. Unlike Kafka,
the sandbox has one cache.
"""

import zlib
from collections.abc import Callable
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, PartitionData
from kctl.client.protocol.schema import ZERO_UUID

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_GREATEST = 2**31 - 1
EVICTION_MS = 120_000
"""Idle time after which a session can be evicted, and age after which a larger one can replace it, in ms."""
_TOPIC_IDS_FROM = 13

Key = tuple[bytes | str, int]
NameOf = Callable[[bytes], str | None]


class Wanted(NamedTuple):
    topic_id: bytes
    topic: str | None
    """Topic name, or None if no topic has the requested ID."""
    asked: FetchPartition

    @property
    def key(self) -> Key:
        return _key(self.topic_id, self.topic or "", self.asked.partition)


Answer = tuple[Wanted, PartitionData]


class Answered(NamedTuple):
    """Session and partitions of a fetch response."""

    session_id: int
    answers: list[Answer]
    code: ErrorCode = ErrorCode.NONE


class _Cached:
    __slots__ = ("high_watermark", "log_start_offset", "wanted")

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.high_watermark = -1
        self.log_start_offset = -1

    def is_news(self, data: PartitionData) -> bool:
        """Store a response as sent, and return whether it differs for the consumer from the previous one."""
        is_refused = data.error_code != ErrorCode.NONE
        is_news = (
            bool(data.records)
            or is_refused
            or data.high_watermark != self.high_watermark
            or data.log_start_offset != self.log_start_offset
            or data.preferred_read_replica >= 0
            or data.diverging_epoch.epoch >= 0
        )
        # after an error, the partition is news again
        self.high_watermark = -1 if is_refused else data.high_watermark
        self.log_start_offset = data.log_start_offset
        return is_news


class _Session:
    __slots__ = ("created_at_ms", "epoch", "partitions", "session_id", "size", "used_at_ms", "uses_topic_ids")

    def __init__(self, session_id: int, uses_topic_ids: bool, now_ms: int) -> None:
        self.session_id = session_id
        self.epoch = 1
        self.uses_topic_ids = uses_topic_ids
        self.created_at_ms = self.used_at_ms = now_ms
        self.partitions: dict[Key, _Cached] = {}
        self.size = 0
        """Number of partitions at the last use."""

    def change(self, wanted: list[Wanted], forgotten: list[Key]) -> None:
        for one in wanted:
            known = self.partitions.get(one.key)
            if known is None:
                self.partitions[one.key] = _Cached(one)
            else:
                known.wanted = known.wanted._replace(asked=one.asked)
        for key in forgotten:
            self.partitions.pop(key, None)


class FetchContext:
    """A fetch without a session, from its partitions to its response."""

    def __init__(self, wanted: list[Wanted]) -> None:
        self.wanted = wanted

    def finish(self, answers: list[Answer]) -> Answered:
        return Answered(NO_SESSION, answers)

    def throttled(self) -> Answered:
        return Answered(NO_SESSION, [])


class _Opening(FetchContext):
    def __init__(self, wanted: list[Wanted], sessions: "FetchSessions", uses_topic_ids: bool) -> None:
        super().__init__(wanted)
        self._sessions = sessions
        self._uses_topic_ids = uses_topic_ids

    def finish(self, answers: list[Answer]) -> Answered:
        session = self._sessions.open(answers, self._uses_topic_ids)
        return Answered(NO_SESSION if session is None else session.session_id, answers)


class _Incremental(FetchContext):
    def __init__(self, session: _Session, name_of: NameOf) -> None:
        self._session = session
        self._epoch = session.epoch
        for cached in session.partitions.values():
            if cached.wanted.topic is None:
                cached.wanted = cached.wanted._replace(topic=name_of(cached.wanted.topic_id))
        super().__init__([cached.wanted for cached in session.partitions.values()])

    def finish(self, answers: list[Answer]) -> Answered:
        session = self._session
        if session.epoch != self._epoch:
            return Answered(session.session_id, [], ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        news = []
        for wanted, data in answers:
            cached = session.partitions.get(wanted.key)
            if cached is None or not cached.is_news(data):
                continue
            news.append((wanted, data))
            if data.records:
                # move served partitions to the end, so that a small limit starves no partition
                session.partitions[wanted.key] = session.partitions.pop(wanted.key)
        return Answered(session.session_id, news)

    def throttled(self) -> Answered:
        return self.finish([])


class FetchSessions:
    def __init__(self, node_id: int, slots: int) -> None:
        self._node_id = node_id
        self._slots = slots
        self._made = 0
        self._opened = 0
        self._now_ms: Callable[[], int] = lambda: 0
        self._sessions: dict[int, _Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def opened(self) -> int:
        return self._opened

    def run_on(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms

    def clear(self) -> None:
        self._sessions.clear()

    def begin(self, request: FetchRequest, version: int, name_of: NameOf) -> FetchContext | ErrorCode:
        """Return the context of a fetch, or an error.

        Args:
            name_of: returns a topic's name by ID, or None.
        """
        uses_topic_ids = version >= _TOPIC_IDS_FROM
        wanted = _wanted(request, uses_topic_ids, name_of)
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._sessions.pop(request.session_id, None)
            if request.session_epoch == FINAL_EPOCH:
                return FetchContext(wanted)
            return _Opening(wanted, self, uses_topic_ids)
        session = self._sessions.get(request.session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != request.session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.uses_topic_ids != uses_topic_ids:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        session.change(wanted, _forgotten(request))
        if not session.partitions:
            del self._sessions[session.session_id]
            return FetchContext(wanted)
        session.used_at_ms = self._now_ms()
        session.size = len(session.partitions)
        session.epoch = 1 if session.epoch == _GREATEST else session.epoch + 1
        return _Incremental(session, name_of)

    def open(self, answers: list[Answer], uses_topic_ids: bool) -> _Session | None:
        """Return a new session with the sent state, or None if there is no free slot."""
        if len(self._sessions) >= self._slots and not self._evict_for(len(answers)):
            return None
        session = _Session(self._new_id(), uses_topic_ids, self._now_ms())
        for wanted, data in answers:
            cached = session.partitions[wanted.key] = _Cached(wanted)
            cached.is_news(data)
        session.size = len(session.partitions)
        self._sessions[session.session_id] = session
        self._opened += 1
        return session

    def _evict_for(self, size: int) -> bool:
        """Evict an idle session, otherwise an old one smaller than `size`. Return whether a slot is free."""
        if not self._sessions:
            return False
        idlest = min(self._sessions.values(), key=lambda session: session.used_at_ms)
        if self._now_ms() - idlest.used_at_ms > EVICTION_MS:
            del self._sessions[idlest.session_id]
            return True
        old = [one for one in self._sessions.values() if one.used_at_ms - one.created_at_ms > EVICTION_MS]
        least = min(old, key=lambda session: (session.size, session.session_id), default=None)
        if least is None or least.size >= size:
            return False
        del self._sessions[least.session_id]
        return True

    def _new_id(self) -> int:
        while True:
            self._made += 1
            session_id = zlib.crc32(f"{self._node_id}/{self._made}".encode()) & _GREATEST
            if session_id != NO_SESSION and session_id not in self._sessions:
                return session_id


def _key(topic_id: bytes, topic: str, partition: int) -> Key:
    return (topic if topic_id == ZERO_UUID else topic_id), partition


def _wanted(request: FetchRequest, uses_topic_ids: bool, name_of: NameOf) -> list[Wanted]:
    found: dict[Key, Wanted] = {}
    for topic in request.topics:
        name = name_of(topic.topic_id) if uses_topic_ids else topic.topic
        for asked in topic.partitions:
            one = Wanted(topic.topic_id if uses_topic_ids else ZERO_UUID, name, asked)
            found[one.key] = one
    return list(found.values())


def _forgotten(request: FetchRequest) -> list[Key]:
    return [
        _key(topic.topic_id, topic.topic, index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    ]
