"""CommitCallbacks: `commit_async` calls in flight and callbacks to run, on the application thread."""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.group.events import CommitDone, Offsets
from kctl.client.errors import KafkaError

OnCommit = Callable[[Offsets, KafkaError | None], None]
"""Function that gets the offsets of `commit_async`, and the error or None."""


class OpenCommit(NamedTuple):
    offsets: Offsets
    on_done: OnCommit | None


class CommitCallbacks:
    def __init__(self) -> None:
        self._open: dict[int, OpenCommit] = {}
        self._ended: dict[int, tuple[OpenCommit, KafkaError | None]] = {}
        """Commits with a pending callback, by id."""
        self._failed: dict[TopicPartition, int] = {}
        """Id of the last commit of each partition, if it has failed."""
        self._last_id = 0

    def next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def sent(self, commit_id: int, offsets: Offsets, on_done: OnCommit | None) -> None:
        self._open[commit_id] = OpenCommit(offsets, on_done)

    def on_commit_done(self, event: CommitDone) -> None:
        commit = self._open.get(event.commit_id)
        if commit is not None:  # unknown if an interrupt came before it was recorded, or after this
            self._ended[event.commit_id] = (commit, event.error)
            self._failed |= dict.fromkeys(commit.offsets, event.commit_id)
            del self._open[event.commit_id]
        if event.error is None:  # perhaps in a second attempt
            self._failed = {tp: commit_id for tp, commit_id in self._failed.items() if commit_id != event.commit_id}

    def forget_failures(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Forget failed commits of partitions whose offsets a later call has committed."""
        for tp in topic_partitions:
            self._failed.pop(tp, None)

    def keep_failures(self, held: Collection[TopicPartition]) -> None:
        """Forget failed commits of partitions that are no longer assigned."""
        self._failed = {tp: commit_id for tp, commit_id in self._failed.items() if tp in held}

    def run(self) -> None:
        """Run the callbacks of finished commits. A callback interrupted by a KeyboardInterrupt runs again in the next
        call.
        """
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
        """Fail the commits in flight. Return whether the last commit of each partition has succeeded."""
        for commit_id, commit in self._open.items():
            self._ended[commit_id] = commit, late
            self._failed |= dict.fromkeys(commit.offsets, commit_id)
        self._open.clear()
        return not self._failed

    def run_last(self) -> BaseException | None:
        first: BaseException | None = None
        for commit_id, (commit, error) in list(self._ended.items()):
            if commit.on_done is not None:
                try:
                    commit.on_done(commit.offsets, error)
                except BaseException as raised:  # noqa: BLE001 - it is raised when the consumer is closed
                    first = first or raised
            self._ended.pop(commit_id, None)
        return first
