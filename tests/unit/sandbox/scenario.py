"""The broker core on plain lists: a scheduler that is moved by hand, wires that remember, batches made byte by byte."""

import heapq
import struct
from collections.abc import Callable, Sequence
from itertools import count
from random import Random
from typing import TypeVar

from kctl.client.clock import ManualClock
from kctl.client.protocol.framing import FrameReader
from kctl.client.protocol.schema import Request, Response
from kctl.client.records._hot.crc32c import crc32c
from kctl.sandbox.node import ListenerSecurity
from kctl.sandbox.sandbox import Sandbox
from kctl.sandbox.settings import ClusterSettings
from tests.support.frames import decode_response, encode_request

R = TypeVar("R", bound=Response)

WALL_MS = 1_700_000_000_000


class _Timer:
    def __init__(self, action: Callable[[], None]) -> None:
        self.action = action
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class ManualScheduler(ManualClock):
    """Scheduler whose time moves only with `advance`, which runs due timers."""

    def __init__(self) -> None:
        super().__init__(wall_ms=WALL_MS)
        self._timers: list[tuple[int, int, _Timer]] = []
        self._numbers = count()

    def call_later(self, delay_ms: int, action: Callable[[], None]) -> _Timer:
        timer = _Timer(action)
        heapq.heappush(self._timers, (self.now_ms() + delay_ms, next(self._numbers), timer))
        return timer

    def advance(self, ms: int) -> None:
        end_ms = self.now_ms() + ms
        while self._timers and self._timers[0][0] <= end_ms:
            at_ms, _, timer = heapq.heappop(self._timers)
            super().advance(at_ms - self.now_ms())
            if not timer.is_cancelled:
                timer.action()
        super().advance(end_ms - self.now_ms())

    @property
    def pending(self) -> int:
        """Return the number of pending timers."""
        return sum(not timer.is_cancelled for _, _, timer in self._timers)


class WireLog:
    """Remembers what the broker did to a connection."""

    def __init__(self) -> None:
        self.written = b""
        self.is_closed = False
        self.is_reset = False
        self.pauses: list[bool] = []
        self.is_full = False
        self.is_gone = False

    def write(self, data: bytes) -> None:
        assert not self.is_closed
        self.written += data

    def close(self) -> None:
        self.is_closed = True

    def reset(self) -> None:
        self.is_reset = True

    def pause_reading(self, is_paused: bool) -> None:
        if is_paused != (self.pauses[-1:] == [True]):
            self.pauses.append(is_paused)


class NotRandom:
    """Entropy that repeats."""

    def __init__(self) -> None:
        self._rng = Random(1)

    def token_bytes(self, count: int) -> bytes:
        return self._rng.randbytes(count)


class Client:
    """One connection to one node, in messages."""

    def __init__(self, sandbox: Sandbox, node_id: int) -> None:
        self.wire = WireLog()
        self.end = sandbox.listeners[node_id].accept(self.wire)
        self._correlation_ids = count(1)
        self._reader = FrameReader(1 << 30)
        self._read = 0
        self._frames: list[bytes] = []

    def send(self, request: Request, version: int) -> int:
        """Send a request and return its correlation id."""
        correlation_id = next(self._correlation_ids)
        self.end.receive(encode_request(request, version, correlation_id, "bench"))
        return correlation_id

    @property
    def frames(self) -> list[bytes]:
        """The responses that have arrived and were not taken."""
        fresh, self._read = self.wire.written[self._read :], len(self.wire.written)
        self._frames += self._reader.feed(fresh)
        return self._frames

    def take(self, response: type[R], version: int, correlation_id: int) -> R:
        """Return the next response, which must have this correlation ID."""
        assert self.frames, "no answer"
        got_id, message = decode_response(response, self.frames.pop(0), version)
        assert got_id == correlation_id
        return message

    def call(self, request: Request, response: type[R], version: int = -1) -> R:
        """Send a request and return its immediate response; -1 is the highest version."""
        if version == -1:
            version = request.VALID_VERSIONS[1] - request.LATEST_VERSION_UNSTABLE
        return self.take(response, version, self.send(request, version))


class Scenario:
    """A sandbox of the core alone."""

    def __init__(
        self,
        nodes: int = 1,
        topics: dict[str, int] | None = None,
        settings: ClusterSettings | None = None,
        security: ListenerSecurity | None = None,
        racks: Sequence[str] | None = None,
    ) -> None:
        self.sandbox = Sandbox(nodes, topics=topics, settings=settings, security=security, racks=racks)
        self.scheduler = ManualScheduler()
        for node in self.sandbox.cluster.nodes.values():
            node.host, node.port = f"10.0.0.{node.node_id}", 9092
        self.sandbox.run_on(self.scheduler, NotRandom())
        self.cluster = self.sandbox.cluster

    def connect(self, node_id: int = 1) -> Client:
        """Return a new connection."""
        return Client(self.sandbox, node_id)

    def topic_id(self, name: str) -> bytes:
        """Return the id of a topic."""
        return self.cluster.topics[name].topic_id


def _varint(number: int) -> bytes:
    zigzag = (number << 1) ^ (number >> 63)
    out = bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])


def _sized(data: bytes | None) -> bytes:
    return _varint(-1) if data is None else _varint(len(data)) + data


def records_of(
    values: Sequence[bytes | None], timestamps_ms: Sequence[int], keys: Sequence[bytes | None] | None = None
) -> bytes:
    """Return the encoded, uncompressed records of a batch."""
    parts = []
    keys = keys or [None] * len(values)
    for index, (key, value, timestamp_ms) in enumerate(zip(keys, values, timestamps_ms, strict=True)):
        body = b"\0" + _varint(timestamp_ms - timestamps_ms[0]) + _varint(index)
        body += _sized(key) + _sized(value) + _varint(0)
        parts.append(_varint(len(body)) + body)
    return b"".join(parts)


def batch(
    *values: bytes | None,
    timestamps_ms: Sequence[int] | None = None,
    keys: Sequence[bytes | None] | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
    attributes: int = 0,
    count: int | None = None,
    last_offset_delta: int | None = None,
    payload: bytes | None = None,
    magic: int = 2,
) -> bytes:
    """Return a record batch as a producer makes it; the rest of the arguments makes wrong ones."""
    stamps = list(timestamps_ms or [WALL_MS] * len(values))
    count = len(values) if count is None else count
    delta = count - 1 if last_offset_delta is None else last_offset_delta
    checked = struct.pack(">hiqqqhii", attributes, delta, stamps[0], max(stamps), *producer, count)
    checked += records_of(values, stamps, keys) if payload is None else payload
    crc = crc32c(checked)
    return struct.pack(">qiibI", 0, len(checked) + 9, -1, magic, crc) + checked
