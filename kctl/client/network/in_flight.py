"""Requests that were sent and not answered yet, and the answers. Shown by tests/unit/network/test_connection.py."""

from collections.abc import Callable
from typing import NamedTuple

from kctl.client.clock import FOREVER_MS
from kctl.client.errors import KafkaError
from kctl.client.protocol.schema import Response


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
