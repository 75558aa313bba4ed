"""Triggers, which choose the requests of an API that fail by count, so that failures are reproducible."""

from abc import ABC, abstractmethod

MAX_FAILURES = 10_000
"""Maximum number of failures that wait for requests of one API."""


class Trigger(ABC):
    """Counter that decides whether the next request fails."""

    @property
    @abstractmethod
    def left(self) -> int | None:
        """Number of remaining failures. None means no limit."""

    @abstractmethod
    def fires(self) -> bool:
        """Count one request and return whether it fails."""


class Times(Trigger):
    def __init__(self, count: int) -> None:
        """Set the number of requests to fail, 1 to MAX_FAILURES."""
        if not 1 <= count <= MAX_FAILURES:
            raise ValueError(f"invalid count {count}: use 1 to {MAX_FAILURES}")
        self._left = count

    @property
    def left(self) -> int:
        return self._left

    def fires(self) -> bool:
        if self._left == 0:
            return False
        self._left -= 1
        return True


class Every(Trigger):
    def __init__(self, step: int) -> None:
        if step < 1:
            raise ValueError(f"invalid step {step}: use 1 or more")
        self._step = step
        self._seen = 0

    @property
    def left(self) -> None:
        return None

    def fires(self) -> bool:
        self._seen += 1
        return self._seen % self._step == 0
