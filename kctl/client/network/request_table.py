"""RequestTable: requests of callers, from the send to the callback, which runs exactly once.

It owns the request budget. It keeps requests without a response (Produce with acks=0) until the system has accepted
their bytes, and results until the end of a poll.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from kctl.client.clock import Clock
from kctl.client.errors import (
    ConnectionLost,
    KafkaError,
    ProtocolError,
    RequestBudgetError,
    RequestTimeout,
    UnsupportedVersionError,
)
from kctl.client.events import EventSink, RequestAbandoned, RequestExpired, Throttled
from kctl.client.network import connect_errors
from kctl.client.network.channel_table import ChannelTable
from kctl.client.network.connection import Arrived, Connection
from kctl.client.network.in_flight import Answer, InFlight, OnDone, Outgoing
from kctl.client.network.node_timers import NodeTimers
from kctl.client.network.nodes import NodeEntry
from kctl.client.network.refusals import Acceptance
from kctl.client.protocol.forwarding import FORWARDED

MAX_THROTTLE_MS = 60_000
"""Maximum throttle time that the client obeys.

Brokers use at most their quota window, 10s by default; a broken broker could send 24 days. Differs: Java waits for
any time.
"""


class OneWayRequest(NamedTuple):
    node_id: int
    version: int
    on_done: OnDone


class OneWayRequests:
    """Requests without a response, by channel.

    Without this class, a close right after a send would count records as delivered whose bytes never left the process.

    Args: unsent_bytes: returns the number of bytes of a channel that the system has not accepted.
    """

    def __init__(self, unsent_bytes: Callable[[int], int]) -> None:
        self._unsent_bytes = unsent_bytes
        self._by_channel: dict[int, list[OneWayRequest]] = {}

    @property
    def is_waiting(self) -> bool:
        return bool(self._by_channel)

    def add(self, connection: Connection, request: OneWayRequest) -> None:
        self._by_channel.setdefault(connection.channel, []).append(request)

    def pop_written(self) -> list[OneWayRequest]:
        if not self._by_channel:
            return []
        written = [channel for channel in self._by_channel if self._unsent_bytes(channel) == 0]
        return [request for channel in written for request in self._by_channel.pop(channel)]

    def pop_of(self, connection: Connection) -> list[OneWayRequest]:
        return self._by_channel.pop(connection.channel, [])


class RequestTable:
    """Requests of one client, except handshakes.

    Attributes:
        sent: number of requests sent so far.
        in_flight: number of requests without a response.
        throttled_until_ms: end of the last throttling by a node.
        left: number of requests that may still be sent; None for no limit.
    """

    def __init__(
        self,
        clock: Clock,
        channels: ChannelTable,
        timers: NodeTimers,
        acceptance: Acceptance,
        events: EventSink,
        *,
        request_timeout_ms: int,
    ) -> None:
        self.sent = self.in_flight = 0
        self.throttled_until_ms = 0
        self.left: int | None = None
        self._clock = clock
        self._channels = channels
        self._timers = timers
        self._acceptance = acceptance
        self._events = events
        self._request_timeout_ms = request_timeout_ms
        self._one_way = OneWayRequests(channels.unsent_bytes)
        self._ended: deque[tuple[OnDone, Answer]] = deque()

    @property
    def is_writing(self) -> bool:
        return self._one_way.is_waiting

    @property
    def has_ended(self) -> bool:
        return bool(self._ended)

    def send(self, entry: NodeEntry | None, outgoing: Outgoing) -> None:
        node_id = outgoing.node_id
        connection = None if entry is None else entry.connection
        if entry is None or connection is None or connection.versions is None:
            lost = ConnectionLost(f"broker {node_id} is not connected")
            self._end(outgoing.on_done, Answer(node_id, None, lost, -1, 0, was_sent=False))
            return
        now_ms = self._clock.now_ms()
        if self.left is not None and self.left <= 0:
            text = f"cannot send {outgoing.request.NAME}: the request budget is exhausted"
            spent = RequestBudgetError(text)
            self._end(outgoing.on_done, Answer(node_id, None, spent, -1, now_ms, was_sent=False))
            return
        version = -1
        try:
            version = connection.versions.choose(type(outgoing.request), outgoing.max_version)
            self._put(entry, connection, outgoing, version, now_ms)
        except UnsupportedVersionError as unspoken:
            named = connect_errors.not_spoken(connection.target, unspoken, connection.versions)
            self._end(outgoing.on_done, Answer(node_id, None, named, version, now_ms, was_sent=False))
            return
        except ProtocolError as misuse:
            self._end(outgoing.on_done, Answer(node_id, None, misuse, version, now_ms, was_sent=False))
            return
        self.sent += 1
        if self.left is not None:
            self.left -= 1
        self._channels.flush(connection)
        self.end_written()

    def _put(self, entry: NodeEntry, connection: Connection, outgoing: Outgoing, version: int, now_ms: int) -> None:
        if not outgoing.expect_response:
            connection.send_unanswered(outgoing.request, version, now_ms)
            self._one_way.add(connection, OneWayRequest(outgoing.node_id, version, outgoing.on_done))
            return
        deadline_at_ms = self._clock.start_ms() + outgoing.timeout_ms
        connection.send(
            outgoing.request,
            version,
            now_ms=now_ms,
            deadline_at_ms=deadline_at_ms,
            on_done=outgoing.on_done,
            wanted_until_ms=outgoing.wanted_until_ms,
        )
        self.in_flight += 1
        self._timers.note(entry, min(deadline_at_ms, outgoing.wanted_until_ms))

    # --- results ------------------------------------------------------------------------------------------------------

    def answered(self, entry: NodeEntry, connection: Connection, arrived: list[Arrived], now_ms: int) -> None:
        for request, response in arrived:
            self.in_flight -= 1
            self._acceptance.answered(entry.node.node_id)
            throttle_ms: int = getattr(response, "throttle_time_ms", 0)
            if throttle_ms > 0:
                throttle_ms = min(throttle_ms, MAX_THROTTLE_MS)
                entry.throttled_until_ms = max(entry.throttled_until_ms, now_ms + throttle_ms)
                self.throttled_until_ms = max(self.throttled_until_ms, entry.throttled_until_ms)
                self._timers.note(entry, entry.throttled_until_ms)
                connection.in_flight.throttled(throttle_ms)
                self._events(Throttled(now_ms, connection.target, request.api, throttle_ms))
            assert request.on_done is not None
            self._end(request.on_done, Answer(entry.node.node_id, response, None, request.version, now_ms))

    def end_written(self) -> None:
        for node_id, version, on_done in self._one_way.pop_written():
            self._end(on_done, Answer(node_id, None, None, version, self._clock.now_ms()))

    def expire(self, connection: Connection, now_ms: int) -> RequestTimeout | None:
        """Report expired requests; return an error if one of them must end the connection.

        If only the call of a request has ended, the request is reported as abandoned, and stays in flight.
        """
        target = connection.target
        request = connection.in_flight.expired(now_ms)
        if request is None:
            for each in connection.in_flight.pop_abandoned(now_ms):
                waited_ms = now_ms - each.sent_at_ms
                self._events(RequestAbandoned(now_ms, target, each.api, each.correlation_id, waited_ms))
            return None
        limit_ms = request.deadline_at_ms - request.sent_at_ms
        self._events(RequestExpired(now_ms, target, request.api, request.correlation_id, limit_ms))
        waiting_for = f"waiting for the {request.api} response from {target}"
        is_rest = limit_ms < self._request_timeout_ms
        elapsed_ms = now_ms - request.sent_at_ms
        error = RequestTimeout(waiting_for, timeout_ms=limit_ms, elapsed_ms=elapsed_ms, is_rest=is_rest)
        error.address = target.place
        error.forwarded = request.api if request.api in FORWARDED else ""
        return error

    def fail(self, connection: Connection, orphans: list[InFlight], node_id: int, error: KafkaError) -> None:
        now_ms = self._clock.now_ms()
        for unwritten in self._one_way.pop_of(connection):
            self._end(unwritten.on_done, Answer(node_id, None, error, unwritten.version, now_ms))
        self.in_flight -= len(orphans)
        for request in orphans:
            assert request.on_done is not None
            self._end(request.on_done, Answer(node_id, None, error, request.version, now_ms))

    def call_back(self) -> None:
        """Run the callbacks of ended requests, but not of requests that end in the meantime."""
        for _ in range(len(self._ended)):
            on_done, answer = self._ended.popleft()
            on_done(answer)

    def _end(self, on_done: OnDone, answer: Answer) -> None:
        self._ended.append((on_done, answer))
