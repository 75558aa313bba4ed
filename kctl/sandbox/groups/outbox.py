"""Who asked, and answers on their way out: a group first finishes what it does, then its answers leave, in order.

An answer may let the next request of the same client in at once, so it must not leave while a group is half changed.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from kctl.client.broker_errors import ErrorCode


class Refused(Exception):
    """A request is refused and has changed nothing; `code` and `message` go to the client."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or code.text)
        self.code = code
        self.message = message


class Asker(NamedTuple):
    """Who waits for an answer."""

    client_id: str
    version: int
    """Of the request."""
    answer: Callable[[Any], None]
    """Takes the response; called once."""


class Outbox:
    """Answers that leave at the end of a `with` block."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Asker, Any]] = deque()

    def post(self, asker: Asker, response: object) -> None:
        """Have `response` leave at the end of the block."""
        self._waiting.append((asker, response))

    def __enter__(self) -> "Outbox":
        return self

    def __exit__(self, *_: object) -> None:
        while self._waiting:
            asker, response = self._waiting.popleft()
            asker.answer(response)
