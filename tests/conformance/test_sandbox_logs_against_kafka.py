"""What a sandbox's logs keep stays honest: __consumer_offsets and compacted topics have the batches that Kafka's have.

The same raw requests go to both; batches are compared field by field and records byte by byte. Member ids that a broker
makes up, producer ids, topic ids and instants of now are replaced by words.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from kctl.client.clock import SystemClock
from kctl.client.protocol.api.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kctl.client.protocol.api.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kctl.client.protocol.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from kctl.client.protocol.api.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from kctl.client.protocol.api.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kctl.client.protocol.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kctl.client.protocol.api.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from kctl.client.protocol.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from kctl.client.protocol.api.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from kctl.client.records import decode_batches
from kctl.sandbox import ClusterSettings, Sandbox
from kctl.sandbox.batches import StoredBatch, header_of
from kctl.sandbox.record_walk import records_of
from tests.conformance.transaction_talk import Talk
from tests.loopback.sandbox.peer import Peer
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import NEWEST_KAFKA
from tests.support.kafka.waiting import WaitTimeout, wait_until
from tests.unit.sandbox.scenario import batch

OFFSETS = "__consumer_offsets"
SESSION_MS = 30_000
PATIENCE_MS = 30_000
PARTITIONS = 10
NOW_MS = SystemClock().wall_ms()
LONG_AGO_MS = NOW_MS - 86_400_000
TRANSACTIONAL = 0x10
DAY_MS = 86_400_000
_MADE_UP = re.compile(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_INSTANT = re.compile(rb"\x00\x00\x01[\x90-\xff].{4}", re.DOTALL)
"""Milliseconds since the epoch in this quarter of the century."""


class _Talk(Talk):
    """Requests of one group and of producers, and what they leave in logs."""

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
            list(decode_batches(left))  # its checksums are right, and the client can read it
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

    # --- compacted topics -------------------------------------------------------------------------------------------

    def create(self, suffix: str, **configs: str) -> int:
        """Create a topic of one partition, compacted unless `configs` say otherwise, and wait for its leader."""
        named = {"cleanup_policy": "compact", "segment_ms": "100", "min_cleanable_dirty_ratio": "0.01"} | configs
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

    def left(self, suffix: str) -> list[Any]:
        return [self.ends(suffix), self.shown_batches(self.topic + suffix, 0)]


def _past(instant_ms: int) -> int | None:
    """Return an instant of a test's records; the time of day does not make two runs differ."""
    return None if instant_ms >= NOW_MS - 3_600_000 else instant_ms


# --- __consumer_offsets -----------------------------------------------------------------------------------------------


def _commits(talk: _Talk) -> Iterator[Any]:
    yield talk.commit(p0=5, p1=6)
    yield talk.commit(p1=7, p9=1)
    yield talk.offsets_log()
    yield talk.delete_offsets(1, 2)
    yield talk.offsets_log()
    yield talk.delete_group()
    yield talk.offsets_log()


def _members(talk: _Talk) -> Iterator[Any]:
    member = talk.join(talk.join().member_id)
    yield talk.offsets_log()
    yield talk.sync(member)
    yield talk.commit(member.member_id, member.generation_id, p0=9)
    yield talk.leave(member.member_id)
    yield talk.offsets_log()
    static = talk.join(instance_id="i")
    yield talk.sync(static, "i")
    again = talk.join(instance_id="i")
    yield talk.leave(again.member_id, "i")
    yield talk.delete_group()
    yield talk.offsets_log()


def _transactions(talk: _Talk) -> Iterator[Any]:
    held = talk.begin()
    for offset, is_commit in ((7, True), (8, False)):
        yield talk.add_offsets(held)
        yield talk.commit_in(held, offset)
        yield talk.offsets_log()
        held = talk.ended(held, is_commit)
    yield talk.offsets_log()


def _writes(talk: _Talk) -> Iterator[Any]:
    data = [PartitionProduceData(index=0, records=batch(b"v", keys=[b"k"]))]
    request = ProduceRequest(
        acks=-1, timeout_ms=5_000, topic_data=[TopicProduceData(name=OFFSETS, partition_data=data)]
    )
    yield talk.call(request, ProduceResponse, 12).responses[0].partition_responses[0].error_code


# --- compaction -------------------------------------------------------------------------------------------------------


