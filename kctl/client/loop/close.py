"""Client close: the one sequence of consumer, producer and admin client, with a single timer.

1. Application: no further call is accepted. A consumer commits where that is automatic, calls its rebalance
   listener and releases its partitions. Then the `CloseRequest` overtakes every event: its deadline waits for none.
2. Network thread: takes the events that were posted before, then ends what is outstanding. Producer: the records, then
   the open transaction. Consumer: commits, then LeaveGroup and the fetch sessions; each step that needs a response has
   request.timeout.ms at most.
3. `TEARDOWN_MS` before the deadline everything that is left fails with CloseTimeout.
4. The sockets close, every call that still waits is answered, the thread exits.
5. Application: joins the thread. A result that reports a step as expired is returned at the deadline, not before.

A timeout of 0 sends what can be sent and waits for no response. A further close can only bring the deadline forward.
An admin client has no thread: only step 4 is left of it.
Shown by tests/sim/groups/test_close.py, tests/sim/groups/test_deadlines.py and tests/sim/producer/test_kip_15.py.
"""

from typing import NamedTuple

from kctl.client.clock import Timer

TEARDOWN_MS = 1
"""For failing what is left, closing sockets and ending the thread."""


def teardown_ms(timeout_ms: int) -> int:
    """Return how much before its deadline a close with this timeout fails what is left: 0 if it has no more."""
    return TEARDOWN_MS if timeout_ms > TEARDOWN_MS else 0


class CloseRequest(NamedTuple):
    """Finish until the deadline, then fail the rest, close the sockets and end the loop.

    Attributes:
        timeout_ms: the caller's timeout, for error messages.
        at_ms: when the application began to close.
        is_leaving: the member leaves its group.
    """

    deadline_at_ms: int
    timeout_ms: int = 0
    at_ms: int = 0
    is_leaving: bool = False

    @classmethod
    def within(cls, timer: Timer, *, is_leaving: bool = False) -> "CloseRequest":
        """Return the request of a close on this timer; with 0 it has passed: not even a millisecond is waited."""
        deadline_at_ms = timer.deadline_at_ms - teardown_ms(timer.timeout_ms) if timer.timeout_ms else 0
        return cls(deadline_at_ms, timer.timeout_ms, timer.start_at_ms, is_leaving)
