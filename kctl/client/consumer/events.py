"""Events between the application thread and the network thread of a consumer.

An `epoch` numbers each decision of the application about a partition. Events of older epochs are dropped.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kctl.client.clock import Timer
from kctl.client.cluster import NO_EPOCH, NO_TOPIC_ID, PartitionInfo, TopicPartition
from kctl.client.consumer.chunk import MAX_OFFSET, FetchedChunk
from kctl.client.consumer.group.events import (
    AskCommitted,
    CommitSync,
    CommittedAnswer,
    GroupToApplication,
    GroupToNetwork,
)
from kctl.client.consumer.waiting import WaitKind, WaitReason
from kctl.client.errors import ApiTimeout, KafkaError
from kctl.client.events import ResetCause
from kctl.client.loop.mailbox import Call
from kctl.client.requests.list_offsets import EARLIEST, LATEST, OffsetAndTimestamp
from kctl.client.runtime import Waiter

EARLIEST_TIMESTAMP = EARLIEST
LATEST_TIMESTAMP = LATEST
"""Timestamps that ListOffsets treats as the first and the next offset of a partition."""


# --- application to network -----------------------------------------------------------------------------------------


class StartFetch(NamedTuple):
    """Fetch a partition from `offset` on, instead of earlier offsets.

    Attributes:
        leader_epoch: leader epoch of the record before `offset`, if known, to detect log truncation.
        topic_id: required topic id; NO_TOPIC_ID for any.
        is_after_error: whether the application got an error and did not move the position.
    """

    topic_partition: TopicPartition
    epoch: int
    offset: int
    leader_epoch: int = NO_EPOCH
    topic_id: bytes = NO_TOPIC_ID
    end_offset: int = MAX_OFFSET
    is_after_error: bool = False


class ResolvePosition(NamedTuple):
    """Find the start position of a partition; the partition is not fetched until then.

    Attributes:
        timestamp_ms: time at which the position starts; None without a reset policy.
        is_committed_first: whether a committed offset has priority over the timestamp.
    """

    topic_partition: TopicPartition
    epoch: int
    timestamp_ms: int | None
    is_committed_first: bool = False


class Forget(NamedTuple):
    """The application has unassigned the partition."""

    topic_partition: TopicPartition


class Pause(NamedTuple):
    """Pause or resume fetching of a partition; fetched data is kept."""

    topic_partition: TopicPartition
    paused: bool


class Consumed(NamedTuple):
    """The application has consumed the chunks up to `next_offset`; the event may be repeated."""

    topic_partition: TopicPartition
    epoch: int
    next_offset: int


class PositionMoved(NamedTuple):
    """A position was reset automatically; the network thread notifies the event sink."""

    topic_partition: TopicPartition
    old_offset: int
    new_offset: int
    cause: ResetCause


class AskTopics(NamedTuple):
    """Query topics, or all topics if None; the result is a `TopicsAnswer`."""

    call_id: int
    topics: tuple[str, ...] | None
    deadline_at_ms: int


class AskOffsets(NamedTuple):
    """Query offsets by timestamp; the result is an `OffsetsAnswer`.

    Attributes:
        is_background: whether the result is a `LookupNews` for each partition, because no call waits.
        reads_uncommitted: whether to use the end of the log, regardless of isolation.level.
    """

    call_id: int
    timestamps: tuple[tuple[TopicPartition, int], ...]
    deadline_at_ms: int
    is_background: bool = False
    reads_uncommitted: bool = False


class AskClientInstanceId(NamedTuple):
    call_id: int
    deadline_at_ms: int


class AbandonCall(NamedTuple):
    call_id: int


class TryAgain(NamedTuple):
    """Connect again. Sent when the application gets the error of a client that no broker accepts."""


PartitionToNetwork = StartFetch | ResolvePosition | Forget | Pause | Consumed | PositionMoved
ToNetwork = PartitionToNetwork | AskOffsets | AbandonCall | TryAgain | GroupToNetwork
Question = AskTopics | AskOffsets | AskClientInstanceId | AskCommitted | CommitSync


# --- network to application -----------------------------------------------------------------------------------------


class Fetched(NamedTuple):
    """Fetched data of one partition; the events of a partition are in offset order."""

    chunk: FetchedChunk


class PartitionFailed(NamedTuple):
    """Fetching has stopped at `offset` until the application decides."""

    topic_partition: TopicPartition
    epoch: int
    offset: int
    error: KafkaError


class Truncated(NamedTuple):
    """The leader's log differs from the log that was read; fetching has stopped until the application decides.

    Attributes:
        end_offset: first offset at which records may differ; -1 if unknown.
        leader_epoch: leader epoch that ends at `end_offset`.
        is_recreated: whether the topic was deleted and recreated.
    """

    topic_partition: TopicPartition
    epoch: int
    offset: int
    end_offset: int
    leader_epoch: int
    is_recreated: bool = False


class GiveBack(NamedTuple):
    """Drop the unread data of a paused partition, because others need its memory; it is fetched again later."""

    topic_partition: TopicPartition
    epoch: int


class PositionResolved(NamedTuple):
    """The start position of a partition was found.

    Attributes: leader_epoch: leader epoch of the record before `offset`, if known.
    """

    topic_partition: TopicPartition
    epoch: int
    offset: int
    leader_epoch: int = NO_EPOCH


class Waiting(NamedTuple):
    """Reason why no data arrives from a partition; empty if data arrives.

    Attributes:
        kind, node_id, cause: as in `WaitReason`.
        at_ms: start of the wait; 0 means the time of the report.
    """

    topic_partition: TopicPartition
    epoch: int
    reason: str
    kind: WaitKind = WaitKind.ANSWER
    node_id: int | None = None
    cause: KafkaError | None = None
    at_ms: int = 0


class WaitReport(NamedTuple):
    waits: list[Waiting]
    at_ms: int


TopicsAnswer = Mapping[str, tuple[PartitionInfo, ...]]
OffsetsAnswer = Mapping[TopicPartition, OffsetAndTimestamp | None]


class LookupNews(NamedTuple):
    """News of a background query for one partition.

    Attributes: result: the offset, None if no record was found, an error, or the reason of a delay.
    """

    call_id: int
    topic_partition: TopicPartition
    result: OffsetAndTimestamp | KafkaError | WaitReason | None


Result = TopicsAnswer | OffsetsAnswer | CommittedAnswer | bytes | None


class CallDone(NamedTuple):
    """Result of a `Question`, from the manager that handled it to the loop."""

    call_id: int
    result: Result
    error: KafkaError | None


class NetworkFailed(NamedTuple):
    """No broker accepts the client, and waiting does not help; None if a broker accepts it again."""

    error: KafkaError | None


class Query(Call):
    __slots__ = ("question", "result")

    TIMEOUT_ERROR = ApiTimeout

    def __init__(self, question: Question, timer: Timer, waiter: Waiter) -> None:
        super().__init__(timer, waiter)
        self.question = question
        self.result: Result = None


ToApplication = (
    Fetched
    | LookupNews
    | PartitionFailed
    | Truncated
    | GiveBack
    | PositionResolved
    | WaitReport
    | NetworkFailed
    | GroupToApplication
)
Report = ToApplication | Waiting | CallDone
"""Events from managers to the loop. It finishes the query of a CallDone, collects Waitings, and passes on others."""