def _latest(talk: _Talk) -> Iterator[Any]:
    talk.create("-c")
    for number in range(5):
        pairs = [(b"a", b"%d" % number), (b"b%d" % number, b"v"), (b"c", b"%d" % (number // 2))]
        yield talk.write("-c", pairs, after_s=number)
    yield lambda: talk.left("-c")
    yield talk.write("-c", [(b"b1", b"w")], after_s=10)
    yield talk.write("-c", [(b"b1", b"x")], after_s=11)
    yield lambda: talk.left("-c")


def _tombstones(talk: _Talk) -> Iterator[Any]:
    for suffix, kept_ms in (("-kept", DAY_MS), ("-gone", 0)):
        talk.create(suffix, delete_retention_ms=str(kept_ms))
        talk.write(suffix, [(b"a", b"1"), (b"b", b"1"), (b"c", b"1")], after_s=0)
        talk.write(suffix, [(b"a", None), (b"d", b"")], after_s=1)
        talk.write(suffix, [(b"e", b"1")], after_s=2)
        yield lambda suffix=suffix: talk.left(suffix)
        talk.write(suffix, [(b"f", b"1")], after_s=3)
        yield lambda suffix=suffix: talk.left(suffix)
        talk.write(suffix, [(b"g", b"1")], after_s=4)
        yield lambda suffix=suffix: talk.left(suffix)


def _aborted(talk: _Talk) -> Iterator[Any]:
    talk.create("-t", delete_retention_ms="0")
    held = talk.begin()
    for number, is_commit in enumerate((True, False, True, False)):
        pairs = [(b"a", b"%d" % number), (b"b%d" % number, b"v")]
        yield talk.write("-t", pairs, after_s=2 * number, producer=(*held, 0), name=talk.name(""))
        held = talk.ended(held, is_commit)
    yield lambda: [talk.ends("-t"), _without_times(talk.left("-t")[1])]
    for number in range(3):
        talk.write("-t", [(b"z", b"%d" % number)], after_s=90_000 + number)
        yield lambda: [talk.ends("-t"), _without_times(talk.left("-t")[1])]


def _without_times(batches: list[Any]) -> list[Any]:
    return [(offsets, producer, [one[2] for one in records]) for offsets, producer, _, records in batches]


def _sequences(talk: _Talk) -> Iterator[Any]:
    talk.create("-s")
    (_, (producer_id, epoch)) = talk.init("-s")
    for number in range(4):
        who = (producer_id, epoch, number)
        yield talk.write("-s", [(b"a", b"%d" % number)], after_s=number, producer=who)
    for number in range(4, 7):
        yield talk.write("-s", [(b"a", b"%d" % number)], after_s=number)
    yield lambda: talk.left("-s")


def _lags(talk: _Talk) -> Iterator[Any]:
    talk.create("-young", min_compaction_lag_ms=str(2 * DAY_MS))
    talk.create("-half", min_compaction_lag_ms=str(DAY_MS - 3_600_000))
    talk.create("-lazy", min_cleanable_dirty_ratio="1.0")
    talk.create("-due", min_cleanable_dirty_ratio="1.0", max_compaction_lag_ms="1000")
    for suffix in ("-young", "-half", "-lazy", "-due"):
        for number, after_s in enumerate((0, 1, 2, 80_000, 80_001, 80_002)):
            talk.write(suffix, [(b"a", b"%d" % number)], after_s=after_s)
    yield lambda: [talk.left(suffix) for suffix in ("-half", "-due", "-young", "-lazy")]


def _retention(talk: _Talk) -> Iterator[Any]:
    kept_ms = str(DAY_MS - 3_600_000)
    talk.create("-both", cleanup_policy="compact,delete", retention_ms=kept_ms, min_cleanable_dirty_ratio="1.0")
    talk.create("-all", cleanup_policy="delete", retention_ms="1000")
    talk.create("-size", cleanup_policy="delete", retention_bytes="150")
    for suffix in ("-both", "-all", "-size"):
        for number, after_s in enumerate((0, 1, 2, 80_000, 80_001, 80_002)):
            talk.write(suffix, [(b"a", b"%d" % number)], after_s=after_s)
    yield lambda: [talk.left(suffix) for suffix in ("-both", "-all", "-size")]


def _refusals(talk: _Talk) -> Iterator[Any]:
    talk.create("-k")
    for pairs in ([(b"a", b"1"), (None, b"1"), (None, None)], [(None, b"1")], [(b"", b"1")]):
        yield talk.write("-k", pairs, after_s=0)
    for configs in (
        {"cleanup_policy": "shrink"},
        {"min_cleanable_dirty_ratio": "1.5"},
        {"min_cleanable_dirty_ratio": "half"},
        {"min_compaction_lag_ms": "5", "max_compaction_lag_ms": "4"},
        {"min_compaction_lag_ms": "-1"},
    ):
        yield talk.create("-never", **configs)


SCENARIOS = (
    _commits, _members, _transactions, _writes, _latest, _tombstones, _aborted, _sequences, _lags, _retention, _refusals
)  # fmt: skip


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaCluster]:
    """A broker that cleans logs several times a second."""
    properties = {"log.cleaner.backoff.ms": "50", "log.retention.check.interval.ms": "50"}
    properties |= {"log.initial.task.delay.ms": "0", "offsets.topic.num.partitions": str(PARTITIONS)}
    with ExitStack() as stack:
        yield have(lambda: stack.enter_context(KafkaCluster(NEWEST_KAFKA, 1, properties)))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_logs_are_those_of_kafka(kafka: KafkaCluster, scenario: Callable[[_Talk], Iterator[Any]]) -> None:
    topic = kafka.create_topic(partitions=4)
    host, _, port = kafka.bootstrap().partition(",")[0].rpartition(":")
    settings = ClusterSettings(
        log_cleaner_backoff_ms=50, log_retention_check_interval_ms=50, offsets_topic_num_partitions=PARTITIONS
    )
    with (
        Sandbox(nodes=1, topics={topic: 4}, settings=settings).serve() as served,
        Peer((host, int(port))) as their_peer,
        Peer(served.listens_on(1)) as our_peer,
    ):
        theirs, ours = _Talk(their_peer, topic, 2), _Talk(our_peer, topic, 2)
        for expected, outcome in zip(scenario(theirs), scenario(ours), strict=True):
            if callable(expected):
                _compare_in_time(expected, outcome)
            else:
                assert outcome == expected


def _compare_in_time(theirs: Callable[[], Any], ours: Callable[[], Any]) -> None:
    """Both clean their logs in their own time: they have to be equal twice in a row, and before patience ends."""
    try:
        wait_until(lambda: theirs() == ours(), PATIENCE_MS // 3, "equal logs")
    except WaitTimeout:
        assert ours() == theirs()
