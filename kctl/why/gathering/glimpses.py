"""Glimpses: states of groups, their members, and transactions, read a few times between two looks.

Clients cannot read the generation of a classic group, but rebalances replace members or change the state.
"""

from collections.abc import Callable
from typing import TypeVar

from kctl.client.admin import Results
from kctl.why.gathering.asker import LEAST_STEP_MS, Asker
from kctl.why.look import Glimpse, Look

V = TypeVar("V")

MOST_GLIMPSES = 6
LEAST_APART_MS = 500
MOST_GROUPS, MOST_IDS = 50, 50
"""Maximum groups and transactional.ids in glimpses."""
BUDGET_SHARE = 3
"""Divisor of the remaining request budget for all glimpses."""


class Glimpses:
    """Reader of glimpses. Reads the groups of a look that have members, and its transactional.ids.

    Args:
        apart_ms: time until the next look.
    """

    def __init__(self, asker: Asker, look: Look, apart_ms: int) -> None:
        self._asker = asker
        self._groups = [name for name, group in look.groups.items() if group.description.members][:MOST_GROUPS]
        self._ids = list(look.transactions)[:MOST_IDS]
        self.apart_ms = max(LEAST_APART_MS, apart_ms // (MOST_GLIMPSES + 1))
        left = asker.admin.requests_left
        self._left = 1_000_000 if left is None else left // BUDGET_SHARE
        self.taken: list[Glimpse] = []

    @property
    def is_done(self) -> bool:
        return not (self._groups or self._ids) or self._left <= 0 or len(self.taken) == MOST_GLIMPSES

    def take(self, until_ms: int) -> None:
        """Read one glimpse before `until_ms`. If a broker does not respond in time, it is the last one."""
        asker = self._asker
        sent_before = asker.admin.requests_sent
        glimpse: Glimpse | None = Glimpse(asker.clock.wall_ms(), {})
        if self._groups:
            groups = self._ask(until_ms, lambda s: asker.admin.describe_groups(self._groups, timeout=s))
            glimpse = None if groups is None else Glimpse(asker.clock.wall_ms(), groups)
        if self._ids and glimpse is not None:
            ids = self._ask(until_ms, lambda s: asker.admin.describe_transactions(self._ids, timeout=s))
            glimpse = None if ids is None else glimpse._replace(transactions=ids)
        cost = asker.admin.requests_sent - sent_before
        self._left = 0 if glimpse is None or self._left < 2 * cost else self._left - cost
        if glimpse is not None:
            self.taken.append(glimpse)

    def _ask(self, until_ms: int, call: Callable[[float], Results[str, V]]) -> dict[str, V] | None:
        asker = self._asker
        asker.timer.update()
        share_ms = min(until_ms - asker.timer.now_ms, int(asker.share_s() * 1000))
        found = asker.quietly(lambda: call(share_ms / 1000)) if share_ms >= LEAST_STEP_MS else None
        return None if found is None else found.done
