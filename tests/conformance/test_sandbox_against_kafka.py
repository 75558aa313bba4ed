"""The sandbox stays honest: the same raw requests get the same outcomes from it and from Kafka's newest broker."""

from collections.abc import Iterator
from typing import Any

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import SystemClock
from kctl.client.protocol.api.cluster import DescribeClusterRequest, DescribeClusterResponse
from kctl.client.protocol.api.committed_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kctl.client.protocol.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.protocol.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kctl.client.protocol.api.partition_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kctl.client.protocol.api.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kctl.client.protocol.api.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kctl.sandbox import Sandbox
from tests.loopback.sandbox.peer import Peer
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until
from tests.unit.sandbox.scenario import batch, records_of

pytestmark = pytest.mark.nightly

NOW_MS = SystemClock().wall_ms()
PATIENCE_MS = bound(30_000)
LOADING = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
NAMES = {int(code): code.name for code in ErrorCode}
Outcome = tuple[str, Any]


def _batch(*values: bytes, **wrong: Any) -> bytes:
    return batch(*values, timestamps_ms=[NOW_MS] * len(values), **wrong)


class _TopicTalk:
    """Requests to one broker about one topic."""

    def __init__(self, peer: Peer, topic: str) -> None:
        self.peer = peer
        self.topic = topic

    def new_producer_id(self) -> int:
        ids: list[int] = []

        def is_given() -> bool:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
            response = self.peer.call(request, InitProducerIdResponse, 4)
            if response.error_code == 0:
                ids.append(response.producer_id)
            return response.error_code not in LOADING

        wait_until(is_given, PATIENCE_MS, "a producer id")
        return ids[0]

    def produce(self, records: bytes, acks: int = -1, partition: int = 0) -> Outcome:
        data = [PartitionProduceData(index=partition, records=records)]
        topics = [TopicProduceData(name=self.topic, partition_data=data)]
        request = ProduceRequest(acks=acks, timeout_ms=5_000, topic_data=topics)
        answer = self.peer.call(request, ProduceResponse, 9).responses[0].partition_responses[0]
        return NAMES[answer.error_code], (answer.base_offset, answer.log_append_time_ms)

    def sequence(self, producer_id: int, epoch: int, sequence: int, count: int = 1) -> Outcome:
        return self.produce(_batch(*[b"v"] * count, producer=(producer_id, epoch, sequence)))

    def fetch(self, offset: int, *, epoch: int = -1, partition: int = 0, isolation: int = 0) -> Outcome:
        asked = FetchPartition(
            partition=partition, fetch_offset=offset, current_leader_epoch=epoch, partition_max_bytes=250
        )
        topics = [FetchTopic(topic=self.topic, partitions=[asked])]
        request = FetchRequest(min_bytes=1, isolation_level=isolation, topics=topics)
        data = self.peer.call(request, FetchResponse, 12).responses[0].partitions[0]
        offsets = (data.high_watermark, data.last_stable_offset, data.log_start_offset)
        return NAMES[data.error_code], (offsets, data.aborted_transactions, data.records)

    def list_offset(self, timestamp: int) -> Outcome:
        asked = [ListOffsetsPartition(partition_index=0, timestamp=timestamp)]
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=self.topic, partitions=asked)])
        found = self.peer.call(request, ListOffsetsResponse, 9).topics[0].partitions[0]
        return NAMES[found.error_code], (found.offset, found.timestamp, found.leader_epoch)

    def commit(self, partition: int = 0, metadata: str = "m", **more: Any) -> str:
        commit = OffsetCommitRequestPartition(
            partition_index=partition, committed_offset=4, committed_metadata=metadata
        )
        topics = [OffsetCommitRequestTopic(name=self.topic, partitions=[commit])]
        codes: list[int] = []

        def is_decided() -> bool:
            request = OffsetCommitRequest(**({"group_id": f"g-{self.topic}", "topics": topics} | more))
            codes.append(self.peer.call(request, OffsetCommitResponse, 9).topics[0].partitions[0].error_code)
            return codes[-1] not in LOADING

        wait_until(is_decided, PATIENCE_MS, "an answer to a commit")
        return NAMES[codes[-1]]

    def find_coordinator(self) -> None:
        """Wait until the group has a coordinator; a fresh broker makes its internal topic first."""

        def is_found() -> bool:
            request = FindCoordinatorRequest(coordinator_keys=[f"g-{self.topic}"])
            (found,) = self.peer.call(request, FindCoordinatorResponse, 4).coordinators
            return found.error_code not in LOADING

        wait_until(is_found, PATIENCE_MS, "a coordinator")


