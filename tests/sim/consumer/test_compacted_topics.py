"""Compacted topics, cleaned in virtual time: consumers, lag and range readers go over the gaps in their offsets."""

from collections.abc import Iterator

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.errors import UndeliveredError
from kctl.pipeline.isolation import as_given
from kctl.pipeline.range_reader import read_range
from kctl.pipeline.ranges import Selection, plan_ranges
from kctl.sandbox.groups.offsets_topic import OFFSETS_TOPIC
from tests.sim.kit import SimCluster, drain
from tests.sim.virtual import Hub, sim_runtime

COMPACT = {"cleanup.policy": "compact", "segment.bytes": "1", "min.cleanable.dirty.ratio": "0.01"}
CLEANED_MS = 16_000
KEYS = (b"0", b"1", b"2", b"3", b"0", b"1", b"2", b"3", b"0", b"2", b"9")
KEPT = [5, 7, 8, 9, 10]
"""Offsets of records with these keys once they are compacted."""
PARTITION = TopicPartition("t", 0)


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    with Hub(seed=7) as hub:
        cluster = SimCluster(hub)
        cluster.sandbox.cluster.configure_topic("t", COMPACT)
        yield cluster


def _wait(cluster: SimCluster) -> None:
    """Let the time pass after which logs are compacted."""
    cluster.hub.pause("the cleaner", (cluster.hub.now_ms + CLEANED_MS) * 1000, lambda _: None)


def _fill(cluster: SimCluster) -> None:
    """Write records, each a batch, and wait until they are compacted."""
    with cluster.producer({"linger.ms": 0}) as producer:
        for number, key in enumerate(KEYS):
            producer.send("t", b"%d" % number, key=key, partition=0).result()
    _wait(cluster)
    assert [one.header.base_offset for one in cluster.log(0).batches if one.header.records_count] == KEPT


def test_consumer_reads_over_gaps_and_its_position_and_lag_are_offsets(cluster: SimCluster) -> None:
    def body() -> None:
        _fill(cluster)
        with cluster.consumer(group_id="g") as consumer:
            consumer.assign([PARTITION])
            assert [one.offset for one in drain(consumer, 5)] == KEPT
            assert (consumer.position(PARTITION), consumer.end_offsets([PARTITION])) == (11, {PARTITION: 11})
            assert consumer.beginning_offsets([PARTITION]) == {PARTITION: 0}
            consumer.seek(PARTITION, 6)
            assert [one.offset for one in drain(consumer, 4)] == KEPT[1:]
            consumer.commit_sync()

    cluster.run(body)
    assert cluster.sandbox.cluster.groups.offsets["g"]["t", 0].offset == 11


def test_range_reader_ends_though_records_of_its_range_are_gone(cluster: SimCluster) -> None:
    def body() -> None:
        _fill(cluster)
        properties = as_given({"bootstrap.servers": cluster.bootstrap})
        found = plan_ranges(properties, Selection(("t",)), runtime=sim_runtime(cluster.hub, "plan", cluster.network))
        (ours,) = [one for one in found if one.partition == 0]
        assert (ours.start_offset, ours.end_offset) == (0, 11)
        runtime = sim_runtime(cluster.hub, "task", cluster.network)
        batches = read_range(properties, ours, ["offset"], runtime=runtime)
        assert [offset for batch in batches for offset in batch.column("offset").to_pylist()] == KEPT

    cluster.hub.spawn("app", body)
    cluster.hub.run()
    cluster.hub.run(until_ms=cluster.hub.now_ms + 1000)  # threads of closed clients have ended
    assert cluster.hub.live_actors == ()


def test_aborted_records_and_markers_that_are_cleaned_do_not_hold_read_committed_up(cluster: SimCluster) -> None:
    def body() -> None:
        with cluster.producer({"transactional.id": "tx"}) as producer:
            producer.init_transactions()
            for number in range(6):
                producer.begin_transaction()
                producer.send("t", b"%d" % number, key=b"k%d" % (number % 2), partition=0)
                producer.flush()
                producer.commit_transaction() if number % 3 else producer.abort_transaction()
        _wait(cluster)
        assert not [
            one for one in cluster.log(0).batches if one.header.base_offset in (0, 6) and one.header.records_count
        ]
        with cluster.consumer(isolation_level="read_committed") as consumer:
            consumer.assign([PARTITION])
            assert [one.value for one in drain(consumer, 2)] == [b"4", b"5"]
            assert consumer.position(PARTITION) <= cluster.log(0).end_offset

    cluster.run(body)


def test_record_without_a_key_fails_by_itself(cluster: SimCluster) -> None:
    def send() -> None:
        with cluster.producer() as producer:
            producer.send("t", b"v", partition=0)
            producer.send("t", b"v", key=b"k", partition=1)

    def body() -> None:
        with pytest.raises(UndeliveredError, match="cannot accept message without key"):
            send()
        assert (cluster.log(0).end_offset, cluster.log(1).end_offset) == (0, 1)

    cluster.run(body)


def test_group_finds_its_commits_in_the_offsets_topic(cluster: SimCluster) -> None:
    def body() -> None:
        _fill(cluster)
        with cluster.consumer(group_id="g") as consumer:
            consumer.subscribe(["t"])
            drain(consumer, 5)
            consumer.commit_sync()
        index = cluster.sandbox.cluster.groups.topic.index_of("g")
        with cluster.consumer() as reader:
            reader.assign([TopicPartition(OFFSETS_TOPIC, index)])
            keys = [one.key for one in drain(reader, 4)]
        assert keys.count(b"\0\2\0\1g") >= 2
        assert b"\0\1\0\1g\0\1t\0\0\0\0" in keys

    cluster.run(body)
