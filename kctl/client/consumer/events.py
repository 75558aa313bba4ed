"""The events between the application thread and the network thread of a consumer: all that the two ever share.

Owns the types alone. `ToNetwork` and `Query` go one way, `ToApplication` the other, each in order, through one deque.
An `epoch` numbers every decision of the application about a partition (assign, seek, reset); what the network says
about an older epoch is dropped, so nothing that was fetched before a seek can be delivered after it.
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
from kctl.client.requests.list_offsets import OffsetAndTimestamp
from kctl.client.runtime import Waiter

EARLIEST_TIMESTAMP = -2
LATEST_TIMESTAMP = -1
"""Timestamps that ListOffsets reads as the first and the next offset of a partition."""


# --- application to network -----------------------------------------------------------------------------------------


class StartFetch(NamedTuple):
    """Fetch this partition from `offset` on; replaces whatever was asked for it before.

    Attributes:
        leader_epoch: of the record before `offset`, where that is known: the log is checked to hold it still.
        topic_id: of the only topic that may be read under this name; NO_TOPIC_ID: whichever has it.
        end_offset: nothing is fetched from there on.
    """

    topic_partition: TopicPartition
    epoch: int
    offset: int
    leader_epoch: int = NO_EPOCH
    topic_id: bytes = NO_TOPIC_ID
    end_offset: int = MAX_OFFSET


class ResolvePosition(NamedTuple):
    """Find where the partition starts; stop fetching it until then.

    Attributes:
        timestamp_ms: where, or None for no reset policy at all.
        is_committed_first: the group's committed offset comes first, the timestamp only where there is none.
    """

    topic_partition: TopicPartition
    epoch: int
    timestamp_ms: int | None
    is_committed_first: bool = False


class Forget(NamedTuple):
    """The partition is not assigned any more."""

    topic_partition: TopicPartition


class Pause(NamedTuple):
    """Pause or resume fetching, keeping what was fetched."""

    topic_partition: TopicPartition
    paused: bool


class Consumed(NamedTuple):
    """The application is done with every chunk up to `next_offset`, so as much may be fetched again; repeatable."""

    topic_partition: TopicPartition
    epoch: int
    next_offset: int


class PositionMoved(NamedTuple):
    """A position was reset without a call of the application; the event sink is notified on the network thread."""

    topic_partition: TopicPartition
    old_offset: int
    new_offset: int
    cause: ResetCause


class AskTopics(NamedTuple):
    """Look up topics (None: all of them) and answer with `TopicsAnswer`."""

    call_id: int
    topics: tuple[str, ...] | None
    deadline_at_ms: int


class AskOffsets(NamedTuple):
    """Look up offsets by timestamp and answer with `OffsetsAnswer`.

    Attributes:
        is_background: no call waits: a `LookupNews` reports each partition as its leader responds.
        reads_uncommitted: the end is that of the log, independent of isolation.level.
    """

    call_id: int
    timestamps: tuple[tuple[TopicPartition, int], ...]
    deadline_at_ms: int
    is_background: bool = False
    reads_uncommitted: bool = False


class AskClientInstanceId(NamedTuple):
    """Answer with the id that the cluster knows this client by, 16 bytes."""

    call_id: int
    deadline_at_ms: int


class AbandonCall(NamedTuple):
    """Stop a look-up in the background."""

    call_id: int


class TryAgain(NamedTuple):
    """The application has raised the error that no broker accepts the login; it wants another attempt."""


PartitionToNetwork = StartFetch | ResolvePosition | Forget | Pause | Consumed | PositionMoved
ToNetwork = PartitionToNetwork | AskOffsets | AbandonCall | TryAgain | GroupToNetwork
Question = AskTopics | AskOffsets | AskClientInstanceId | AskCommitted | CommitSync


# --- network to application -----------------------------------------------------------------------------------------


class Fetched(NamedTuple):
    """Data of one partition, in offset order."""

    chunk: FetchedChunk


class PartitionFailed(NamedTuple):
    """Nothing more comes for the partition until the application decides: `offset` is where it stopped."""

    topic_partition: TopicPartition
    epoch: int
    offset: int
    error: KafkaError


class Truncated(NamedTuple):
    """The leader's log is not the one that was read; nothing more comes until the application decides.

    Attributes:
        offset: where fetching stopped.
        end_offset: the first offset that may hold another record now; -1 where the leader does not know.
        leader_epoch: the leader epoch that ends there.
        is_recreated: the topic was deleted and recreated, so that all of its log is another one.
    """

    topic_partition: TopicPartition
    epoch: int
    offset: int
    end_offset: int
    leader_epoch: int
    is_recreated: bool = False


class GiveBack(NamedTuple):
    """Paused partitions hold the room that others need: drop what is unread, it is fetched again when it is wanted."""

    topic_partition: TopicPartition
    epoch: int


class PositionResolved(NamedTuple):
    """Where the partition starts; `leader_epoch` is that of the record before, where it is known."""

    topic_partition: TopicPartition
    epoch: int
    offset: int
    leader_epoch: int = NO_EPOCH


class Waiting(NamedTuple):
    """Why nothing comes from the partition right now; an empty reason means that data flows.

    Attributes:
        kind, node_id, cause: as in `WaitReason`.
        at_ms: start of the wait; 0: the instant of the report.
    """

    topic_partition: TopicPartition
    epoch: int
    reason: str
    kind: WaitKind = WaitKind.ANSWER
    node_id: int | None = None
    cause: KafkaError | None = None
    at_ms: int = 0


class WaitReport(NamedTuple):
    """The waits of all partitions of one turn of the network thread, reported at one instant."""

    waits: list[Waiting]
    at_ms: int


TopicsAnswer = Mapping[str, tuple[PartitionInfo, ...]]
OffsetsAnswer = Mapping[TopicPartition, OffsetAndTimestamp | None]


class LookupNews(NamedTuple):
    """What a background look-up knows of a partition: its offset (None: none found), an error, or what it waits for."""

    call_id: int
    topic_partition: TopicPartition
    result: OffsetAndTimestamp | KafkaError | WaitReason | None


Result = TopicsAnswer | OffsetsAnswer | CommittedAnswer | bytes | None


class CallDone(NamedTuple):
    """The outcome of a `Question`, from its manager to the loop: an `error`, or the `result` of what was asked."""

    call_id: int
    result: Result
    error: KafkaError | None


class NetworkFailed(NamedTuple):
    """No broker accepts the connection, for a reason that waiting does not cure; None: that is over."""

    error: KafkaError | None


class Query(Call):
    """A blocking question of the application; `result` is what was asked."""

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
"""Reports of managers to the loop: it ends the query of a CallDone, gathers Waitings, and passes on the others."""