def _producing(talk: _TopicTalk) -> Iterator[Outcome]:
    good = _batch(b"v")
    for name, records in {
        "empty": b"",
        "short": good[:60],
        "cut": good[:-1],
        "flipped": good[:-1] + b"\xff",
        "two batches": good + good,
        "magic 1": _batch(b"v", magic=1),
        "count too high": _batch(b"v", count=2),
        "offset delta too high": _batch(b"v", last_offset_delta=4),
        "no records": _batch(b"v", count=0, last_offset_delta=-1),
        "codec 5": _batch(b"v", attributes=5),
        "control": _batch(b"v", attributes=0x20),
        "not gzip": _batch(b"v", attributes=1),
        "no payload": _batch(b"v", payload=b""),
        "endless varint": _batch(b"v", payload=b"\xff" * 12),
        "bytes behind": _batch(b"v", payload=records_of([b"v"], [NOW_MS]) + b"\0"),
        "too large": _batch(b"x" * 2_000_000),
        "from the future": batch(b"v", timestamps_ms=[NOW_MS + 10_000_000]),
        "good": good,
    }.items():
        yield name, talk.produce(records)
    yield "acks 2", talk.produce(good, acks=2)
    yield "acks 1", talk.produce(good, acks=1)
    yield "no such partition", talk.produce(good, partition=9)


def _sequences(talk: _TopicTalk) -> Iterator[Outcome]:
    mine = talk.new_producer_id()
    for sequence in (0, 1, 2, 3, 4, 5, 1, 0, 7, 6):
        yield f"sequence {sequence}", talk.sequence(mine, 0, sequence)
    yield "new epoch, not at 0", talk.sequence(mine, 1, 5)
    yield "new epoch", talk.sequence(mine, 1, 0, 3)
    yield "same start, other size", talk.sequence(mine, 1, 0, 2)
    yield "old epoch", talk.sequence(mine, 0, 7)
    yield "unknown producer", talk.sequence(mine + 70_000, 3, 50)
    yield "a new id each time", talk.new_producer_id() != talk.new_producer_id()


def _reading(talk: _TopicTalk) -> Iterator[Outcome]:
    for values in ([b"a", b"b"], [b"c"], [b"d" * 500]):
        talk.produce(batch(*values, timestamps_ms=[NOW_MS + len(values[0])] * len(values)))
    for offset in (0, 1, 2, 3, 4, 5, -5):
        yield f"fetch {offset}", talk.fetch(offset)
    yield "fetch committed", talk.fetch(0, isolation=1)
    yield "fetch with an epoch ahead", talk.fetch(0, epoch=7)
    yield "fetch with this epoch", talk.fetch(0, epoch=0)
    yield "fetch an unknown partition", talk.fetch(0, partition=9)
    for timestamp in (-1, -2, -3, -4, -5, NOW_MS, NOW_MS + 1, NOW_MS + 500, NOW_MS + 501):
        yield f"offset at {timestamp - NOW_MS if timestamp > 0 else timestamp}", talk.list_offset(timestamp)


