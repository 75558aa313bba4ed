"""What one node remembers of its fetchers, so that they name only what changed. Source: KIP-227.

A session holds the partitions of a fetcher, what it asked for each, and what was last sent of each. Its epoch rises
with every fetch; a fetch that names another epoch has lost an answer. It decides what is asked and what of the answer
is left out; it reads no partition. Kafka keeps eight caches with an eighth of the slots each, here there is one.
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
"""How long a session is safe, and how long an idle one is kept while others want its slot."""
_TOPIC_IDS_FROM = 13

Key = tuple[bytes | str, int]
NameOf = Callable[[bytes], str | None]


class Wanted(NamedTuple):
    """One partition of a fetch."""

    topic_id: bytes
    topic: str | None
    """None where no topic has the id."""
    asked: FetchPartition

    @property
    def key(self) -> Key:
        """What tells partitions of one session apart."""
        return _key(self.topic_id, self.topic or "", self.asked.partition)


Answer = tuple[Wanted, PartitionData]


class Answered(NamedTuple):
    """What of an answer is sent."""

    session_id: int
    answers: list[Answer]
    code: ErrorCode = ErrorCode.NONE


class _Cached:
    """One partition of a session."""

    __slots__ = ("high_watermark", "log_start_offset", "wanted")

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.high_watermark = -1
        self.log_start_offset = -1

    def is_news(self, data: PartitionData) -> bool:
        """Return whether an answer says what the fetcher does not know, and take note that it will."""
        is_refused = data.error_code != ErrorCode.NONE
        is_news = (
            bool(data.records)
            or is_refused
            or data.high_watermark != self.high_watermark
            or data.log_start_offset != self.log_start_offset
            or data.preferred_read_replica >= 0
            or data.diverging_epoch.epoch >= 0
        )
        # Behind an error, the partition is news again.
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
        """How many partitions it had when it was last used."""

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
    """One fetch, from what it asks to what of the answer is sent; this one has no session."""

    def __init__(self, wanted: list[Wanted]) -> None:
        self.wanted = wanted

    def finish(self, answers: list[Answer]) -> Answered:
        """Take the answers of all wanted partitions and return what is sent."""
        return Answered(NO_SESSION, answers)

    def throttled(self) -> Answered:
        """Return what is sent to a client that has to wait: nothing of any partition, and no new session."""
        return Answered(NO_SESSION, [])


class _Opening(FetchContext):
    """A fetch that asks for a session."""

    def __init__(self, wanted: list[Wanted], sessions: "FetchSessions", uses_topic_ids: bool) -> None:
        super().__init__(wanted)
        self._sessions = sessions
        self._uses_topic_ids = uses_topic_ids

    def finish(self, answers: list[Answer]) -> Answered:
        session = self._sessions.open(answers, self._uses_topic_ids)
        return Answered(NO_SESSION if session is None else session.session_id, answers)


class _Incremental(FetchContext):
    """A further fetch of a session."""

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
                # What was served goes to the end, so that a small limit starves no partition.
                session.partitions[wanted.key] = session.partitions.pop(wanted.key)
        return Answered(session.session_id, news)

    def throttled(self) -> Answered:
        return self.finish([])


class FetchSessions:
    """The sessions of one node."""

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
        """How many sessions there have been."""
        return self._opened

    def run_on(self, now_ms: Callable[[], int]) -> None:
        """Take time from `now_ms` from now on."""
        self._now_ms = now_ms

    def clear(self) -> None:
        """Forget all, as a broker does that starts again."""
        self._sessions.clear()

    def begin(self, request: FetchRequest, version: int, name_of: NameOf) -> FetchContext | ErrorCode:
        """Return the context of a fetch, or the error that answers it.

        Args:
            request: what was asked.
            version: of the request.
            name_of: the name of the topic that has an id, or None.
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
        """Return a new session that knows what was just sent, or None where there is no slot for it."""
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
        """Evict an idle session, or else a session that is old enough and smaller than the new one."""
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
        """Return an id that is not taken: any number but 0, the same in each run."""
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
