"""Commits that do not come, as of an attempt whose worker is killed."""

from collections.abc import Callable

from kctl.client.producer import Producer


class KilledError(Exception):
    """An attempt ends as one whose worker is killed."""


def killed_after(kept: int) -> Callable[..., None]:
    """Return a `Producer.commit_transaction` that commits so many transactions, and then ends the attempt."""
    commit, commits = Producer.commit_transaction, 0

    def killed(self: Producer, timeout: float | None = None) -> None:
        nonlocal commits
        if commits == kept:
            raise KilledError
        commits += 1
        commit(self, timeout)

    return killed
