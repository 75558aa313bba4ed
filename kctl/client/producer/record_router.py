"""RecordRouter: assigns partitions to accepted records, queues them, and ends waits for a topic's partitions.

It keeps records of topics that have vanished, in order, and forgets topics that were not used for metadata.max.idle.ms.
The network loop owns it.
"""

from collections import deque
from collections.abc import Callable, Iterable

from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import TopicInfo, TopicPartition
from kctl.client.cluster_client import ClusterClient, TimeMark
from kctl.client.config import ProducerConfig
from kctl.client.errors import BrokerError, KafkaError
from kctl.client.producer.accumulator import Accumulator
from kctl.client.producer.delivery_tracker import DeliveryTracker
from kctl.client.producer.future import NO_PARTITION, Outcome, SendFuture
from kctl.client.producer.mailbox import Event, TopicWait
from kctl.client.producer.partitioner import Partitioner
from kctl.client.producer.record_run import RecordRun
from kctl.client.requests.leaders import missing_partition
from kctl.client.requests.retry import PRODUCER_METADATA


class _Asked:
    __slots__ = ("time_mark", "version", "wait")

    def __init__(self, wait: TopicWait, version: int, time_mark: TimeMark) -> None:
        self.wait = wait
        self.version = version
        self.time_mark = time_mark


