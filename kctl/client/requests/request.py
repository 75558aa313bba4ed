"""Poll: requests that a request manager wants to send. Protocols of request managers."""

from typing import NamedTuple, Protocol

from kctl.client.clock import FOREVER_MS
from kctl.client.errors import KafkaError
from kctl.client.network.in_flight import Outgoing


class Poll(NamedTuple):
    """Requests to send now, and the time by which to poll again."""

    requests: list[Outgoing]
    next_deadline_at_ms: int = FOREVER_MS


NOTHING_TO_SEND = Poll([])
"""Result of a manager that waits for an event or a response."""


class CallProgress(NamedTuple):
    waiting_for: str
    cause: KafkaError | None


class RequestManager(Protocol):
    def poll(self, now_ms: int) -> Poll: ...


class CallManager(RequestManager, Protocol):
    """A request manager that also finishes blocking calls."""

    def abandon(self, call_id: int) -> None:
        """Forget a call whose caller has stopped waiting; unknown ids are ignored."""
        ...

    def progress(self, call_id: int) -> CallProgress | None: ...
