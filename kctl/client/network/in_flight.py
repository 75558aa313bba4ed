"""Requests to send, requests in flight, and how they ended. Shown by tests/unit/network/test_connection.py."""

from collections.abc import Callable
from typing import NamedTuple

from kctl.client.clock import FOREVER_MS
from kctl.client.errors import KafkaError
from kctl.client.protocol.schema import Request, Response


class Answer(NamedTuple):
    """How a request ended: exactly one of `response` and `error` is set.

    `was_sent`: False only where certainly no byte of the request was given to a connection.
    """

    node_id: int
    response: Response | None
    error: KafkaError | None
    version: int
    received_at_ms: int
    was_sent: bool = True


OnDone = Callable[[Answer], None]


class Outgoing(NamedTuple):
    """A request for a node that is ready; `on_done` gets its answer exactly once.

    Attributes:
        timeout_ms: how long it may stay on the wire: request.timeout.ms, for look-ups also when the call ends before.
            Its end takes the connection along (docs/decisions/0008).
        max_version: the newest version the caller can use, if not the newest declared.
        is_for_any: any broker can answer it, so others are asked too when that one is silent.
        wanted_until_ms: when the call ends that looks something up, if the connection is to outlive it: the request is
            then reported as abandoned, and stays in flight for the rest of `timeout_ms`.
        expect_response: False for Produce with acks=0; `on_done` then gets neither response nor error, once the system
            has taken the bytes.
    """

    node_id: int
    request: Request
    timeout_ms: int
    on_done: OnDone
    max_version: int | None = None
    is_for_any: bool = False
    wanted_until_ms: int = FOREVER_MS
    expect_response: bool = True


class InFlight:
    """One request on the wire.

    Attributes:
        deadline_at_ms: when it expires, which ends its connection.
        wanted_until_ms: when the call that made it ends, where that leaves the connection open (docs/decisions/0008).
    """

    __slots__ = (
        "api",
        "correlation_id",
        "deadline_at_ms",
        "on_done",
        "response_cls",
        "sent_at_ms",
        "version",
        "wanted_until_ms",
    )

    def __init__(
        self,
        *,
        api: str,
        version: int,
        correlation_id: int,
        response_cls: type[Response],
        sent_at_ms: int,
        deadline_at_ms: int,
        on_done: OnDone | None,
        wanted_until_ms: int = FOREVER_MS,
    ) -> None:
        self.api = api
        self.version = version
        self.correlation_id = correlation_id
        self.response_cls = response_cls
        self.sent_at_ms = sent_at_ms
        self.deadline_at_ms = deadline_at_ms
        self.wanted_until_ms = wanted_until_ms
        self.on_done = on_done
        """None for the requests of the handshake, which are answered to the connection itself."""