class RecordRouter:
    def __init__(
        self,
        config: ProducerConfig,
        client: ClusterClient,
        partitioner: Partitioner,
        accumulator: Accumulator,
        deliveries: DeliveryTracker,
        refusal: Callable[[], KafkaError | None] | None = None,
    ) -> None:
        self._client = client
        self._max_idle_ms = config.metadata_max_idle_ms
        self._used_at_ms: dict[str, int] = {}
        """Time of the last use of each topic that was sent to."""
        self._look_for_idle_at_ms = FOREVER_MS
        self._partitioner = partitioner
        self._accumulator = accumulator
        self._deliveries = deliveries
        self._awaiting_metadata: dict[str, deque[RecordRun]] = {}
        """Records of topics that are missing in the metadata, by topic."""
        self._asked: list[_Asked] = []
        self._seen_version = 0
        self._refusal = refusal
        self._used_in_turn: set[str] = set()
        """Topics whose use was recorded in the current turn."""

    # --- records ------------------------------------------------------------------------------------------------------

    def route(self, events: Iterable[Event], other: Callable[[Event], None]) -> None:
        """Accept records and runs in order; pass other events to `other`."""
        self._partitioner.refresh()
        self._used_in_turn.clear()
        for event in events:
            if type(event) is list:
                if not self._extend(event):
                    self._accept(RecordRun.of_futures(event))
            elif type(event) is RecordRun:
                self._accept(event)
            else:
                other(event)

    def _extend(self, records: list[SendFuture]) -> bool:
        partition = records[0].partition
        if partition == NO_PARTITION or self._refusal is not None:
            return False
        topic = self._known(records[0].topic)
        if topic is None or partition not in topic.partitions:
            return False
        queue = self._accumulator.queues(topic.name).get(partition)
        if queue is None or not queue.extend(records, self._deliveries.open_group):
            return False
        self._deliveries.count_in(len(records))
        return True

    def _accept(self, run: RecordRun) -> None:
        self._deliveries.accept(run)
        refusal = None if self._refusal is None else self._refusal()
        if refusal is not None:  # `send` has checked this, but another thread may have ended the transaction since
            self._deliveries.finish([run], Outcome(refusal))
            return
        topic = self._known(run.topic)
        if topic is None:
            self._keep(run)
        else:
            self._place(run, topic)

    def _known(self, name: str) -> TopicInfo | None:
        self._used(name)
        topic = self._client.metadata.cluster.topics.get(name)
        return None if topic is None or not topic.partitions or name in self._awaiting_metadata else topic

    def _keep(self, run: RecordRun) -> None:
        self._awaiting_metadata.setdefault(run.topic, deque()).append(run)
        self._client.metadata.add_topic(run.topic)

    def _place(self, run: RecordRun, topic: TopicInfo) -> None:
        for each in self._partitioner.assign(run, topic):
            if each.partition in topic.partitions:
                self._accumulator.add(each)
            else:
                error = missing_partition(each.topic_partition, len(topic.partitions))
                self._deliveries.finish([each], Outcome(error))

    def refresh(self) -> None:
        """After a metadata change, queue the kept records of known topics, and end waits."""
        version = self._client.metadata.version
        if version == self._seen_version:
            return
        self._seen_version = version
        topics = self._client.metadata.cluster.topics
        for name in [name for name in self._awaiting_metadata if name in topics and topics[name].partitions]:
            for run in self._awaiting_metadata.pop(name):
                self._place(run, topics[name])
        self._answer()

    def pop_expired(self, now_ms: int, delivery_timeout_ms: int) -> list[RecordRun]:
        expired: list[RecordRun] = []
        for name, runs in list(self._awaiting_metadata.items()):
            while runs and (count := runs[0].expired_count(now_ms, delivery_timeout_ms)):
                expired.append(runs.popleft() if count == runs[0].count else runs[0].cut_off(count))
            if not runs:
                del self._awaiting_metadata[name]
        return expired

    def outstanding(self) -> dict[TopicPartition, tuple[int, int]]:
        """Return how many kept records would be failed and unknown (0) if all failed now, by partition."""
        found: dict[TopicPartition, tuple[int, int]] = {}
        for runs in self._awaiting_metadata.values():
            for run in runs:
                failed, _ = found.get(run.topic_partition, (0, 0))
                found[run.topic_partition] = (failed + run.count, 0)
        return found

    def pop_all(self) -> list[RecordRun]:
        taken = [run for runs in self._awaiting_metadata.values() for run in runs]
        self._awaiting_metadata.clear()
        return taken

    # --- unused topics ------------------------------------------------------------------------------------------------

    def _used(self, topic: str) -> None:
        if topic in self._used_in_turn:
            return
        self._used_in_turn.add(topic)
        now_ms = self._client.clock.now_ms()
        self._used_at_ms[topic] = now_ms
        self._look_for_idle_at_ms = min(self._look_for_idle_at_ms, now_ms + self._max_idle_ms)

    def forget_idle(self, now_ms: int) -> None:
        """Forget topics that were not used for metadata.max.idle.ms.

        Source: Java's ProducerMetadata. Differs: topics are dropped when their time is over, not at the next refresh.
        """
        if now_ms < self._look_for_idle_at_ms:
            return
        asked = {asked.wait.topic for asked in self._asked}
        for name, used_at_ms in list(self._used_at_ms.items()):
            if not self._accumulator.is_idle(name) or name in self._awaiting_metadata or name in asked:
                self._used_at_ms[name] = now_ms
            elif used_at_ms + self._max_idle_ms <= now_ms:
                del self._used_at_ms[name]
                self._partitioner.forget(name)
        self._client.metadata.want_topics(self._used_at_ms)
        self._look_for_idle_at_ms = min(self._used_at_ms.values(), default=FOREVER_MS) + self._max_idle_ms

    # --- waits --------------------------------------------------------------------------------------------------------

    def ask(self, wait: TopicWait) -> None:
        """End the wait when it is known whether the topic, and the partition if given, exists."""
        self._used(wait.topic)
        metadata = self._client.metadata
        topic = metadata.cluster.topics.get(wait.topic)
        if topic is not None and is_usable(topic, wait.partition):
            wait.finish()
            return
        metadata.add_topic(wait.topic)
        if topic is not None:
            metadata.request_update()
        self._client.network.status.clear_refusals()
        self._asked.append(_Asked(wait, metadata.version, self._client.time_mark()))

    def _answer(self) -> None:
        for asked in list(self._asked):
            topic = self._client.metadata.cluster.topics.get(asked.wait.topic)
            if topic is None or asked.version == self._client.metadata.version:
                continue
            partition = asked.wait.partition
            if is_usable(topic, partition):
                self._finish(asked, None)
            elif topic.partitions and partition is not None:
                self._finish(asked, missing_partition(TopicPartition(topic.name, partition), len(topic.partitions)))
            elif topic.error is not None and self._is_final(topic.error):
                self._finish(asked, topic.error)

    def _is_final(self, error: BrokerError) -> bool:
        """Return whether retries cannot help. An unknown topic is final unless it may be created."""
        is_unknown = error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return not PRODUCER_METADATA.is_retried(error) or (is_unknown and not self._client.metadata.creates_topics)

    def expire(self, now_ms: int) -> None:
        for asked in [asked for asked in self._asked if asked.wait.timer.deadline_at_ms <= now_ms]:
            topic = self._client.metadata.cluster.topics.get(asked.wait.topic)
            cause = topic.error if topic is not None and topic.error is not None else self._client.last_error()
            account = self._client.account_since(asked.time_mark)
            waiting_for = f"waiting for the metadata of topic {asked.wait.topic}"
            self._finish(asked, asked.wait.timed_out(waiting_for, cause, account))

    def fail_waits(self, error: KafkaError) -> None:
        for asked in list(self._asked):
            self._finish(asked, error)

    @property
    def has_waits(self) -> bool:
        return bool(self._asked)

    def _finish(self, asked: _Asked, error: KafkaError | None) -> None:
        self._asked.remove(asked)
        asked.wait.finish(error)

    def next_deadline_at_ms(self, delivery_timeout_ms: int) -> int:
        if not self._asked and not self._awaiting_metadata:
            return self._look_for_idle_at_ms
        waits = [asked.wait.timer.deadline_at_ms for asked in self._asked]
        heads = [runs[0].created_at_ms + delivery_timeout_ms for runs in self._awaiting_metadata.values()]
        return min([self._look_for_idle_at_ms, *waits, *heads])


def is_usable(topic: TopicInfo, partition: int | None) -> bool:
    return bool(topic.partitions) and (partition is None or partition in topic.partitions)
