"""What a sandbox's logs keep stays honest: __consumer_offsets and compacted topics have the batches that Kafka's have.

The same raw requests go to both; batches are compared field by field and records byte by byte.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from kctl.sandbox import ClusterSettings, Sandbox
from tests.conformance.log_talk import OFFSETS, SEGMENT_S, LogTalk
from tests.loopback.sandbox.peer import Peer
from tests.support.kafka.cluster import KafkaCluster
from tests.unit.sandbox.scenario import batch

PARTITIONS = 10
DAY_MS = 86_400_000


# --- __consumer_offsets -----------------------------------------------------------------------------------------------


def _commits(talk: LogTalk) -> Iterator[Any]:
    yield talk.commit(p0=5, p1=6)
    yield talk.commit(p1=7, p9=1)
    yield talk.offsets_log()
    yield talk.delete_offsets(1, 2)
    yield talk.offsets_log()
    yield talk.delete_group()
    yield talk.offsets_log()


def _members(talk: LogTalk) -> Iterator[Any]:
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


def _transactions(talk: LogTalk) -> Iterator[Any]:
    held = talk.begin()
    for offset, is_commit in ((7, True), (8, False)):
        yield talk.add_offsets(held)
        yield talk.commit_in(held, offset)
        yield talk.offsets_log()
        held = talk.ended(held, is_commit)
    yield talk.offsets_log()


def _writes(talk: LogTalk) -> Iterator[Any]:
    data = [PartitionProduceData(index=0, records=batch(b"v", keys=[b"k"]))]
    request = ProduceRequest(
        acks=-1, timeout_ms=5_000, topic_data=[TopicProduceData(name=OFFSETS, partition_data=data)]
    )
    yield talk.call(request, ProduceResponse, 12).responses[0].partition_responses[0].error_code


def _lost(talk: LogTalk) -> Iterator[Any]:
    """The last one: all groups are lost with the topic."""
    joined = talk.join(talk.join().member_id)
    member = (joined.member_id, joined.generation_id)
    yield talk.sync(joined)
    yield talk.commit(*member, p0=9)
    yield talk.delete_offsets_topic()
    yield talk.commit_until(ErrorCode.NOT_COORDINATOR, *member, p0=10)
    yield talk.find_group()
    yield talk.commit_until(ErrorCode.GROUP_ID_NOT_FOUND, *member, p0=10)
    yield talk.commit_until(ErrorCode.NONE, p0=11)
    yield talk.offsets_log()


# --- compaction -------------------------------------------------------------------------------------------------------


def _latest(talk: LogTalk) -> Iterator[Any]:
    talk.create("-c")
    for number in range(5):
        pairs = [(b"a", b"%d" % number), (b"b%d" % number, b"v"), (b"c", b"%d" % (number // 2))]
        yield talk.write("-c", pairs, after_s=number)
    yield talk.write("-c", [(b"b1", b"w")], after_s=SEGMENT_S)
    yield talk.compacted("-c", 15)
    yield talk.write("-c", [(b"b1", b"x")], after_s=2 * SEGMENT_S)
    yield talk.compacted("-c", 16)


def _tombstones(talk: LogTalk) -> Iterator[Any]:
    for suffix, kept_ms in (("-kept", DAY_MS), ("-gone", 0)):
        talk.create(suffix, delete_retention_ms=str(kept_ms))
        talk.write(suffix, [(b"a", b"1"), (b"b", b"1"), (b"c", b"1")], after_s=0)
        talk.write(suffix, [(b"a", None), (b"d", b"")], after_s=1)
        for number, key in enumerate((b"e", b"f", b"g"), 1):
            talk.write(suffix, [(key, b"1")], after_s=number * SEGMENT_S)
            yield talk.compacted(suffix, 4 + number)


def _aborted(talk: LogTalk) -> Iterator[Any]:
    """The markers are of now: a segment of a day and an hour takes in those too, and what is later begins another."""
    segment_s = 25 * 3_600
    configs = {"segment_ms": str(1000 * segment_s), "message_timestamp_after_max_ms": str(2**62)}
    talk.create("-t", delete_retention_ms="0", **configs)
    held = talk.begin()
    for number, is_commit in enumerate((True, False, True, False, False, True)):
        pairs = [(b"a", b"%d" % number), (b"b%d" % number, b"v")]
        after_s = 2 * number + segment_s * (number // 4)
        yield talk.write("-t", pairs, after_s=after_s, producer=(*held, 0), name=talk.name(""))
        held = talk.ended(held, is_commit)
        if number == 3:
            talk.write("-t", [(b"z", b"")], after_s=segment_s + 1)
            yield _without_times(talk.compacted("-t", 12))
    for number, until_offset in enumerate((19, 20, 21), 2):
        talk.write("-t", [(b"z", b"%d" % number)], after_s=number * (segment_s + 1))
        yield _without_times(talk.compacted("-t", until_offset))


def _without_times(left: list[Any]) -> list[Any]:
    ends, batches = left
    return [ends, [(offsets, producer, [one[2] for one in records]) for offsets, producer, _, records in batches]]


def _sequences(talk: LogTalk) -> Iterator[Any]:
    talk.create("-s")
    (_, (producer_id, epoch)) = talk.init("-s")
    for number in range(4):
        who = (producer_id, epoch, number)
        yield talk.write("-s", [(b"a", b"%d" % number)], after_s=number, producer=who)
    for number in range(4, 7):
        yield talk.write("-s", [(b"a", b"%d" % number)], after_s=(number - 3) * SEGMENT_S)
        yield talk.compacted("-s", number)


AFTER_S = (0, 3_600, 7_200, 70_000, 73_600, 77_200)
"""When the records of topics with lags and retention are of: three and three, each in a segment of its own."""
FIRST_THREE_MS = DAY_MS - 10_000_000
"""What is older than this are the first three."""


def _lags(talk: LogTalk) -> Iterator[Any]:
    talk.create("-young", min_compaction_lag_ms=str(2 * DAY_MS))
    talk.create("-lazy", min_cleanable_dirty_ratio="1.0")
    talk.create("-half", min_compaction_lag_ms=str(FIRST_THREE_MS))
    talk.create("-due", min_cleanable_dirty_ratio="1.0", max_compaction_lag_ms="1000")
    for suffix in ("-young", "-lazy", "-half", "-due"):
        for number, after_s in enumerate(AFTER_S):
            talk.write(suffix, [(b"a", b"%d" % number)], after_s=after_s)
    yield [talk.compacted("-half", 3), talk.compacted("-due", 5), talk.left("-young"), talk.left("-lazy")]


def _retention(talk: LogTalk) -> Iterator[Any]:
    kept_ms = str(FIRST_THREE_MS)
    talk.create("-both", cleanup_policy="compact,delete", retention_ms=kept_ms, min_cleanable_dirty_ratio="1.0")
    talk.create("-all", cleanup_policy="delete", retention_ms="1000")
    talk.create("-size", cleanup_policy="delete", retention_bytes="150")
    for suffix in ("-both", "-all", "-size"):
        for number, after_s in enumerate(AFTER_S):
            talk.write(suffix, [(b"a", b"%d" % number)], after_s=after_s)
    yield [talk.expired("-both", 3), talk.expired("-all", 6), talk.expired("-size", 3)]


def _refusals(talk: LogTalk) -> Iterator[Any]:
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
    _commits, _members, _transactions, _writes, _latest, _tombstones, _aborted, _sequences, _lags, _retention,
    _refusals, _lost,
)  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_logs_are_those_of_kafka(kafka_impatient: KafkaCluster, scenario: Callable[[LogTalk], Iterator[Any]]) -> None:
    topic = kafka_impatient.create_topic(partitions=4)
    host, _, port = kafka_impatient.bootstrap().partition(",")[0].rpartition(":")
    settings = ClusterSettings(
        log_cleaner_backoff_ms=50, log_retention_check_interval_ms=50, offsets_topic_num_partitions=PARTITIONS
    )
    sandbox = Sandbox(nodes=1, topics={topic: 4}, settings=settings)
    with sandbox.serve() as served, Peer((host, int(port))) as their_peer, Peer(served.listens_on(1)) as our_peer:
        theirs = LogTalk(their_peer, topic, lambda name: _compacted_by(kafka_impatient, name))
        ours = LogTalk(our_peer, topic, lambda name: sandbox.cluster.topics[name].partitions[0].log.compacted_until)
        for expected, outcome in zip(scenario(theirs), scenario(ours), strict=True):
            assert outcome == expected


def _compacted_by(kafka: KafkaCluster, topic: str) -> int:
    """Return up to which offset Kafka's cleaner has written down that a topic is clean."""
    try:
        lines = (kafka.folder / "node-1" / "data" / "cleaner-offset-checkpoint").read_text().splitlines()
    except FileNotFoundError:
        return 0
    return next((int(line.split()[2]) for line in lines if line.startswith(f"{topic} 0 ")), 0)
