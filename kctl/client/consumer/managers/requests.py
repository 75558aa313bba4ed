"""What every request manager speaks: requests to send, and when to ask again. Values only."""

from typing import NamedTuple, Protocol

from kctl.client.clock import FOREVER_MS
from kctl.client.errors import KafkaError
from kctl.client.network.in_flight import Outgoing

__all__ = ["CallManager", "Outgoing", "Poll", "Progress", "RequestManager"]


class Poll(NamedTuple):
    """What a manager wants: requests sent now, and to be polled again at an instant at the latest."""

    requests: list[Outgoing]
    next_deadline_at_ms: int = FOREVER_MS


class Progress(NamedTuple):
    """What an unfinished call waits for, and the last error on the way."""

    waiting_for: str
    cause: KafkaError | None


class RequestManager(Protocol):
    """The shape of a manager."""

    def poll(self, now_ms: int) -> Poll:
        """Return the requests that can be sent now and the next instant at which this must be polled again."""
        ...


class CallManager(RequestManager, Protocol):
    """A manager that also answers blocking calls."""

    def abandon(self, call_id: int) -> None:
        """Forget a call that nobody waits for; unknown ids are ignored."""
        ...

    def progress(self, call_id: int) -> Progress | None:
        """Return what that call waits for, or None when it is not this manager's."""
        ...
