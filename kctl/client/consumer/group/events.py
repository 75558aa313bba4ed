"""Events about the group, between application thread and network thread.

The application applies each numbered `AssignmentChanged` in poll and confirms it by `ChangeApplied`. Until then,
removed partitions still belong to this member.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from kctl.client.cluster import NOTHING, TopicPartition
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import KafkaError
from kctl.client.requests.group_offsets import OffsetAndMetadata


class GroupMetadata(NamedTuple):
    """Last identity of this member.

    Attributes:
        generation: generation, or the member epoch with KIP-848. -1 before the first join.
    """

    group_id: str
    generation: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


Offsets = Mapping[TopicPartition, OffsetAndMetadata]
IdsByName = Mapping[str, bytes]
"""Topic ids by name in an assignment of a KIP-848 group. A recreated topic has another id."""
NO_IDS: IdsByName = NOTHING
CommittedAnswer = Mapping[TopicPartition, OffsetAndMetadata | None]


# --- application to network -----------------------------------------------------------------------------------------


class Subscribe(NamedTuple):
    """Be a group member with these topics, or with topics whose full name matches the pattern.

    Attributes:
        term: number of the subscription, which grows after an unsubscribe.
    """

    topics: tuple[str, ...]
    pattern: re.Pattern[str] | None = None
    term: int = 0


class Unsubscribe(NamedTuple):
    """Commit, then leave the group."""


class ChangeApplied(NamedTuple):
    """The application has applied an assignment change, and no longer reads removed partitions."""

    number: int


class PollBegan(NamedTuple):
    """A poll has begun, so max.poll.interval.ms no longer counts."""


class PollEnded(NamedTuple):
    """A poll has ended, so max.poll.interval.ms counts from then on."""

    at_ms: int


class Rejoin(NamedTuple):
    reason: str


class CommitSync(NamedTuple):
    """Commit with retries until the deadline. The result is a `CallDone`.

    Attributes:
        as_member: whether the group assigned the partitions, so the commit requires membership.
        topic_ids: ids of the assigned or read topics. If a topic was recreated, its offsets are not committed.
    """

    call_id: int
    offsets: Offsets
    deadline_at_ms: int
    as_member: bool
    topic_ids: IdsByName = NO_IDS


class CommitAsync(NamedTuple):
    """Commit without waiting. The result is a `CommitDone`.

    It is retried with `may_retry`, or when a later operation waits for it. If it had failed before, such a retry causes
    a second `CommitDone`.
    """

    commit_id: int
    offsets: Offsets
    timeout_ms: int
    deadline_at_ms: int
    as_member: bool
    may_retry: bool
    topic_ids: IdsByName = NO_IDS
    has_callback: bool = False


class AskCommitted(NamedTuple):
    """Query committed offsets. The result is a `CommittedAnswer`."""

    call_id: int
    topic_partitions: tuple[TopicPartition, ...]
    deadline_at_ms: int


# --- network to application -----------------------------------------------------------------------------------------


class AssignmentChanged(NamedTuple):
    """New assignment of this member. `ChangeApplied` confirms it by its number.

    Attributes:
        owned: all partitions after the change.
        lost: all former partitions if the member lost its place, otherwise empty. Other members may already have them,
            so they cannot be committed.
        is_complete: whether a rebalance has ended. If False, partitions are released to continue it.
        topic_ids: topic ids of `owned` (KIP-848). If a name has a new id, its old partitions are lost.
        term: number of the subscription, filled in later.
    """

    number: int
    owned: tuple[TopicPartition, ...]
    lost: tuple[TopicPartition, ...] = ()
    is_complete: bool = True
    topic_ids: IdsByName = NO_IDS
    term: int = 0

    @property
    def is_lost(self) -> bool:
        return bool(self.lost)


class GroupFailed(NamedTuple):
    """The group rejects this member. The next poll tries again."""

    error: KafkaError


class GroupWaiting(NamedTuple):
    """Reason why this member has no assignment, or an empty reason if it has one.

    Attributes:
        kind, cause: as in `WaitReason`.
        at_ms: time of the report, which GroupCoordinatorClient adds.
    """

    reason: str
    kind: WaitKind = WaitKind.JOINING
    cause: KafkaError | None = None
    at_ms: int = 0


class MemberChanged(NamedTuple):
    metadata: GroupMetadata


class SessionConfirmed(NamedTuple):
    """The group keeps this member at least until `until_ms`. After that, poll returns none of its records."""

    until_ms: int


class CommitDone(NamedTuple):
    commit_id: int
    error: KafkaError | None


class NoCommittedOffset(NamedTuple):
    """The partition has no committed offset, and there is no reset policy."""

    topic_partition: TopicPartition
    epoch: int


GroupToNetwork = (
    Subscribe | Unsubscribe | ChangeApplied | PollBegan | PollEnded | Rejoin | CommitSync | CommitAsync | AskCommitted
)
GroupToApplication = (
    AssignmentChanged | GroupFailed | GroupWaiting | MemberChanged | SessionConfirmed | CommitDone | NoCommittedOffset
)
