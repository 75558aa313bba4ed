"""Poll: what a request manager returns when it is polled: requests to send, and when to poll it again. Values only."""

from typing import NamedTuple, Protocol

from kctl.client.clock import FOREVER_MS
from kctl.client.errors import KafkaError
from kctl.client.network.in_flight import Outgoing


class Poll(NamedTuple):
    """The requests to send now, and the instant at which the manager wants to be polled again at the latest."""

    requests: list[Outgoing]
    next_deadline_at_ms: int = FOREVER_MS


class CallProgress(NamedTuple):
    """What an unfinished call waits for, and its last error so far."""

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
        """Forget a call whose caller has stopped waiting; unknown ids are ignored."""
        ...

    def progress(self, call_id: int) -> CallProgress | None:
        """Return what that call waits for, or None when it is not this manager's."""
        ...
