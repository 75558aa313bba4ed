"""Triggers: which requests of an API fail, counted one by one, so that each run fails the same requests."""

from abc import ABC, abstractmethod

MAX_FAILURES = 10_000
"""The most requests of one API that can be ordered to fail."""


class Trigger(ABC):
    """A count of requests, and whether the next one fails."""

    @property
    @abstractmethod
    def left(self) -> int | None:
        """Requests that are still to fail; None without an end."""

    @abstractmethod
    def fires(self) -> bool:
        """Count one request and return whether it fails."""


class Times(Trigger):
    """The next requests fail."""

    def __init__(self, count: int) -> None:
        """Args: count: 1 to MAX_FAILURES."""
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
    """One request of `step` fails: the first `step - 1` succeed, the next fails, and so on."""

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
