"""Glimpses: the members and states of groups, seen a few times between two looks.

A classic group has no generation that a client can read, but each rebalance replaces members or passes through a state.
Shown by tests/sim/why/test_rebalance_storms.py.
"""

from kctl.why.gathering.asker import LEAST_STEP_MS, Asker
from kctl.why.look import Glimpse, Look

MOST_GLIMPSES = 6
LEAST_APART_MS = 500
MOST_GROUPS = 50
"""Groups that are watched."""
BUDGET_SHARE = 3
"""All glimpses together send at most this part of the requests that are left."""


class Glimpses:
    """Takes glimpses at the groups of a look that have members.

    Args: apart_ms: the time until the next look.
    """

    def __init__(self, asker: Asker, look: Look, apart_ms: int) -> None:
        self._asker = asker
        self._names = [name for name, group in look.groups.items() if group.description.members][:MOST_GROUPS]
        self.apart_ms = max(LEAST_APART_MS, apart_ms // (MOST_GLIMPSES + 1))
        left = asker.admin.requests_left
        self._left = 1_000_000 if left is None else left // BUDGET_SHARE
        self.taken: list[Glimpse] = []

    @property
    def is_done(self) -> bool:
        """Whether no further one is taken."""
        return not self._names or self._left <= 0 or len(self.taken) == MOST_GLIMPSES

    def take(self, until_ms: int) -> None:
        """Take one, by that instant; a broker that does not respond in time ends them."""
        asker = self._asker
        asker.timer.update()
        share_ms = min(until_ms - asker.timer.now_ms, int(asker.share_s() * 1000))
        if share_ms < LEAST_STEP_MS:
            self._left = 0
            return
        sent_before = asker.admin.requests_sent
        seen_at_ms = asker.clock.wall_ms()
        found = asker.quietly(lambda: asker.admin.describe_groups(self._names, timeout=share_ms / 1000))
        cost = asker.admin.requests_sent - sent_before
        self._left = 0 if found is None or self._left < 2 * cost else self._left - cost
        if found is not None:
            self.taken.append(Glimpse(seen_at_ms, found.done))
