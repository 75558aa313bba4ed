"""WaitReason: reason why a partition returns no records, or why the group assigns no partition.

Messages and exit codes of kctl are derived from it.
"""

from enum import Enum
from typing import NamedTuple

from kctl.client.errors import KafkaError

SESSION_OVER = "the group session has timed out without a heartbeat, so other members may own the partitions"


class WaitKind(Enum):
    """Kind of wait; the value is its name in machine-readable output."""

    PAUSED = "paused"
    """The application has paused the partition."""
    DELIVERABLE = "deliverable"
    """Records are fetched; the next poll returns them."""
    NOT_STARTED = "not-started"
    """The next poll starts to read the partition."""
    COMMITTED_OFFSET = "committed-offset"
    """The coordinator has not returned the committed offset."""
    POSITION = "position"
    """The leader has not returned the start offset."""
    METADATA = "metadata"
    """No leader is known."""
    RECREATED = "recreated"
    """The topic that was assigned by its id was deleted and recreated."""
    CONNECTION = "connection"
    """The client is connecting to the leader, or cannot reach it."""
    ANSWER = "answer"
    """Broker `node_id` has not responded to a request that was sent at `started_at_ms`.

    For fetches, it is reported after 2 x fetch.max.wait.ms. Without `started_at_ms`, no request is known to be late.
    """
    REFUSED = "refused"
    """The broker responded with an error; the request is retried."""
    AT_END = "at-end"
    """All records are read."""
    OPEN_TRANSACTION = "open-transaction"
    """The next record belongs to an open transaction."""
    COORDINATOR = "coordinator"
    """The group's coordinator is unknown or does not respond."""
    JOINING = "joining"
    """The group rebalances."""
    NO_SHARE = "no-share"
    """The group assigns no partition to this member."""
    OUTSIDE = "outside"
    """This member rejoins the group at the next poll."""


NOTHING_BEYOND = (WaitKind.AT_END, WaitKind.OPEN_TRANSACTION)
"""Kinds in which the client has fetched everything up to the visible end."""


class WaitReason(NamedTuple):
    """Reason of a wait; `str` returns its text.

    Attributes:
        text: description for users.
        node_id: broker that has not responded, if any.
        cause: last error, if any.
        started_at_ms: start of the wait by the client's clock; None if it has just begun.
    """

    kind: WaitKind
    text: str
    node_id: int | None = None
    cause: KafkaError | None = None
    started_at_ms: int | None = None

    def __str__(self) -> str:
        return self.text

    def after(self, earlier: "WaitReason | None") -> "WaitReason":
        """Return this reason; if `earlier` has the same kind and text, with its start time."""
        is_same = earlier is not None and (earlier.kind, earlier.text) == (self.kind, self.text)
        return self._replace(started_at_ms=earlier.started_at_ms) if is_same and earlier is not None else self
