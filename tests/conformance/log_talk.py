"""What is said to one broker about groups and compacted topics, and what they leave in logs.

Member ids that a broker makes up, producer ids, topic ids and instants of now are replaced by words. Used by
test_sandbox_logs_against_kafka.py.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from kctl.client.clock import SystemClock
from kctl.client.protocol.api.committed_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kctl.client.protocol.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.protocol.api.group_membership import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from kctl.client.protocol.api.groups import DeleteGroupsRequest, DeleteGroupsResponse
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kctl.client.protocol.api.partition_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kctl.client.protocol.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from kctl.client.protocol.api.topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kctl.client.records import BatchReader
from kctl.sandbox.batches import StoredBatch, header_of
from kctl.sandbox.record_walk import records_of
from tests.conformance.transaction_talk import TransactionTalk
from tests.loopback.sandbox.peer import Peer
from tests.support.bounds import bound
from tests.support.kafka.waiting import wait_until
from tests.unit.sandbox.scenario import batch

OFFSETS = "__consumer_offsets"
SESSION_MS = 30_000
PATIENCE_MS = bound(30_000)
NOW_MS = SystemClock().wall_ms()
LONG_AGO_MS = NOW_MS - 86_400_000
TRANSACTIONAL = 0x10
SEGMENT_S = 3_600
"""A record this much later than the first one of a segment begins another. Only what lies before the last segment is
compacted: a scenario writes all that is to be compacted at once, then the record that begins the next segment.
"""
_MADE_UP = re.compile(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_INSTANT = re.compile(rb"\x00\x00\x01[\x90-\xff].{4}", re.DOTALL)
"""Milliseconds since the epoch in this quarter of the century."""


class LogTalk(TransactionTalk):
    """Requests of one group and of producers, and what they leave in logs."""

    def __init__(self, peer: Peer, topic: str, compacted_to: Callable[[str], int]) -> None:
        """Args: compacted_to: returns up to which offset the one partition of a topic is compacted."""
        super().__init__(peer, topic, 2)
        self._compacted_to = compacted_to

    def fetched(self, topic: str, partition: int) -> list[StoredBatch]:
        """Return the batches of a partition."""
        at, end = (self.offset_at(topic, partition, when) for when in (-2, -1))
        found: list[StoredBatch] = []
        while at < end:  # Kafka ends a read with the segment
            asked = FetchPartition(partition=partition, fetch_offset=at, partition_max_bytes=1 << 20)
            request = FetchRequest(
                session_epoch=-1, max_bytes=1 << 24, topics=[FetchTopic(topic=topic, partitions=[asked])]
            )
            ((data,),) = (one.partitions for one in self.call(request, FetchResponse, 12).responses)
            left = bytes(data.records or b"")
            list(BatchReader(left))  # its checksums are right, and the client can read it
            while left:
                header = header_of(left)
                found.append(StoredBatch(header, left[: header.length + 12]))
                left = left[header.length + 12 :]
            if found and found[-1].header.last_offset < at:
                break
            at = found[-1].header.last_offset + 1 if found else end
        return found

    def offset_at(self, topic: str, partition: int, timestamp: int) -> int:
        """Return an offset by time; -2 is the start, -1 the end."""
        asked = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
        topics = [ListOffsetsTopic(name=topic, partitions=[asked])]
        answer = self.call(ListOffsetsRequest(replica_id=-1, topics=topics), ListOffsetsResponse, 9)
        return answer.topics[0].partitions[0].offset

    def shown_batches(self, topic: str, partition: int, hide: Callable[[bytes], bytes] = bytes) -> list[Any]:
        """Return what is compared of a partition's batches; instants of now are None."""
        return [
            (
                [header.base_offset, header.last_offset_delta, header.attributes, header.records_count],
                [self.label(header.producer_id), header.producer_epoch, header.base_sequence],
                [_past(header.base_timestamp_ms), _past(header.max_timestamp_ms)],
                [(one.offset_delta, _past(one.timestamp_ms), hide(one.content)) for one in records_of(header, data)],
            )
            for header, data in self.fetched(topic, partition)
        ]

    # --- groups -----------------------------------------------------------------------------------------------------

    def offsets_log(self) -> list[Any]:
        """Return what metadata says of __consumer_offsets, and every batch in it."""
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=OFFSETS)], allow_auto_topic_creation=False)
        (topic,) = self.call(asked, MetadataResponse, 12).topics
        logs = [self.shown_batches(OFFSETS, index, self._hide) for index in range(len(topic.partitions))]
        ours = [(index, self._of_group(log)) for index, log in enumerate(logs) if self._of_group(log)]
        return [topic.is_internal, len(topic.partitions), ours]

    def _of_group(self, log: list[Any]) -> list[Any]:
        """Return the batches from the group's first one on, numbered from 0: those before are of other tests."""
        name = self.group_id.encode()
        first = next((number for number, one in enumerate(log) if any(name in each[2] for each in one[3])), len(log))
        ours = log[first:]
        return [([one[0][0] - ours[0][0][0], *one[0][1:]], *one[1:]) for one in ours]

    def _hide(self, content: bytes) -> bytes:
        hidden = _MADE_UP.sub(b"made up", content).replace(self.topic_id, b"the topic's id")
        return _INSTANT.sub(b"now", hidden)

    def commit(self, member_id: str = "", generation: int = -1, **offsets: int) -> list[int]:
        partitions = [
            OffsetCommitRequestPartition(
                partition_index=int(name[1:]),
                committed_offset=offset,
                committed_leader_epoch=0 if name == "p1" else -1,
                committed_metadata="m" if name == "p1" else None,
            )
            for name, offset in offsets.items()
        ]
        request = OffsetCommitRequest(
            group_id=self.group_id,
            member_id=member_id,
            generation_id_or_member_epoch=generation,
            topics=[OffsetCommitRequestTopic(name=self.topic, partitions=partitions)],
        )
        answer = self.call(request, OffsetCommitResponse, 9)
        answered = [one for topic in answer.topics for one in topic.partitions]
        return [one.error_code for one in sorted(answered, key=lambda one: one.partition_index)]

    def join(self, member_id: str = "", instance_id: str | None = None) -> JoinGroupResponse:
        metadata = b"\0\1\0\0\0\1\0\1t\0\0\0\0"
        request = JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=SESSION_MS + 1,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
        )
        return self.call(request, JoinGroupResponse, 9)

    def sync(self, joined: JoinGroupResponse, instance_id: str | None = None) -> int:
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=instance_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"yours")],
        )
        return self.call(request, SyncGroupResponse, 5).error_code

    def leave(self, member_id: str, instance_id: str | None = None) -> int:
        leaving = [MemberIdentity(member_id=member_id, group_instance_id=instance_id)]
        return self.call(LeaveGroupRequest(group_id=self.group_id, members=leaving), LeaveGroupResponse, 5).error_code

    def delete_offsets(self, *partitions: int) -> int:
        asked = [OffsetDeleteRequestPartition(partition_index=index) for index in partitions]
        topics = [OffsetDeleteRequestTopic(name=self.topic, partitions=asked)]
        return self.call(OffsetDeleteRequest(group_id=self.group_id, topics=topics), OffsetDeleteResponse, 0).error_code

    def delete_group(self) -> int:
        (done,) = self.call(DeleteGroupsRequest(groups_names=[self.group_id]), DeleteGroupsResponse, 2).results
        return done.error_code

    def delete_offsets_topic(self) -> int:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=OFFSETS)], timeout_ms=PATIENCE_MS)
        (done,) = self.call(request, DeleteTopicsResponse, 6).responses
        return done.error_code

    def find_group(self) -> int:
        """Return the node that coordinates the group, as soon as there is one: it makes the topic."""
        request = FindCoordinatorRequest(coordinator_keys=[self.group_id])
        found: list[int] = []

        def is_found() -> bool:
            (answer,) = self.call(request, FindCoordinatorResponse, 4).coordinators
            found.append(answer.error_code)
            return answer.error_code == 0

        wait_until(is_found, PATIENCE_MS, "a coordinator")
        return found[-1]

    def commit_until(self, code: int, *member: Any, p0: int) -> list[int]:
        """Commit until a code is the answer: a broker learns of topics, and loads a group, in its own time."""
        answers: list[list[int]] = []

        def is_answered() -> bool:
            answers.append(self.commit(*member, p0=p0))
            return answers[-1] == [code]

        wait_until(is_answered, PATIENCE_MS, f"error code {code}")
        return answers[-1]

    # --- compacted topics -------------------------------------------------------------------------------------------

    def create(self, suffix: str, **configs: str) -> int:
        """Create a topic of one partition, compacted unless `configs` say otherwise, and wait for its leader."""
        named = {
            "cleanup_policy": "compact",
            "segment_ms": str(1000 * SEGMENT_S - 1000),
            "min_cleanable_dirty_ratio": "0.01",
        } | configs
        asked = CreatableTopic(
            name=self.topic + suffix,
            num_partitions=1,
            replication_factor=1,
            configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in named.items()],
        )
        (made,) = self.call(CreateTopicsRequest(topics=[asked]), CreateTopicsResponse, 7).topics
        if not made.error_code:
            wait_until(lambda: self._is_led(self.topic + suffix), PATIENCE_MS, "a leader")
        return made.error_code

    def _is_led(self, topic: str) -> bool:
        asked = FetchRequest(session_epoch=-1, topics=[FetchTopic(topic=topic, partitions=[FetchPartition()])])
        ((data,),) = (one.partitions for one in self.call(asked, FetchResponse, 12).responses)
        return data.error_code == 0

    def write(
        self,
        suffix: str,
        pairs: Sequence[tuple[bytes | None, bytes | None]],
        *,
        after_s: int,
        producer: tuple[int, int, int] = (-1, -1, -1),
        **more: Any,
    ) -> Any:
        """Produce one batch whose records are of `after_s` seconds after a day ago."""
        records = batch(
            *[value for _, value in pairs],
            keys=[key for key, _ in pairs],
            timestamps_ms=[LONG_AGO_MS + 1000 * after_s + number for number in range(len(pairs))],
            producer=producer,
            attributes=TRANSACTIONAL if "name" in more else 0,
        )
        data = [PartitionProduceData(index=0, records=records)]
        request = ProduceRequest(
            transactional_id=more.get("name"),
            acks=-1,
            timeout_ms=5_000,
            topic_data=[TopicProduceData(name=self.topic + suffix, partition_data=data)],
        )
        answer = self.call(request, ProduceResponse, 12).responses[0].partition_responses[0]
        errors = [(one.batch_index, one.batch_index_error_message) for one in answer.record_errors]
        return answer.error_code, errors, answer.error_message

    def ends(self, suffix: str) -> list[int]:
        """Return where a topic starts and ends."""
        return [self.offset_at(self.topic + suffix, 0, at) for at in (-2, -1)]

    def compacted(self, suffix: str, until_offset: int) -> list[Any]:
        """Return what is left of a topic as soon as it is compacted up to an offset."""
        wait_until(lambda: self._compacted_to(self.topic + suffix) == until_offset, PATIENCE_MS, "a clean log")
        return self.left(suffix)

    def expired(self, suffix: str, start_offset: int) -> list[Any]:
        """Return what is left of a topic as soon as it starts at an offset."""
        wait_until(lambda: self.ends(suffix)[0] == start_offset, PATIENCE_MS, "a log that is cut")
        return self.left(suffix)

    def left(self, suffix: str) -> list[Any]:
        """Return where a topic starts and ends, and its batches."""
        return [self.ends(suffix), self.shown_batches(self.topic + suffix, 0)]


def _past(instant_ms: int) -> int | None:
    """Return an instant of a test's records; the time of day does not make two runs differ."""
    return None if instant_ms >= NOW_MS - 3_600_000 else instant_ms
