"""Close sequence of consumer, producer, and admin client, with one timer.

1. Application: rejects further calls. A consumer commits if auto-commit is enabled, calls its rebalance listener, and
releases its partitions. The `CloseRequest` overtakes all events, so they do not delay its deadline.
2. Network thread: applies earlier events, then finishes pending work. Producer: records, then the open transaction.
Consumer: commits, LeaveGroup, and fetch sessions; each step with a response has at most request.timeout.ms.
3. `CLOSE_MARGIN_MS` before the deadline, the remaining work fails with CloseTimeout.
4. The sockets close, pending calls are finished, and the thread exits.
5. Application: joins the thread. If a step timed out, the result is returned at the deadline, not before.

With timeout 0, the client does not wait for responses. A further close can only shorten the deadline. Admin clients
have only step 4.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kctl.client.clock import Timer
from kctl.client.cluster import NOTHING, TopicPartition
from kctl.client.errors import KafkaError

CLOSE_MARGIN_MS = 1
"""Time to fail the remaining work, close sockets, and end the thread."""
DELIVERING = "delivering records"
"""Step of a producer's close that can time out."""


class PartitionResult(NamedTuple):
    """Result of one partition.

    Attributes:
        error: error of the first undelivered record.
        last_offset: offset of the last delivered record; -1 if not reported.
        aborted: records of aborted transactions, as in CloseResult.
    """

    delivered: int = 0
    failed: int = 0
    unknown: int = 0
    error: KafkaError | None = None
    last_offset: int = -1
    aborted: int = 0


class CloseResult(NamedTuple):
    """Result of close(), for every client; fields that do not apply have their defaults.

    Attributes:
        delivered: records that were acknowledged as acks requires (with acks=0, passed to the connection).
        failed: records that are certainly not written.
        unknown: records that were sent, but no response reported whether they were written.
        partitions: results by partition; partition -1 has the records without a partition.
        transaction: result of the open transaction, or None: committed, aborted, unknown (its commit got no response),
            or open (the broker aborts it after transaction.timeout.ms).
        committed: whether all pending offsets were committed; None without a group.
        left_group: whether the group confirmed that this member left; None if it remains.
        expired_in: step that timed out, or None. With timeout 0: the requests whose responses were not awaited.
        elapsed_ms: duration, until the end of the network thread if there is one.
        aborted: records of aborted transactions; the other counts exclude them.
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
        """Number of failed and unknown records; aborted records do not count."""
        return self.failed + self.unknown


def close_margin_ms(timeout_ms: int) -> int:
    """Return how many ms before its deadline a close fails the remaining work."""
    return CLOSE_MARGIN_MS if timeout_ms > CLOSE_MARGIN_MS else 0


class CloseRequest(NamedTuple):
    """Request to finish until the deadline, then fail the remaining work, close the sockets, and end the loop.

    Attributes:
        timeout_ms: timeout of the close, for error messages.
        at_ms: start of the close.
        is_leaving: whether the member leaves its group.
    """

    deadline_at_ms: int
    timeout_ms: int = 0
    at_ms: int = 0
    is_leaving: bool = False

    @classmethod
    def within(cls, timer: Timer, *, is_leaving: bool = False) -> "CloseRequest":
        deadline_at_ms = timer.deadline_at_ms - close_margin_ms(timer.timeout_ms) if timer.timeout_ms else 0
        return cls(deadline_at_ms, timer.timeout_ms, timer.start_at_ms, is_leaving)
