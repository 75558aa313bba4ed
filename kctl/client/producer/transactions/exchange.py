"""Exchange: one request at a time to a coordinator, retried until a final response. The network loop owns it."""

from collections.abc import Callable
from typing import NamedTuple

from kctl.client.backoff import ExponentialBackoff
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import FOREVER_MS, Clock
from kctl.client.errors import KafkaError
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.schema import Request, Response
from kctl.client.requests.coordinator import Coordinator
from kctl.client.requests.retry import RULES, Decision, RetryPause

ACTIONS = {
    "InitProducerId": "obtain a producer id",
    "AddPartitionsToTxn": "add partitions to the transaction",
    "AddOffsetsToTxn": "add offsets to the transaction",
    "TxnOffsetCommit": "commit offsets in the transaction",
    "EndTxn": "end the transaction",
}
"""Action of each request, for error messages."""


class TransactionRequest(NamedTuple):
    """A request. `done` gets a response without an error; `read`, if given, returns the error in a response."""

    request: Request
    done: Callable[[Response], None]
    read: Callable[[Response], KafkaError | None] | None = None
    max_version: int | None = None


class Exchange:
    """Requests to one coordinator.

    Args:
        failed: gets an error that a retry cannot resolve, and the decision on it.
        response_lost: gets the API name of a request without a response.
    Attributes: api: name of the request in flight, or empty.
    """

    def __init__(
        self,
        link: Coordinator,
        clock: Clock,
        backoff: ExponentialBackoff,
        failed: Callable[[KafkaError, Decision], None],
        response_lost: Callable[[str], None],
    ) -> None:
        self.link = link
        self.api = ""
        self.last_error: KafkaError | None = None
        self._clock = clock
        self._pause = RetryPause(backoff)
        self._failed = failed
        self._response_lost = response_lost

    def can_send(self) -> bool:
        """Return whether a request can be sent now; if not, find the coordinator or connect."""
        return not self.api and self._clock.now_ms() >= self._pause.until_ms and self.link.ready()

    def send(self, asked: TransactionRequest) -> None:
        """Send a request. After a failed attempt, the caller may send it again."""
        self.api = asked.request.NAME
        self.link.send(asked.request, lambda answer: self._on_answer(asked, answer), asked.max_version)

    def next_deadline_at_ms(self) -> int:
        return self._pause.until_ms if self._pause.until_ms > self._clock.now_ms() else FOREVER_MS

    def _on_answer(self, asked: TransactionRequest, answer: Answer) -> None:
        api, self.api = self.api, ""
        error = answer.error
        if answer.response is not None:
            code = getattr(answer.response, "error_code", ErrorCode.NONE)
            error = broker_error(code, ACTIONS[api]) if code else asked.read and asked.read(answer.response)
        else:
            self._response_lost(api)
        if error is None:
            assert answer.response is not None
            self._pause.succeeded()
            self.last_error = None
            self.link.answered()
            asked.done(answer.response)
            return
        self.last_error = error
        decision = RULES[api].decide(error)
        if decision is Decision.COORDINATOR:
            self.link.lost(error)
        self.pause(error)
        if decision in (Decision.ABORT, Decision.FATAL, Decision.FAIL):
            self._failed(error, decision)

    def pause(self, error: KafkaError) -> None:
        self._pause.failed(self._clock.now_ms(), error)
