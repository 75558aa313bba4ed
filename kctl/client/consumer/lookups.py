"""Lookups: queries of the application to the cluster, as blocking calls or in the background."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, cast

from kctl.client.clock import FOREVER_MS, Timer
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.events import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    AbandonCall,
    AskClientInstanceId,
    AskOffsets,
    AskTopics,
    LookupNews,
    OffsetsAnswer,
    TopicsAnswer,
)
from kctl.client.consumer.group.events import AskCommitted, CommittedAnswer
from kctl.client.consumer.mailbox import ConsumerMailbox
from kctl.client.consumer.waiting import WaitReason
from kctl.client.errors import KafkaError
from kctl.client.lifetime import NotCopied
from kctl.client.requests.group_offsets import OffsetAndMetadata
from kctl.client.requests.list_offsets import OffsetAndTimestamp

if TYPE_CHECKING:
    from uuid import UUID


class OffsetLookup(NotCopied):
    """Background query of offsets, without a timeout; each partition has its own result.

    A leader that does not respond delays only its own partitions. Results arrive during `poll` and `poll_chunk`, which
    then return early without records. `close` ends the query. Not in Java.

    Attributes:
        found: offsets by partition; None if no record is at or after the timestamp.
        failed: errors that are not retriable, by partition.
        waiting: reasons for missing results, by partition.
    """

    def __init__(self, asked: Iterable[TopicPartition], cancel: Callable[[], None]) -> None:
        self.found: dict[TopicPartition, OffsetAndTimestamp | None] = {}
        self.failed: dict[TopicPartition, KafkaError] = {}
        self.waiting: dict[TopicPartition, WaitReason] = {}
        self._pending = dict.fromkeys(asked)
        self._cancel = cancel

    @property
    def pending(self) -> list[TopicPartition]:
        """Partitions without a result."""
        return list(self._pending)

    @property
    def is_over(self) -> bool:
        """Whether every partition has a result."""
        return not self._pending

    def cancel(self) -> None:
        """Stop the query."""
        self._pending.clear()
        self.waiting.clear()
        self._cancel()

    def on_news(self, news: LookupNews) -> bool:
        """Apply news from the network thread; return whether the news is a result."""
        tp, result = news.topic_partition, news.result
        if tp not in self._pending:
            return False
        if isinstance(result, WaitReason):
            self.waiting[tp] = result
            return False
        del self._pending[tp]
        self.waiting.pop(tp, None)
        if isinstance(result, KafkaError):
            self.failed[tp] = result
        else:
            self.found[tp] = result
        return True


class Lookups:
    def __init__(self, mailbox: ConsumerMailbox) -> None:
        self._mailbox = mailbox
        self._open: dict[int, OffsetLookup] = {}
        self._has_results = False

    # --- in the background --------------------------------------------------------------------------------------------

    def start(self, timestamps_ms: Mapping[TopicPartition, int], *, reads_uncommitted: bool) -> OffsetLookup:
        """Start a background query; `drain` applies its results.

        Args: reads_uncommitted: whether to use the end of the log, regardless of isolation.level.
        """
        asked = tuple((TopicPartition(*tp), timestamp_ms) for tp, timestamp_ms in timestamps_ms.items())
        for tp, timestamp_ms in asked:
            if timestamp_ms < EARLIEST_TIMESTAMP:
                raise ValueError(f"invalid timestamp for {tp}: {timestamp_ms}")
        if not asked:
            return OffsetLookup((), lambda: None)
        call_id = self._mailbox.next_call_id()
        lookup = self._open[call_id] = OffsetLookup((tp for tp, _ in asked), lambda: self._cancel(call_id))
        self._mailbox.post(AskOffsets(call_id, asked, FOREVER_MS, True, reads_uncommitted))
        return lookup

    def _cancel(self, call_id: int) -> None:
        if self._open.pop(call_id, None) is not None:
            self._mailbox.post(AbandonCall(call_id))

    def on_news(self, news: LookupNews) -> None:
        lookup = self._open.get(news.call_id)
        if lookup is not None:
            self._has_results |= lookup.on_news(news)
            if lookup.is_over:
                del self._open[news.call_id]

    @property
    def are_open(self) -> bool:
        return bool(self._open) or self._has_results

    def had_results(self) -> bool:
        had, self._has_results = self._has_results, False
        return had

    # --- blocking -----------------------------------------------------------------------------------------------------

    def topics(self, topics: tuple[str, ...] | None, timer: Timer) -> TopicsAnswer:
        answer = self._mailbox.query(lambda call_id: AskTopics(call_id, topics, timer.deadline_at_ms), timer)
        return cast(TopicsAnswer, answer)

    def offsets(
        self, timestamps_ms: Mapping[TopicPartition, int], timer: Timer
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        asked = tuple((TopicPartition(*tp), timestamp_ms) for tp, timestamp_ms in timestamps_ms.items())
        if not asked:
            return {}
        answer = self._mailbox.query(lambda call_id: AskOffsets(call_id, asked, timer.deadline_at_ms), timer)
        found = cast(OffsetsAnswer, answer)
        return {tp: found[tp] for tp, _ in asked}

    def ends(
        self, topic_partitions: Iterable[TopicPartition], timestamp_ms: int, timer: Timer
    ) -> dict[TopicPartition, int]:
        found = self.offsets(dict.fromkeys(topic_partitions, timestamp_ms), timer)
        return {tp: 0 if each is None else each.offset for tp, each in found.items()}

    def client_instance_id(self, timer: Timer) -> "UUID":
        from uuid import UUID  # deferred import: keeps start-up fast

        answer = self._mailbox.query(lambda call_id: AskClientInstanceId(call_id, timer.deadline_at_ms), timer)
        return UUID(bytes=cast(bytes, answer))

    def position(self, topic_partition: TopicPartition, timestamp_ms: int, timer: Timer) -> int:
        """Return the first offset at or after a timestamp; the end if no such record exists."""
        for wanted_ms in (timestamp_ms, LATEST_TIMESTAMP):
            found = self.offsets({topic_partition: wanted_ms}, timer)[topic_partition]
            if found is not None:
                return found.offset
        return 0

    def committed(
        self, topic_partitions: Iterable[TopicPartition], timer: Timer
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        asked = tuple(TopicPartition(*tp) for tp in topic_partitions)
        if not asked:
            return {}
        answer = self._mailbox.query(lambda call_id: AskCommitted(call_id, asked, timer.deadline_at_ms), timer)
        found = cast(CommittedAnswer, answer)
        return {tp: found[tp] for tp in asked}
