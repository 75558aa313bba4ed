"""CommitCallbacks: the commits of `commit_async` that are in flight, and the callbacks that have not run yet.

Owned by the application thread, on which callbacks run.
"""

from collections.abc import Callable
from typing import NamedTuple

from kctl.client.consumer.group.events import CommitDone, Offsets
from kctl.client.errors import KafkaError

OnCommit = Callable[[Offsets, KafkaError | None], None]
"""Gets what `commit_async` was given, and None or why it is not committed."""


class OpenCommit(NamedTuple):
    """A commit_async on its way."""

    offsets: Offsets
    on_done: OnCommit | None


class CommitCallbacks:
    """The callbacks of one consumer."""

    def __init__(self) -> None:
        self._open: dict[int, OpenCommit] = {}
        self._ended: dict[int, tuple[OpenCommit, KafkaError | None]] = {}
        """Commits whose callback has not run, by id."""
        self._has_failed = False
        self._last_id = 0

    def next_id(self) -> int:
        """Return the id of a commit that is about to be sent."""
        self._last_id += 1
        return self._last_id

    def sent(self, commit_id: int, offsets: Offsets, on_done: OnCommit | None) -> None:
        """Note a commit that is in flight now."""
        self._open[commit_id] = OpenCommit(offsets, on_done)

    def on_commit_done(self, event: CommitDone) -> None:
        """Note how a commit ended; its callback runs with the next `run`."""
        commit = self._open.get(event.commit_id)
        if commit is not None:  # an interrupt may have come before it was noted, or after this
            self._ended[event.commit_id] = (commit, event.error)
            del self._open[event.commit_id]

    def run(self) -> None:
        """Call back for every commit_async that has ended; what a KeyboardInterrupt stops is called again."""
        while self._ended:
            commit_id, (commit, error) = next(iter(self._ended.items()))
            try:
                if commit.on_done is not None:
                    commit.on_done(commit.offsets, error)
            except KeyboardInterrupt:
                raise
            except BaseException:
                self._ended.pop(commit_id, None)
                raise
            self._ended.pop(commit_id, None)

    def end(self, late: KafkaError) -> bool:
        """End the commits that are still in flight with that error; return whether all had succeeded."""
        if self._open or any(error is not None for _, error in self._ended.values()):
            self._has_failed = True
        self._ended.update({commit_id: (commit, late) for commit_id, commit in self._open.items()})
        self._open.clear()
        return not self._has_failed

    def run_last(self) -> BaseException | None:
        """Run every callback that is left and return the first error that one raised."""
        first: BaseException | None = None
        for commit_id, (commit, error) in list(self._ended.items()):
            if commit.on_done is not None:
                try:
                    commit.on_done(commit.offsets, error)
                except BaseException as raised:  # noqa: BLE001 - it is raised when the consumer is closed
                    first = first or raised
            self._ended.pop(commit_id, None)
        return first
