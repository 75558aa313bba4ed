"""Goodbye: tells the coordinator that one member goes, again until it has heard it or the deadline has passed.

Owns when it is said; what is said differs by protocol: `leaving.py` (classic), `consumer_goodbye.py` (KIP-848). It goes
by the prompt connection, so a JoinGroup that is held back does not hold it up. Shown by
tests/sim/groups/test_deadlines.py and tests/unit/consumer/test_membership_consumer_ends.py.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import FOREVER_MS
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.schema import Request, Response
from kctl.client.requests.coordinator import PROMPT, Coordinator
from kctl.client.requests.request import Poll
from kctl.client.requests.retry import MEMBERSHIP


class Goodbye(ABC):
    """The goodbye of one member.

    Attributes: outcome: None while it is under way, then whether the group has confirmed it.
    """

    API: ClassVar[str]
    GONE: ClassVar[frozenset[int]]
    """Codes that mean that the group does not count the member any more.

    All but NONE count from the second time: a coordinator that stood still forgets its members before it learns that
    it coordinates no more, while its successor waits for them.
    """

    def __init__(
        self, coordinator: Coordinator, *, deadline_at_ms: int, request_timeout_ms: int, retry_ms: int
    ) -> None:
        self.outcome: bool | None = None
        self._coordinator = coordinator
        self._deadline_at_ms = deadline_at_ms
        self._request_timeout_ms = request_timeout_ms
        self._retry_ms = retry_ms
        self._next_at_ms = 0
        self._was_unknown = False

    @abstractmethod
    def request(self) -> Request:
        """Return what is said."""

    @abstractmethod
    def code_of(self, response: Response) -> int:
        """Return the code of an answer: of the group, or of this member."""

    def poll(self, now_ms: int) -> Poll:
        """Return the request that is due, and when to look again."""
        if self.outcome is None and (now_ms >= self._deadline_at_ms or self._coordinator.refusal is not None):
            self.outcome = False
        if self.outcome is not None:
            return Poll([])
        if self._next_at_ms > now_ms:
            return Poll([], min(self._next_at_ms, self._deadline_at_ms))
        if self._coordinator.is_doubted or not self._coordinator.ready(PROMPT):
            return Poll([], self._deadline_at_ms)
        self._next_at_ms = FOREVER_MS
        timeout_ms = min(self._request_timeout_ms, self._deadline_at_ms - now_ms)
        request = self._coordinator.outgoing(PROMPT, self.request(), timeout_ms, self._on_answer)
        return Poll([request], self._deadline_at_ms)

    def _on_answer(self, answer: Answer) -> None:
        self._next_at_ms = answer.received_at_ms + self._retry_ms
        error = answer.error
        if answer.response is not None:
            code = self.code_of(answer.response)
            if code == ErrorCode.NONE or (code in self.GONE and self._was_unknown):
                self.outcome = True
                return
            error = self._coordinator.check(code, self.API)
            if code in self.GONE and error is not None:
                self._was_unknown = True
                self._coordinator.doubt()  # whoever is named now is told again
                return
        if error is not None and not MEMBERSHIP.is_retried(error):
            self.outcome = False