def _groups(talk: _TopicTalk) -> Iterator[Outcome]:
    talk.find_coordinator()
    yield "commit", talk.commit()
    yield "commit an unknown partition", talk.commit(partition=9)
    yield "commit as a member", talk.commit(member_id="m")
    yield "commit in a generation", talk.commit(generation_id_or_member_epoch=1)
    yield "commit a novel", talk.commit(metadata="x" * 5_000)
    group_id = f"g-{talk.topic}"
    topics = [OffsetFetchRequestTopic(name=talk.topic, partition_indexes=[0, 9])]
    old = talk.peer.call(OffsetFetchRequest(group_id=group_id, topics=topics), OffsetFetchResponse, 7)
    yield "committed", [(part.committed_offset, part.metadata, part.error_code) for part in old.topics[0].partitions]
    groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in (group_id, f"none-{talk.topic}")]
    new = talk.peer.call(OffsetFetchRequest(groups=groups), OffsetFetchResponse, 9)
    yield "committed in all", [(group.error_code, len(group.topics)) for group in new.groups]
    find = FindCoordinatorRequest(key_type=9, coordinator_keys=["k"])
    (answer,) = talk.peer.call(find, FindCoordinatorResponse, 6).coordinators
    yield "coordinator of nothing", (answer.error_code, answer.node_id, answer.host, answer.port)


def _administration(talk: _TopicTalk) -> Iterator[Outcome]:
    def topic(name: str, partitions: int = 1, replicas: int = 1, **more: Any) -> CreatableTopic:
        return CreatableTopic(
            name=f"{talk.topic}{name}", num_partitions=partitions, replication_factor=replicas, **more
        )

    def placed(*nodes: list[int]) -> list[CreatableReplicaAssignment]:
        return [CreatableReplicaAssignment(partition_index=at, broker_ids=ids) for at, ids in enumerate(nodes)]

    request = CreateTopicsRequest(
        topics=[
            topic("-new", 3),
            topic(""),
            topic(" a b"),
            topic("-twice"),
            topic("-twice"),
            topic("-none", 0),
            topic("-many", 1, 5),
            topic("-default", -1, -1),
            topic("-config", configs=[CreatableTopicConfig(name="nope", value="1")]),
            topic("-value", configs=[CreatableTopicConfig(name="max.message.bytes", value="x")]),
            topic("-both", assignments=placed([1])),
            topic("-placed", -1, -1, assignments=placed([1], [1])),
            topic("-elsewhere", -1, -1, assignments=placed([1], [7])),
            topic("-nowhere", -1, -1, assignments=placed([])),
            topic("-doubly", -1, -1, assignments=placed([1, 1])),
            topic("-unlike", -1, -1, assignments=placed([1], [1, 7])),
            topic("-gap", -1, -1, assignments=placed([1], [1])[1:]),
            topic("-again", -1, -1, assignments=placed([1]) * 2),
            topic("n" * 250),
        ]
    )
    results = talk.peer.call(request, CreateTopicsResponse, 7).topics
    for result in results:
        counts = (result.num_partitions, result.replication_factor)
        yield result.name.removeprefix(talk.topic)[:20], (NAMES[result.error_code], counts)
    names = [f"{talk.topic}{suffix}" for suffix in (" a b", "-fresh")]
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])
    yield "metadata", [topic.error_code for topic in talk.peer.call(asked, MetadataResponse, 12).topics]
    by_id = MetadataRequest(topics=[MetadataRequestTopic(name=None, topic_id=b"\1" * 16)])
    yield "metadata by id", talk.peer.call(by_id, MetadataResponse, 12).topics
    allowed = MetadataRequest(topics=[MetadataRequestTopic(name=talk.topic)], include_topic_authorized_operations=True)
    (found,) = talk.peer.call(allowed, MetadataResponse, 12).topics
    yield "operations", found.topic_authorized_operations
    described = talk.peer.call(DescribeClusterRequest(endpoint_type=2), DescribeClusterResponse, 1)
    yield "controller", (described.error_code, described.cluster_id, described.brokers)


@pytest.mark.parametrize("scenario", [_producing, _sequences, _reading, _groups, _administration])
def test_outcomes_are_those_of_kafka(kafka_newest: KafkaCluster, scenario: Any) -> None:
    topic = kafka_newest.create_topic()
    host, _, port = kafka_newest.bootstrap().partition(",")[0].rpartition(":")
    with Peer((host, int(port))) as peer:
        kafka = list(scenario(_TopicTalk(peer, topic)))
    with Sandbox(nodes=1, topics={topic: 1}).serve() as served, Peer(served.listens_on(1)) as peer:
        ours = list(scenario(_TopicTalk(peer, topic)))
    assert ours == kafka
