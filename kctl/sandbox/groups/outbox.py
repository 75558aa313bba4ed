"""Responses that are sent after a group has completed its changes.

A response may immediately trigger a request, which must not find a partly changed group.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from kctl.client.broker_errors import ErrorCode


class Refused(Exception):
    """Rejected request without effect; `code` and `message` are sent to the client."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or code.text)
        self.code = code
        self.message = message


def no_group(group_id: str, kind: str, *, exists: bool) -> Refused:
    """Return the rejection of a request to a group that is missing or, if it exists, of another kind."""
    text = f"Group {group_id} is not a {kind}." if exists else f"Group {group_id} not found."
    return Refused(ErrorCode.GROUP_ID_NOT_FOUND, text)


class Asker(NamedTuple):
    """Client that waits for a response."""

    client_id: str
    version: int
    """Version of the request."""
    answer: Callable[[Any], None]
    """Function that sends the response. Called once."""


class Outbox:
    """Responses that are sent in order at the end of a `with` block."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Asker, Any]] = deque()

    def post(self, asker: Asker, response: object) -> None:
        self._waiting.append((asker, response))

    def __enter__(self) -> "Outbox":
        return self

    def __exit__(self, *_: object) -> None:
        while self._waiting:
            asker, response = self._waiting.popleft()
            asker.answer(response)
