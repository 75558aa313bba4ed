"""PositionCheck: checks by OffsetForLeaderEpoch that the log of a new leader contains the records read before.

Source: KIP-320. If the leader epoch of the last record ends before the position, the new leader has lost records.
"""

from collections.abc import Callable, Iterable, Mapping

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import NO_EPOCH, PartitionInfo, TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.fetch.partition import Entry, FetchState
from kctl.client.consumer.fetch.reports import PartitionReports
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import KafkaError
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.protocol.api.partition_offsets import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kctl.client.requests.items import each_once
from kctl.client.requests.leaders import Leaders

FIRST_VERSION_FOR_CONSUMERS = 3
"""Earlier versions required permission to alter the cluster; Java skips the check as well."""
CONSUMER = -1
"""Replica id of clients."""


class PositionCheck:
    def __init__(
        self,
        config: ConsumerConfig,
        leaders: Leaders,
        reports: PartitionReports,
        current: Callable[[Mapping[TopicPartition, int], int], dict[TopicPartition, FetchState]],
    ) -> None:
        """Args: current: marks the partitions of a request as not in flight, and returns those whose epoch still
        matches.
        """
        self._request_timeout_ms = config.request_timeout_ms
        self._leaders = leaders
        self._reports = reports
        self._current = current

    @staticmethod
    def is_due(state: FetchState, info: PartitionInfo) -> bool:
        return state.fetched_epoch > NO_EPOCH and NO_EPOCH < info.leader_epoch != state.checked_epoch

    def request(self, node_id: int, entries: Iterable[Entry]) -> Outgoing | None:
        """Return the request, or None if the leader does not support it; then all partitions count as checked."""
        if not self._leaders.speaks(node_id, OffsetForLeaderEpochRequest, FIRST_VERSION_FOR_CONSUMERS):
            for _, state, info in entries:
                state.checked_epoch = info.leader_epoch
            return None
        topics: dict[str, OffsetForLeaderTopic] = {}
        epochs: dict[TopicPartition, int] = {}
        for tp, state, info in entries:
            epochs[tp] = state.epoch
            state.node_id = node_id
            state.asked_epoch = info.leader_epoch
            self._reports.wait(
                tp,
                state,
                f"requesting the end of leader epoch {state.fetched_epoch} "
                f"from the new leader {self._leaders.name_of(node_id)}",
                WaitKind.ANSWER,
                node_id=node_id,
            )
            topic = topics.setdefault(tp.topic, OffsetForLeaderTopic(topic=tp.topic))
            topic.partitions.append(
                OffsetForLeaderPartition(
                    partition=tp.partition,
                    current_leader_epoch=info.leader_epoch,
                    leader_epoch=state.fetched_epoch,
                )
            )
        request = OffsetForLeaderEpochRequest(replica_id=CONSUMER, topics=list(topics.values()))
        return Outgoing(
            node_id, request, self._request_timeout_ms, lambda answer: self._on_answer(node_id, epochs, answer)
        )

    def _on_answer(self, node_id: int, epochs: dict[TopicPartition, int], answer: Answer) -> None:
        asked = self._current(epochs, node_id)
        ends: Mapping[TopicPartition, EpochEndOffset | KafkaError]
        if isinstance(answer.response, OffsetForLeaderEpochResponse):
            parts = [(topic.topic, part) for topic in answer.response.topics for part in topic.partitions]
            items = [(TopicPartition(name, part.partition), part) for name, part in parts]
            ends = each_once(items, epochs, "OffsetForLeaderEpoch", self._leaders.name_of(node_id))
        else:
            assert answer.error is not None
            ends = dict.fromkeys(asked, answer.error)
        for tp, state in asked.items():
            found = ends[tp]
            if isinstance(found, KafkaError):
                self._reports.retry(tp, state, found, answer.received_at_ms)
            else:
                self._on_partition(tp, state, found, answer.received_at_ms)

    def _on_partition(self, tp: TopicPartition, state: FetchState, found: EpochEndOffset, now_ms: int) -> None:
        if found.error_code != ErrorCode.NONE:
            self._reports.retry(tp, state, broker_error(found.error_code, f"look up the leader epoch of {tp}"), now_ms)
        elif found.end_offset < state.next_offset:  # -1 if the leader does not know that epoch
            self._reports.truncated(tp, state, found.end_offset, found.leader_epoch)
        else:
            state.checked_epoch = state.asked_epoch
            self._reports.wait(tp, state, "")
