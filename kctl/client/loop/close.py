"""Client close: the one sequence of consumer, producer and admin client, with a single timer.

1. Application: no further call is accepted. A consumer commits where that is automatic, calls its rebalance
   listener and releases its partitions. Then the `CloseRequest` overtakes every event: its deadline waits for none.
2. Network thread: takes the events that were posted before, then ends what is outstanding. Producer: the records, then
   the open transaction. Consumer: commits, then LeaveGroup and the fetch sessions; each step that needs a response has
   request.timeout.ms at most.
3. `CLOSE_MARGIN_MS` before the deadline everything that is left fails with CloseTimeout.
4. The sockets close, every call that still waits is answered, the thread exits.
5. Application: joins the thread. A result that reports a step as expired is returned at the deadline, not before.

A timeout of 0 sends what can be sent and waits for no response. A further close can only bring the deadline forward. An
admin client has no thread: only step 4 is left of it. All three report a `CloseResult`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kctl.client.clock import Timer
from kctl.client.cluster import NOTHING, TopicPartition
from kctl.client.errors import KafkaError

CLOSE_MARGIN_MS = 1
"""For failing what is left, closing sockets and ending the thread."""
DELIVERING = "delivering records"
"""The step of a producer in which a close expires."""


class PartitionResult(NamedTuple):
    """What became of one partition's records; `error` is why the first undelivered one is not delivered.

    `last_offset`: of the last one that is delivered, -1 if the broker did not report it. `aborted`: see CloseResult.
    """

    delivered: int = 0
    failed: int = 0
    unknown: int = 0
    error: KafkaError | None = None
    last_offset: int = -1
    aborted: int = 0


class CloseResult(NamedTuple):
    """What close() achieved; the same for every client, which leaves at their defaults what it does not have.

    Attributes:
        delivered: of a producer, records that were acknowledged as acks asks (acks=0: handed to the connection).
        failed: records that are certainly not written.
        unknown: records that were sent, but no response reported whether they were written.
        partitions: the same by partition; the partition is -1 for records that never got one.
        transaction: what became of the transaction that was open, or None: committed, aborted, unknown (its commit was
            not answered), or open (the broker aborts it after transaction.timeout.ms).
        committed: whether every offset that was still to be committed is; None without a group.
        left_group: whether the group has confirmed that this member left; None where it stays a member.
        expired_in: the step in which the timeout passed, or None when everything was done in time. With a timeout of 0:
            what was sent without waiting for its response.
        elapsed_ms: how long it took, up to the end of the network thread where there is one.
        aborted: records of transactions that were aborted, acknowledged or not; the other counts have none of them.
    """

    delivered: int = 0
    failed: int = 0
    unknown: int = 0
    partitions: Mapping[TopicPartition, PartitionResult] = NOTHING
    transaction: str | None = None
    committed: bool | None = None
    left_group: bool | None = None
    expired_in: str | None = None
    elapsed_ms: int = 0
    aborted: int = 0

    @property
    def undelivered(self) -> int:
        """How many records failed or have an unknown fate; aborted records are in neither."""
        return self.failed + self.unknown


def close_margin_ms(timeout_ms: int) -> int:
    """Return how much before its deadline a close with this timeout fails what is left: 0 if it has no more."""
    return CLOSE_MARGIN_MS if timeout_ms > CLOSE_MARGIN_MS else 0


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
        deadline_at_ms = timer.deadline_at_ms - close_margin_ms(timer.timeout_ms) if timer.timeout_ms else 0
        return cls(deadline_at_ms, timer.timeout_ms, timer.start_at_ms, is_leaving)
