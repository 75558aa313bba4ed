"""Results: what became of each item of a call that takes several. Shown by tests/sim/admin."""

from collections.abc import Mapping
from typing import Generic, TypeVar

from kctl.client.errors import KafkaError

K = TypeVar("K")
V = TypeVar("V")


class Results(Generic[K, V]):
    """Every item of the call, either in `done` with its value or in `failed` with its error."""

    __slots__ = ("done", "failed")

    def __init__(self, done: Mapping[K, V], failed: Mapping[K, KafkaError]) -> None:
        self.done = dict(done)
        self.failed = dict(failed)

    def __getitem__(self, key: K) -> V:
        """Return the item's value, or raise its error."""
        if key in self.failed:
            raise self.failed[key]
        return self.done[key]

    def raise_first(self) -> None:
        """Raise the error of the first item that failed; return when none has."""
        for error in self.failed.values():
            raise error

    def __repr__(self) -> str:
        return f"Results(done={self.done!r}, failed={self.failed!r})"
