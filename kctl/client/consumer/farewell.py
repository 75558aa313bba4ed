"""Farewell: the end of a member, step by step and within one deadline.

Owns the order: the commits that were made, then the goodbye. Shown by tests/sim/groups/test_deadlines.py.
"""

from kctl.client.consumer.events import LoopEnded, Stop
from kctl.client.consumer.group_desk import GroupDesk
from kctl.client.errors import CloseTimeout

COMMITTING = "committing offsets"
LEAVING = "leaving the group"


class Farewell:
    """What is left to do before the loop may end.

    Attributes:
        outcome: what the loop tells at its end; None while there is something left to do.
        deadline_at_ms: when the present step is given up.

    Source: KIP-102. Each step has request.timeout.ms at most, so that a close without a limit ends as well.
    """

    def __init__(self, desk: GroupDesk, stop: Stop, request_timeout_ms: int, now_ms: int) -> None:
        self.outcome: LoopEnded | None = None
        self._desk = desk
        self._stop = stop
        self._request_timeout_ms = request_timeout_ms
        self._is_leaving = False
        self._expired_in: str | None = None
        self.deadline_at_ms = self._step_deadline(now_ms)

    def advance(self, now_ms: int) -> None:
        """Go on to the next step when the present one is done or its time is up."""
        commits, membership = self._desk.commits, self._desk.membership
        if not self._is_leaving and (commits.is_idle or now_ms >= self.deadline_at_ms):
            if not commits.is_idle:
                self._expired_in = COMMITTING
                commits.abort(self._too_late(now_ms))
            self._is_leaving = True
            self.deadline_at_ms = self._step_deadline(now_ms)
            if self._stop.is_leaving:
                membership.leave(self.deadline_at_ms)
            else:
                membership.remain(self.deadline_at_ms)
        if not self._is_leaving:
            return
        has_left = membership.has_left
        if has_left is None and now_ms < self.deadline_at_ms:
            return
        if not has_left:
            self._expired_in = self._expired_in or LEAVING
        self.outcome = LoopEnded(bool(has_left) if self._stop.is_leaving else None, self._expired_in)

    def _step_deadline(self, now_ms: int) -> int:
        return min(self._stop.deadline_at_ms, now_ms + self._request_timeout_ms)

    def _too_late(self, now_ms: int) -> CloseTimeout:
        return CloseTimeout(COMMITTING, timeout_ms=self._stop.timeout_ms, elapsed_ms=now_ms - self._stop.at_ms)
