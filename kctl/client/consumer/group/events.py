"""Group events: those between application and network thread that are about the group; part of the unions of events.py.

Owns the types alone. Every change of the assignment is one numbered `AssignmentChanged`; the application applies it
inside poll, listener included, and acknowledges it with `ChangeApplied`. Until then the partitions stay this member's.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from kctl.client.cluster import NOTHING, TopicPartition
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import KafkaError
from kctl.client.requests.group_offsets import OffsetAndMetadata


class GroupMetadata(NamedTuple):
    """Who this member is in its group at present; generation is the member epoch with KIP-848, -1 outside the group."""

    group_id: str
    generation: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


Offsets = Mapping[TopicPartition, OffsetAndMetadata]
IdsByName = Mapping[str, bytes]
"""The ids under which a KIP-848 group has given topics to a member: a topic recreated under its name is another one."""
NO_IDS: IdsByName = NOTHING
CommittedAnswer = Mapping[TopicPartition, OffsetAndMetadata | None]


# --- application to network -----------------------------------------------------------------------------------------


class Subscribe(NamedTuple):
    """Be a member that wants these topics, or those whose whole name matches the pattern.

    Attributes: term: grows when the application subscribes again after it had left.
    """

    topics: tuple[str, ...]
    pattern: re.Pattern[str] | None = None
    term: int = 0


class Unsubscribe(NamedTuple):
    """Leave the group; the application has released everything."""

    deadline_at_ms: int


class ChangeApplied(NamedTuple):
    """The application has applied the change of that number; it reads nothing of what the change took away."""

    number: int


class PollBegan(NamedTuple):
    """The application is inside poll: max.poll.interval.ms does not run."""


class PollEnded(NamedTuple):
    """The application has left poll: max.poll.interval.ms runs from here."""

    at_ms: int


class Rejoin(NamedTuple):
    """Ask the group to rebalance."""

    reason: str


class CommitSync(NamedTuple):
    """Commit, trying again until the deadline, and answer with `CallDone`.

    Attributes:
        as_member: the partitions come from the group, so only its present members may commit.
        topic_ids: of the topics as the group has given them, or as they were read: nothing is committed to others that
            took their names.
    """

    call_id: int
    offsets: Offsets
    deadline_at_ms: int
    as_member: bool
    topic_ids: IdsByName = NO_IDS


class CommitAsync(NamedTuple):
    """Commit and answer with `CommitDone`; what is worth retrying is tried again only with `may_retry`."""

    commit_id: int
    offsets: Offsets
    timeout_ms: int
    deadline_at_ms: int
    as_member: bool
    may_retry: bool
    topic_ids: IdsByName = NO_IDS


class AskCommitted(NamedTuple):
    """Look up committed offsets and answer with `CommittedAnswer`."""

    call_id: int
    topic_partitions: tuple[TopicPartition, ...]
    deadline_at_ms: int


# --- network to application -----------------------------------------------------------------------------------------


class AssignmentChanged(NamedTuple):
    """This member's partitions from now on; numbers grow, and each is acknowledged with `ChangeApplied`.

    Attributes:
        owned: all partitions it has after the change.
        is_lost: the group has given the former ones away already: nothing of them can be committed any more.
        is_complete: a rebalance ended with this; False: partitions are released so that one can continue.
        topic_ids: of the topics of `owned`, where the group shares topics out by id (KIP-848). A name that has another
            id than before is another topic: its partitions are lost, and new ones have come.
        term: of the subscription it is about; filled in on the way.
    """

    number: int
    owned: tuple[TopicPartition, ...]
    is_lost: bool = False
    is_complete: bool = True
    topic_ids: IdsByName = NO_IDS
    term: int = 0


class GroupFailed(NamedTuple):
    """The group does not take this member, and trying again by itself does not cure that; the next poll tries again."""

    error: KafkaError


class GroupWaiting(NamedTuple):
    """Why this member has no assignment right now; an empty reason means that it has one.

    Attributes:
        kind, cause: as in `WaitReason`.
        at_ms: when it was reported; filled in on the way.
    """

    reason: str
    kind: WaitKind = WaitKind.JOINING
    cause: KafkaError | None = None
    at_ms: int = 0


class MemberChanged(NamedTuple):
    """Who this member is from now on."""

    metadata: GroupMetadata


class SessionConfirmed(NamedTuple):
    """The group keeps this member at least until then; no record of its partitions is handed out later than that."""

    until_ms: int


class CommitDone(NamedTuple):
    """How a `CommitAsync` ended."""

    commit_id: int
    error: KafkaError | None


class NoCommittedOffset(NamedTuple):
    """Nothing is committed for the partition, and there is no reset policy."""

    topic_partition: TopicPartition
    epoch: int


GroupToNetwork = (
    Subscribe | Unsubscribe | ChangeApplied | PollBegan | PollEnded | Rejoin | CommitSync | CommitAsync | AskCommitted
)
GroupToApplication = (
    AssignmentChanged | GroupFailed | GroupWaiting | MemberChanged | SessionConfirmed | CommitDone | NoCommittedOffset
)
