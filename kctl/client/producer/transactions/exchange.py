"""Exchange: one request at a time to a coordinator, repeated until it is answered for good.

Owns what is in flight and the pauses between attempts; what is asked, and what follows from an error, is its user's.
Owned by the network loop. Shown by tests/unit/producer/transactions/test_transactions.py.
"""

from collections.abc import Callable
from typing import NamedTuple

from kctl.client.backoff import ExponentialBackoff
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import FOREVER_MS, Clock
from kctl.client.errors import BrokerError, KafkaError
from kctl.client.network.in_flight import Answer
from kctl.client.producer.transactions.error_table import Meaning, meaning
from kctl.client.protocol.schema import Request, Response
from kctl.client.requests.coordinator import Coordinator

CONCURRENT_RETRY_MS = 20
"""The end of the transaction before takes the coordinator a moment; Java looks again as soon."""


class Asked(NamedTuple):
    """A request, and what to do with its answer.

    Attributes:
        read: returns the error that an answer holds, if any.
        done: gets the answer that holds none.
    """

    request: Request
    read: Callable[[Response], KafkaError | None]
    done: Callable[[Response], None]
    max_version: int | None = None


class Exchange:
    """The requests to one coordinator.

    Args:
        failed: gets an error that no repeat cures, and what it means.
        unanswered: gets the name of an API whose request ended without an answer: it may have been done or not.
    Attributes: `api`: what is in flight, else empty; `last_error`: why the latest attempt failed.
    """

    def __init__(
        self,
        link: Coordinator,
        clock: Clock,
        backoff: ExponentialBackoff,
        failed: Callable[[KafkaError, Meaning], None],
        unanswered: Callable[[str], None],
    ) -> None:
        self.link = link
        self.api = ""
        self.last_error: KafkaError | None = None
        self._clock = clock
        self._backoff = backoff
        self._failed = failed
        self._unanswered = unanswered
        self._attempts = 0
        self._retry_at_ms = 0

    def can_send(self) -> bool:
        """Return whether a request can be sent now; if not, work towards it."""
        return not self.api and self._clock.now_ms() >= self._retry_at_ms and self.link.ready()

    def send(self, asked: Asked) -> None:
        """Send; whoever still wants an answer sends again when this one was in vain."""
        self.api = asked.request.NAME
        self.link.send(asked.request, lambda answer: self._on_answer(asked, answer), asked.max_version)

    def next_deadline_ms(self) -> int:
        """Return when the pause after a failed attempt ends."""
        return self._retry_at_ms if self._retry_at_ms > self._clock.now_ms() else FOREVER_MS

    def _on_answer(self, asked: Asked, answer: Answer) -> None:
        api, self.api = self.api, ""
        error = answer.error
        if answer.response is not None:
            code = getattr(answer.response, "error_code", ErrorCode.NONE)
            error = broker_error(code, api) if code != ErrorCode.NONE else asked.read(answer.response)
        else:
            self._unanswered(api)
        if error is None:
            assert answer.response is not None
            self._attempts, self.last_error = 0, None
            self.link.answered()
            asked.done(answer.response)
            return
        self.last_error = error
        follows = meaning(api, error)
        if follows is Meaning.ELSEWHERE:
            self.link.lost(error)
        self.pause(error)
        if follows in (Meaning.ABORTABLE, Meaning.FATAL, Meaning.REFUSED):
            self._failed(error, follows)

    def pause(self, error: KafkaError) -> None:
        """Wait before the next attempt."""
        pause_ms = self._backoff.backoff_ms(self._attempts)
        if isinstance(error, BrokerError) and error.code == ErrorCode.CONCURRENT_TRANSACTIONS:
            pause_ms = min(pause_ms, CONCURRENT_RETRY_MS)
        self._attempts += 1
        self._retry_at_ms = self._clock.now_ms() + pause_ms
