"""WaitReason: why nothing arrives from a partition, or why the group gives none, as a value.

Owns the kinds. The network side reports kind, words, node and error; the application adds what only it knows (paused,
fetched, not started). Messages and exit codes both rest on it. Shown by tests/sim/consumer/test_waiting_for.py.
"""

from enum import Enum
from typing import NamedTuple

from kctl.client.errors import KafkaError

SESSION_OVER = "the group's session has timed out without a confirmed heartbeat, so its partitions may be others'"


class WaitKind(Enum):
    """What is waited for; the value is a word for programs."""

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
    """The leader is being connected, or cannot be reached."""
    ANSWER = "answer"
    """The broker `node_id` has not responded to a request sent at `since_ms`; of a fetch that is reported after
    2 x fetch.max.wait.ms. Without a `since_ms` nothing is known yet."""
    REFUSED = "refused"
    """The broker answered with an error; it is asked again."""
    AT_END = "at-end"
    """Everything is read."""
    OPEN_TRANSACTION = "open-transaction"
    """What comes next belongs to a transaction that has not ended."""
    COORDINATOR = "coordinator"
    """The group's coordinator is looked for, or does not answer."""
    JOINING = "joining"
    """The group shares its partitions out."""
    NO_SHARE = "no-share"
    """The group has no partition for this member."""
    OUTSIDE = "outside"
    """This member is not in the group until the next poll."""


class WaitReason(NamedTuple):
    """Why nothing comes right now; `str` is the sentence for people.

    Attributes:
        kind: what is waited for.
        text: the same in words.
        node_id: the broker that is waited for, where that is one.
        cause: the last error on the way, where there was one.
        since_ms: the instant of the client's clock from which this has been so; None where it is only just so.
    """

    kind: WaitKind
    text: str
    node_id: int | None = None
    cause: KafkaError | None = None
    since_ms: int | None = None

    def __str__(self) -> str:
        return self.text

    def after(self, earlier: "WaitReason | None") -> "WaitReason":
        """Return this reason, with the time of the earlier one where both are the same."""
        is_same = earlier is not None and (earlier.kind, earlier.text) == (self.kind, self.text)
        return self._replace(since_ms=earlier.since_ms) if is_same and earlier is not None else self
