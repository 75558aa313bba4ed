"""The end of a consumer on the application's side: what is given up in which order, and what is told of it.

Shown by tests/sim/consumer/test_deadlines.py and tests/sim/groups/test_deadlines.py.
"""

from typing import Literal, NamedTuple

from kctl.client.clock import Timer
from kctl.client.consumer.farewell import COMMITTING, LEAVING
from kctl.client.consumer.group_side import GroupSide
from kctl.client.consumer.network_link import NetworkLink
from kctl.client.errors import CloseTimeout
from kctl.client.seams import Task

DEFAULT_CLOSE_TIMEOUT_MS = 30_000
ENDING = "waiting for the network thread to end"
OnClose = Literal["leave", "remain"]


class CloseResult(NamedTuple):
    """What close() achieved.

    Attributes:
        committed: whether every offset that was still to be committed is; None without a group.
        left_group: whether the group knows that this member is gone; None where it was not to be told.
        expired_in: the step in which the timeout passed, or None when everything was done in time. With a timeout of 0:
            what was sent without waiting for its response.
        elapsed_ms: how long it took.
    """

    committed: bool | None
    left_group: bool | None
    expired_in: str | None
    elapsed_ms: int


class Closing(NamedTuple):
    """How the close went, and what a rebalance listener or a callback raised on the way."""

    result: CloseResult
    error: BaseException | None


def leaves_group(group: GroupSide, on_close: OnClose | None) -> bool:
    """Return whether a close makes the member leave: unless it is asked to remain, or is static and not asked."""
    is_static = group.metadata.group_instance_id is not None
    return group.subscribed is not None and (on_close == "leave" or (on_close is None and not is_static))


def close(link: NetworkLink, task: Task, group: GroupSide | None, timer: Timer, on_close: OnClose | None) -> Closing:
    """Release the partitions, let the network commit and say goodbye, and end its thread, all within the timer.

    Args: on_close: whether to leave the group; None leaves it, unless this is a static member.
    Source: KIP-102, KIP-345, KIP-1092.
    """
    link.close()
    error = None
    is_leaving = False
    if group is not None:
        is_leaving = leaves_group(group, on_close)
        error = group.release_all()
    has_ended = link.stop(task, timer, is_leaving=is_leaving)
    link.drain()
    timer.update()
    word = link.last_word
    left_group = None
    committed = None
    if group is not None:
        left_group = bool(word is not None and word.has_left) if is_leaving else None
        late = CloseTimeout("committing offsets", timeout_ms=timer.timeout_ms, elapsed_ms=timer.elapsed_ms)
        committed = group.end_commits(late)
        raised = group.last_callbacks()
        error = error or raised
    if word is not None and has_ended:
        expired_in = word.expired_in
    elif timer.timeout_ms:
        expired_in = ENDING
    else:  # the thread ends by itself: what counts is what was outstanding
        expired_in = COMMITTING if committed is False else LEAVING if left_group is False else None
    return Closing(CloseResult(committed, left_group, expired_in, timer.elapsed_ms), error)
