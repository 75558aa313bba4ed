"""WaitReason: why a partition returns no records, or why the group assigns no partition, as a value.

Owns the kinds. The network thread reports kind, text, node and error; the application thread adds what only it knows
(paused, fetched, not started). Messages and exit codes are derived from it.
"""

from enum import Enum
from typing import NamedTuple

from kctl.client.errors import KafkaError

SESSION_OVER = (
    "the group's session has timed out without a confirmed heartbeat, so its partitions may belong to other members"
)


class WaitKind(Enum):
    """Kind of wait; the value is its name in machine-readable output."""

    PAUSED = "paused"
    """The application has paused the partition."""
    DELIVERABLE = "deliverable"
    """Something is fetched; the next poll returns it."""
    NOT_STARTED = "not-started"
    """The next poll starts it."""
    COMMITTED_OFFSET = "committed-offset"
    """The coordinator has not returned the committed offset yet."""
    POSITION = "position"
    """The leader has not returned the offset to start at yet."""
    METADATA = "metadata"
    """No leader is known."""
    RECREATED = "recreated"
    """The topic that was assigned by its id was deleted, and another has its name."""
    CONNECTION = "connection"
    """The client connects to the leader, or cannot reach it."""
    ANSWER = "answer"
    """The broker `node_id` has not responded to a request sent at `started_at_ms`; of a fetch that is reported after
    2 x fetch.max.wait.ms. Without a `started_at_ms` nothing is known yet."""
    REFUSED = "refused"
    """The broker responded with an error; the request is repeated."""
    AT_END = "at-end"
    """Every record is read."""
    OPEN_TRANSACTION = "open-transaction"
    """The next record belongs to a transaction that has not ended."""
    COORDINATOR = "coordinator"
    """The group's coordinator is looked up, or does not respond."""
    JOINING = "joining"
    """The group rebalances."""
    NO_SHARE = "no-share"
    """The group assigns no partition to this member."""
    OUTSIDE = "outside"
    """This member is not in the group until the next poll."""


NOTHING_BEYOND = (WaitKind.AT_END, WaitKind.OPEN_TRANSACTION)
"""Reasons that mean that everything up to the visible end of the partition was fetched."""


class WaitReason(NamedTuple):
    """Why no record comes now; `str` is the text for people.

    Attributes:
        kind: of the wait.
        text: the same for people.
        node_id: the broker that has to respond, if there is one.
        cause: the last error, if there was one.
        started_at_ms: when the wait began, by the client's clock; None where it has just begun.
    """

    kind: WaitKind
    text: str
    node_id: int | None = None
    cause: KafkaError | None = None
    started_at_ms: int | None = None

    def __str__(self) -> str:
        return self.text

    def after(self, earlier: "WaitReason | None") -> "WaitReason":
        """Return this reason, with the time of the earlier one where both are the same."""
        is_same = earlier is not None and (earlier.kind, earlier.text) == (self.kind, self.text)
        return self._replace(started_at_ms=earlier.started_at_ms) if is_same and earlier is not None else self
