"""Close of a consumer, on both threads; see `kctl/client/loop/close.py`."""

from typing import TYPE_CHECKING, Literal

from kctl.client.clock import Timer
from kctl.client.cluster_client import ClusterClient
from kctl.client.consumer.group.application_side import GroupSide
from kctl.client.consumer.mailbox import CloseReport, ConsumerMailbox
from kctl.client.errors import CloseTimeout
from kctl.client.loop.close import CloseRequest, CloseResult
from kctl.client.runtime import Task

if TYPE_CHECKING:
    from kctl.client.consumer.group.coordinator_client import GroupCoordinatorClient

DEFAULT_CLOSE_TIMEOUT_MS = 30_000
COMMITTING = "committing offsets"
LEAVING = "leaving the group"
ENDING = "waiting for the network thread to exit"
OnClose = Literal["leave", "remain"]


def leaves_group(group: GroupSide, on_close: OnClose | None) -> bool:
    is_static = group.metadata.group_instance_id is not None
    return group.subscribed is not None and (on_close == "leave" or (on_close is None and not is_static))


def close(
    mailbox: ConsumerMailbox, task: Task, group: GroupSide | None, timer: Timer, on_close: OnClose | None
) -> tuple[CloseResult, BaseException | None]:
    """Release the partitions, let the network thread commit and leave the group, and wait for its end.

    Returns: the result, and the exception of a rebalance listener or commit callback.
    Source: KIP-102, KIP-345, KIP-1092.
    """
    mailbox.ignore_wakeups()
    error = None
    is_leaving = False
    if group is not None:
        error = group.release_all()
        is_leaving = leaves_group(group, on_close)  # the listener may have unsubscribed
    has_ended = mailbox.close(task, timer, is_leaving=is_leaving)
    mailbox.drain()
    timer.update()
    report = mailbox.close_report
    left_group = None
    committed = None
    if group is not None:
        left_group = bool(report is not None and report.has_left) if is_leaving else None
        late = CloseTimeout(COMMITTING, timeout_ms=timer.timeout_ms, elapsed_ms=timer.elapsed_ms)
        committed = group.callbacks.end(late)
        raised = group.callbacks.run_last()
        error = error or raised
    if report is not None and has_ended:
        expired_in = report.expired_in
    elif timer.timeout_ms:
        expired_in = ENDING
    else:  # the thread ends later: only unfinished work counts
        expired_in = COMMITTING if committed is False else LEAVING if left_group is False else None
    result = CloseResult(committed=committed, left_group=left_group, expired_in=expired_in, elapsed_ms=timer.elapsed_ms)
    return result, error


class GroupClose:
    """End of the group membership on the network thread: commits, then LeaveGroup if the close request leaves the
    group.

    Each step has at most request.timeout.ms, so a close without a timeout ends (KIP-102).

    Attributes:
        report: result of the close. None until it is done.
        deadline_at_ms: deadline of the current step.
    """

    def __init__(
        self, group: "GroupCoordinatorClient", request: CloseRequest, request_timeout_ms: int, now_ms: int
    ) -> None:
        self.report: CloseReport | None = None
        self._group = group
        self._request = request
        self._request_timeout_ms = request_timeout_ms
        self._is_leaving = False
        self._expired_in: str | None = None
        self.deadline_at_ms = self._step_deadline(now_ms)
        group.commits.insist(now_ms)

    def advance(self, client: ClusterClient, now_ms: int) -> None:
        commits, membership = self._group.commits, self._group.membership
        if not self._is_leaving and now_ms >= self._request.deadline_at_ms:
            self._send_last(client, now_ms)
            return
        if not self._is_leaving and (commits.is_idle or now_ms >= self.deadline_at_ms):
            self._leave(now_ms)
        if not self._is_leaving:
            return
        has_left = membership.has_left
        if has_left is None and now_ms < self.deadline_at_ms:
            return
        if not has_left:
            self._expired_in = self._expired_in or LEAVING
        self.report = CloseReport(bool(has_left) if self._request.is_leaving else None, self._expired_in)

    def _leave(self, now_ms: int) -> None:
        commits, membership = self._group.commits, self._group.membership
        if not commits.is_idle:
            self._expired_in = COMMITTING
            commits.abort(self._too_late(now_ms))
        self._is_leaving = True
        self.deadline_at_ms = self._step_deadline(now_ms)
        if self._request.is_leaving:
            membership.leave(self.deadline_at_ms)
        else:
            membership.remain(self.deadline_at_ms)

    def _send_last(self, client: ClusterClient, now_ms: int) -> None:
        """Send commits and LeaveGroup without waiting for responses."""
        is_leaving, late, until_ms = self._request.is_leaving, self._too_late(now_ms), now_ms + self._request_timeout_ms
        if not self._group.commits.is_idle:
            self._expired_in = COMMITTING
        for request in self._group.last_requests(now_ms, until_ms, late, is_leaving=is_leaving):
            client.send(request)
        client.poll(now_ms)
        has_left = self._group.membership.has_left is True if is_leaving else None
        self.report = CloseReport(has_left, self._expired_in or (LEAVING if has_left is False else None))

    def _step_deadline(self, now_ms: int) -> int:
        return min(self._request.deadline_at_ms, now_ms + self._request_timeout_ms)

    def _too_late(self, now_ms: int) -> CloseTimeout:
        request = self._request
        return CloseTimeout(COMMITTING, timeout_ms=request.timeout_ms, elapsed_ms=now_ms - request.at_ms)
