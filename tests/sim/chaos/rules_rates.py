"""Rules R12 to R14: failures are retried with backoff.

| id | rule |
|---|---|
| R12 errors | consecutive polls raise errors with backoff |
| R13 fetches | fetches without new records have backoff |
| R14 joins | a join that the group rejects, or that must be repeated, is retried with backoff |

Backoff is retry.backoff.ms of 100 ms that doubles up to a second: five attempts in the first second.
"""

from collections import deque
from collections.abc import Hashable, Iterator

from tests.sim.chaos.checker import Violation, broken
from tests.sim.chaos.facts import Facts
from tests.sim.chaos.history import CLUSTER, Entry
from tests.sim.chaos.plan import Plan

ERRORS_A_SECOND = 12
"""Several partitions may fail at a time."""
FETCHES_A_SECOND = 30
"""Limit of one client to one node: each newly assigned or sought partition is fetched immediately."""
JOINS_A_SECOND = 8
CALLER_MADE = ("WakeupError",)


class Rate:
    """Count of several kinds of events within the last second."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._recent: dict[Hashable, deque[int]] = {}

    def is_too_many(self, key: Hashable, at_ms: int) -> bool:
        """Count one more; after too many, begin again."""
        recent = self._recent.setdefault(key, deque())
        recent.append(at_ms)
        while recent[0] <= at_ms - 1000:
            recent.popleft()
        if len(recent) <= self._most:
            return False
        recent.clear()
        return True


class RateRules:
    """Errors of polls, fetches and joins."""

    def __init__(self, plan: Plan) -> None:
        self._errors = Rate(ERRORS_A_SECOND)
        self._fetches = Rate(FETCHES_A_SECOND)
        self._joins = Rate(JOINS_A_SECOND)

    def see(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        at_ms = entry.at_ms
        if entry.what == "poll" and entry.error and entry.error not in CALLER_MADE:
            if self._errors.is_too_many(entry.proc, at_ms):
                yield broken("R12 errors", entry, f"more than {ERRORS_A_SECOND} polls in a second: {entry.error}")
        elif entry.proc == CLUSTER and entry.what == "no-progress":
            client, node = entry.value
            if self._fetches.is_too_many((client, node), at_ms):
                text = f"{client} has fetched from node {node} more than {FETCHES_A_SECOND} times within a second"
                yield broken("R13 fetches", entry, text)
        elif entry.proc == CLUSTER and entry.what == "join-refused":
            client, name = entry.value
            if self._joins.is_too_many(client, at_ms):
                text = f"{client} has joined more than {JOINS_A_SECOND} times within a second: {name}"
                yield broken("R14 joins", entry, text)

    def end(self, facts: Facts) -> Iterator[Violation]:
        yield from ()
