"""Client telemetry of one node: client IDs, times of requests, and checks. Source: KIP-714.

Without subscriptions, the node requests no metrics and rejects early pushes.
"""

from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.schema import ZERO_UUID
from kctl.sandbox.uuids import stable_uuid

PUSH_INTERVAL_MS = 300_000
MAX_BYTES = 1_048_576
ACCEPTED_COMPRESSION = (4, 3, 1, 2)
"""Codec numbers of zstd, lz4, gzip, and snappy, in order of preference."""
_CODECS = 5
_RESERVED = (ZERO_UUID, b"\0" * 15 + b"\1")
_REMEMBERED = 16_384


class TelemetryRefused(Exception):
    """Rejected request; `code` is sent to the client."""

    def __init__(self, code: ErrorCode, why: str) -> None:
        super().__init__(why)
        self.code = code


class Push(NamedTuple):
    client_id: bytes
    subscription_id: int
    is_terminating: bool
    compression: int
    size_bytes: int


class _Client:
    __slots__ = ("got_at_ms", "is_terminating", "pushed_at_ms")

    def __init__(self) -> None:
        self.got_at_ms: int | None = None
        self.pushed_at_ms: int | None = None
        self.is_terminating = False


class Telemetry:
    def __init__(self, node_id: int) -> None:
        self._node_id = node_id
        self._made = 0
        self._clients: dict[bytes, _Client] = {}

    def new_client_id(self) -> bytes:
        self._made += 1
        return stable_uuid(f"telemetry/{self._node_id}/{self._made}")

    def subscribe(self, client_id: bytes, now_ms: int) -> int:
        client = self._client(client_id)
        asked = [at_ms for at_ms in (client.got_at_ms, client.pushed_at_ms) if at_ms is not None]
        if asked and now_ms - max(asked) < PUSH_INTERVAL_MS:
            raise TelemetryRefused(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "the push interval has not elapsed yet")
        client.got_at_ms = now_ms
        return _subscription_id(client_id)

    def push(self, push: Push, now_ms: int) -> None:
        if push.client_id in _RESERVED:
            raise TelemetryRefused(ErrorCode.INVALID_REQUEST, "the request has no client instance ID")
        client = self._client(push.client_id)
        had_ended, client.is_terminating = client.is_terminating, push.is_terminating
        if had_ended:
            raise TelemetryRefused(ErrorCode.INVALID_REQUEST, "the client already sent its last push")
        if not self._may_push(client, now_ms) and not push.is_terminating:
            raise TelemetryRefused(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "the push interval has not elapsed yet")
        _check_form(push)

    def _may_push(self, client: _Client, now_ms: int) -> bool:
        before = client.pushed_at_ms
        has_asked = client.got_at_ms is not None and (before is None or client.got_at_ms > before)
        may = before is None or has_asked or now_ms - before >= PUSH_INTERVAL_MS
        if may:
            client.pushed_at_ms = now_ms
        return may

    def _client(self, client_id: bytes) -> _Client:
        client = self._clients.pop(client_id, None) or _Client()
        self._clients[client_id] = client
        if len(self._clients) > _REMEMBERED:
            del self._clients[next(iter(self._clients))]
        return client


def _check_form(push: Push) -> None:
    if push.subscription_id != _subscription_id(push.client_id):
        raise TelemetryRefused(ErrorCode.UNKNOWN_SUBSCRIPTION_ID, f"subscription {push.subscription_id}")
    if not 0 <= push.compression < _CODECS:
        raise TelemetryRefused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"codec {push.compression}")
    if push.size_bytes > MAX_BYTES:
        raise TelemetryRefused(
            ErrorCode.TELEMETRY_TOO_LARGE,
            f"the metrics have {push.size_bytes} bytes, more than the limit of {MAX_BYTES}",
        )


def _subscription_id(client_id: bytes) -> int:
    return int.from_bytes(stable_uuid(f"subscription/{client_id.hex()}")[:4], "big", signed=True)
