"""Fetch sessions and leader epochs of the sandbox stay honest: the same raw requests get the same outcomes from it and
from Kafka's newest broker. Session ids are replaced by the order in which they appeared, topic ids by names.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import SystemClock
from kctl.client.protocol.api.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kctl.client.protocol.api.partition_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kctl.client.protocol.api.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kctl.client.protocol.api.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kctl.sandbox import Sandbox
from tests.loopback.sandbox.peer import Peer
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.plugin import OwnKafka
from tests.support.kafka.waiting import wait_until
from tests.unit.sandbox.scenario import batch

pytestmark = pytest.mark.nightly

NOW_MS = SystemClock().wall_ms()
PATIENCE_MS = bound(30_000)
NAMES = {int(code): code.name for code in ErrorCode}
Outcome = tuple[str, Any]
NOWHERE = b"\1" * 16


class _FetchTalk:
    """Fetches of one broker in one version."""

    def __init__(self, peer: Peer, topic: str, version: int) -> None:
        self.peer = peer
        self.topic = topic
        self.version = version
        self.sessions: list[int] = [0]
        self._labels: dict[bytes, str] = {}
        self.create(topic, 3)
        self.topic_id = self.id_of(topic)

    def id_of(self, topic: str) -> bytes:
        """Return the id of a topic, once all its partitions are led."""
        found: list[bytes] = []

        def is_led() -> bool:
            asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
            (one,) = self.peer.call(asked, MetadataResponse, 12).topics
            found.append(one.topic_id)
            return one.error_code == 0 and self._is_served(topic, len(one.partitions))

        wait_until(is_led, PATIENCE_MS, "a leader")
        self._labels.setdefault(found[-1], f"topic {len(self._labels)}")
        return found[-1]

    def _is_served(self, topic: str, partitions: int) -> bool:
        asked = [FetchPartition(partition=index) for index in range(partitions)]
        request = FetchRequest(session_epoch=-1, topics=[FetchTopic(topic=topic, partitions=asked)])
        (answer,) = self.peer.call(request, FetchResponse, 12).responses
        return all(data.error_code == 0 for data in answer.partitions)

    def create(self, topic: str, partitions: int) -> None:
        asked = CreatableTopic(name=topic, num_partitions=partitions, replication_factor=1)
        (made,) = self.peer.call(CreateTopicsRequest(topics=[asked]), CreateTopicsResponse, 7).topics
        assert made.error_code in (0, ErrorCode.TOPIC_ALREADY_EXISTS)

    def delete(self, topic: str) -> None:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], timeout_ms=PATIENCE_MS)
        (done,) = self.peer.call(request, DeleteTopicsResponse, 6).responses
        assert done.error_code == 0

        def is_gone() -> bool:
            asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
            return self.peer.call(asked, MetadataResponse, 12).topics[0].error_code != 0

        wait_until(is_gone, PATIENCE_MS, "the end of a topic")

    def leader_epoch(self) -> int:
        """Return the epoch of partition 0."""
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=self.topic)])
        (topic,) = self.peer.call(asked, MetadataResponse, 12).topics
        return next(one.leader_epoch for one in topic.partitions if one.partition_index == 0)

    def list_offset(self, timestamp: int) -> Any:
        """Return what is found at a timestamp in partition 0."""
        asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=self.topic, partitions=[asked])])
        return self.peer.call(request, ListOffsetsResponse, 9).topics

    def produce(self, partition: int, *values: bytes, stamp_ms: int = NOW_MS) -> None:
        records = batch(*values, timestamps_ms=[stamp_ms] * len(values))
        data = [PartitionProduceData(index=partition, records=records)]
        request = ProduceRequest(
            acks=-1, timeout_ms=5_000, topic_data=[TopicProduceData(name=self.topic, partition_data=data)]
        )
        answer = self.peer.call(request, ProduceResponse, 9).responses[0].partition_responses[0]
        assert answer.error_code == 0

    def fetch(self, session: int, epoch: int, *offsets: tuple[int, int], **more: Any) -> Outcome:
        """Fetch in the n-th session from partitions and offsets."""
        self.send(session, epoch, *offsets, **more)
        return self.receive()

    def send(
        self,
        session: int,
        epoch: int,
        *offsets: tuple[int, int],
        version: int | None = None,
        topic: tuple[str, bytes] | None = None,
        forget: tuple[int, ...] = (),
        max_bytes: int = 100_000,
        max_wait_ms: int = 0,
        more: dict[str, Any] | None = None,
    ) -> None:
        name, topic_id = topic or (self.topic, self.topic_id)
        asked = [
            FetchPartition(partition=at, fetch_offset=offset, partition_max_bytes=100_000, **(more or {}))
            for at, offset in offsets
        ]
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=max_bytes,
            session_id=self.sessions[session] if session < len(self.sessions) else 77,
            session_epoch=epoch,
            topics=[FetchTopic(topic=name, topic_id=topic_id, partitions=asked)] if asked else [],
            forgotten_topics_data=[ForgottenTopic(topic=name, topic_id=topic_id, partitions=list(forget))]
            if forget
            else [],
        )
        self._sent = version or self.version
        self.peer.send(request, self._sent)

    def end_of(self, epoch: int, current: int) -> Any:
        """Ask where an epoch ends, on a partition that exists and on one that does not."""
        asked = [
            OffsetForLeaderPartition(partition=index, leader_epoch=epoch, current_leader_epoch=current)
            for index in (0, 9)
        ]
        topics = [OffsetForLeaderTopic(topic=self.topic, partitions=asked)]
        answer = self.peer.call(OffsetForLeaderEpochRequest(topics=topics), OffsetForLeaderEpochResponse, 4)
        return answer.topics

    def receive(self) -> Outcome:
        got = self.peer.receive(FetchResponse, self._sent)
        if got.session_id not in self.sessions:
            self.sessions.append(got.session_id)
        answers = [
            (
                topic.topic.removeprefix(self.topic) or self._labels.get(topic.topic_id, "?"),
                data.partition_index,
                NAMES[data.error_code],
                data.high_watermark,
                data.log_start_offset,
                data.records,
                data.diverging_epoch,
                data.current_leader,
                data.aborted_transactions,
            )
            for topic in got.responses
            for data in topic.partitions
        ]
        return NAMES[got.error_code], (self.sessions.index(got.session_id), answers)


def _sessions(talk: _FetchTalk) -> Iterator[Outcome]:
    talk.produce(0, b"a")
    yield "no session", talk.fetch(0, -1, (0, 0), (1, 0))
    yield "open", talk.fetch(0, 0, (0, 0), (1, 0), (2, 0))
    yield "nothing new", talk.fetch(1, 1, (0, 1))
    talk.produce(1, b"b")
    yield "one is new", talk.fetch(1, 2)
    yield "read on", talk.fetch(1, 3, (1, 1))
    yield "a lost answer", talk.fetch(1, 3)
    yield "an epoch ahead", talk.fetch(1, 9)
    yield "the session lives", talk.fetch(1, 4)
    talk.produce(0, b"c")
    talk.produce(1, b"d")
    talk.produce(2, b"e")
    yield "all are new, little room", talk.fetch(1, 5, max_bytes=1)
    yield "the next, little room", talk.fetch(1, 6, max_bytes=1)
    yield "forget two", talk.fetch(1, 7, (2, 1), forget=(0, 1))
    yield "take one back", talk.fetch(1, 8, (1, 0))
    yield "beyond the end", talk.fetch(1, 9, (2, 50))
    yield "still beyond", talk.fetch(1, 10)
    yield "in range again", talk.fetch(1, 11, (2, 1), (1, 2))
    yield "nothing new again", talk.fetch(1, 12)
    yield "an unknown partition", talk.fetch(1, 13, (9, 0))
    yield "which is told again", talk.fetch(1, 14)
    yield "forget all", talk.fetch(1, 15, forget=(1, 2, 9))
    yield "the empty session is gone", talk.fetch(1, 16)
    yield "a session nobody has", talk.fetch(5, 1)
    yield "open a second", talk.fetch(0, 0, (0, 0))
    yield "replace it", talk.fetch(2, 0, (1, 0))
    yield "the replaced one is gone", talk.fetch(2, 1)
    yield "close", talk.fetch(3, -1)
    yield "the closed one is gone", talk.fetch(3, 1)
    yield "open with nothing", talk.fetch(0, 0)
    yield "open with an unknown topic", talk.fetch(0, 0, (0, 0), topic=("none", NOWHERE))
    yield "told again", talk.fetch(len(talk.sessions) - 1, 1)
    yield "open with an unknown and a known partition", talk.fetch(0, 0, (8, 0), (0, 0), (9, 0))


def _other_versions(talk: _FetchTalk) -> Iterator[Outcome]:
    other = 12 if talk.version >= 13 else 13
    yield "open", talk.fetch(0, 0, (0, 0))
    yield "names and ids do not mix", talk.fetch(1, 1, version=other)
    yield "the session lives", talk.fetch(1, 1)


def _deleted(talk: _FetchTalk) -> Iterator[Outcome]:
    name = f"{talk.topic}-other"
    talk.create(name, 1)
    topic = (name, talk.id_of(name))
    yield "open", talk.fetch(0, 0, (0, 0), topic=topic)
    yield "add a partition of another topic", talk.fetch(1, 1, (0, 0))
    talk.delete(name)
    yield "deleted", talk.fetch(1, 2)
    yield "deleted, again", talk.fetch(1, 3)
    talk.create(name, 1)
    talk.id_of(name)
    yield "made again", talk.fetch(1, 4)
    yield "forgotten", talk.fetch(1, 5, topic=topic, forget=(0,))


def _deleted_while_waiting(talk: _FetchTalk) -> Iterator[Outcome]:
    yield "open", talk.fetch(0, 0, (0, 0))
    talk.send(1, 1, max_wait_ms=20_000)
    with Peer(talk.peer.socket.getpeername()) as other:
        mine, talk.peer = talk.peer, other
        talk.delete(talk.topic)
        talk.peer = mine
    yield "deleted", talk.receive()


def _epochs(talk: _FetchTalk) -> Iterator[Outcome]:
    talk.produce(0, b"a")
    talk.produce(0, b"b")
    for epoch in (-1, 0, 1):
        for current in (-1, 0, 1):
            yield f"the end of epoch {epoch}, told in {current}", talk.end_of(epoch, current)
        yield f"this epoch {epoch}", talk.fetch(0, -1, (0, 1), more={"current_leader_epoch": epoch})
        for offset in (0, 1, 2, 3):
            asked = {"last_fetched_epoch": epoch}
            yield f"epoch {epoch} fetched up to {offset}", talk.fetch(0, -1, (0, offset), more=asked)


@pytest.mark.parametrize("version", [12, 17])
@pytest.mark.parametrize("scenario", [_sessions, _other_versions, _deleted, _deleted_while_waiting, _epochs])
def test_outcomes_are_those_of_kafka(
    kafka_newest: KafkaCluster, scenario: Callable[[_FetchTalk], Iterator[Outcome]], version: int
) -> None:
    topic = f"{scenario.__name__}{version}"
    host, _, port = kafka_newest.bootstrap().partition(",")[0].rpartition(":")
    with Peer((host, int(port))) as peer:
        kafka = list(scenario(_FetchTalk(peer, topic, version)))
    with Sandbox(nodes=1).serve() as served, Peer(served.listens_on(1)) as peer:
        ours = list(scenario(_FetchTalk(peer, topic, version)))
    assert [pair for pair in zip(ours, kafka, strict=True) if pair[0] != pair[1]] == []


def _look_at_epochs(talk: _FetchTalk, epochs: range) -> Iterator[Outcome]:
    for epoch in epochs:
        yield f"the end of epoch {epoch}", talk.end_of(epoch, -1)
        for offset in range(6):
            asked = {"last_fetched_epoch": epoch}
            yield f"epoch {epoch} fetched up to {offset}", talk.fetch(0, -1, (0, offset), more=asked)
        yield f"believing in epoch {epoch}", talk.fetch(0, -1, (0, 0), more={"current_leader_epoch": epoch})
    for timestamp in (-1, -2, -3, NOW_MS + 1, NOW_MS + 3):
        yield f"offset at {timestamp}", talk.list_offset(timestamp)


def test_epochs_behind_elections_are_those_of_kafka(own_kafka: OwnKafka) -> None:
    """A broker that is killed and started again leads in a new epoch; the sandbox elects until it has reached it."""
    with ExitStack() as stack:
        kafka = stack.enter_context(own_kafka())
        host, _, port = kafka.bootstrap().partition(",")[0].rpartition(":")
        written: list[int] = []
        for step in range(2):
            with Peer((host, int(port))) as peer:
                talk = _FetchTalk(peer, "t", 12)
                written.append(talk.leader_epoch())
                talk.produce(0, b"v", b"v", stamp_ms=NOW_MS + 2 * step)
            kafka.node(1).kill()
            kafka.node(1).start()
        with Peer((host, int(port))) as peer:
            talk = _FetchTalk(peer, "t", 12)
            last = talk.leader_epoch()
            talk.produce(0, b"v", stamp_ms=NOW_MS + 4)
            theirs = list(_look_at_epochs(talk, range(-1, last + 2)))
    assert written[0] < written[1] < last
    sandbox = Sandbox(nodes=1)
    with sandbox.serve() as served, Peer(served.listens_on(1)) as peer:
        talk = _FetchTalk(peer, "t", 12)
        for step, epoch in enumerate([*written, last]):
            while talk.leader_epoch() < epoch:
                sandbox.move_leader("t", 0, 1)
            talk.produce(0, *[b"v"] * (1 if epoch == last else 2), stamp_ms=NOW_MS + 2 * step)
        ours = list(_look_at_epochs(talk, range(-1, last + 2)))
    assert [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]] == []
