"""Requests that were sent and not answered yet, and the answers. Shown by tests/unit/network/test_connection.py."""

from collections.abc import Callable
from typing import NamedTuple

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
    """One request on the wire; it has until `deadline_at_ms`."""

    __slots__ = ("api", "correlation_id", "deadline_at_ms", "on_done", "response_cls", "sent_at_ms", "version")

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
    ) -> None:
        self.api = api
        self.version = version
        self.correlation_id = correlation_id
        self.response_cls = response_cls
        self.sent_at_ms = sent_at_ms
        self.deadline_at_ms = deadline_at_ms
        self.on_done = on_done
        """None for the requests of the handshake, which are answered to the connection itself."""
