"""Elections that lose records: a consumer reports that read records are gone (KIP-320)."""

from collections.abc import Callable, Iterator

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import LogTruncationError
from kctl.client.events import ResetCause
from tests.sim.kit import SimCluster, drain
from tests.sim.virtual import Hub

T0 = TopicPartition("t", 0)


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    with Hub(seed=21) as hub:
        yield SimCluster(hub, topics={"t": 1})


def elect_and_write(cluster: SimCluster, *, keep: int, write: int) -> None:
    """Let another node lead that has `keep` records only, and then others written."""
    cluster.sandbox.move_leader("t", 0, 1 + cluster.leader(0) % 3, end_offset=keep)
    if write:
        cluster.write(0, write, first=keep, word="new ")


def read_ten(cluster: SimCluster, consumer: Consumer) -> None:
    cluster.write(0, 5)
    cluster.write(0, 5, first=5)
    consumer.assign([T0])
    consumer.seek(T0, 0)
    assert len(drain(consumer, 10)) == 10


@pytest.mark.parametrize("write", [0, 2, 20])
def test_with_a_policy_the_position_goes_back_to_the_cut(cluster: SimCluster, write: int) -> None:
    def body() -> None:
        with cluster.consumer() as consumer:
            read_ten(cluster, consumer)
            elect_and_write(cluster, keep=5, write=write)
            records = drain(consumer, write) if write else consumer.poll(timeout=3)
            assert [(each.offset, each.value) for each in records] == [(i, b"new %d" % i) for i in range(5, 5 + write)]
            assert consumer.position(T0) == 5 + write
            [reported] = cluster.resets()
            assert (reported.topic, reported.partition, reported.old_offset, reported.new_offset) == ("t", 0, 10, 5)
            assert (reported.policy, reported.cause) == ("earliest", ResetCause.TRUNCATED)

    cluster.run(body)


def test_without_a_policy_it_is_raised_until_the_caller_seeks(cluster: SimCluster) -> None:
    def body() -> None:
        with cluster.consumer(auto_offset_reset="none") as consumer:
            read_ten(cluster, consumer)
            elect_and_write(cluster, keep=5, write=20)
            for _ in range(3):
                with pytest.raises(LogTruncationError) as caught:
                    drain(consumer, 1)
                error = caught.value
                assert (error.topic, error.partition, error.offset, error.divergent_offset) == ("t", 0, 10, 5)
                assert consumer.position(T0) == 10
            consumer.seek(T0, 5)
            assert drain(consumer, 20)[0].value == b"new 5"
            assert cluster.resets() == []

    cluster.run(body)


def test_data_fetched_beyond_a_truncation_is_not_delivered(cluster: SimCluster) -> None:
    def body() -> None:
        with cluster.consumer(auto_offset_reset="none", max_poll_records=2) as consumer:
            cluster.write(0, 5)
            cluster.write(0, 5, first=5)
            consumer.assign([T0])
            consumer.seek(T0, 0)
            drain(consumer, 2)
            elect_and_write(cluster, keep=5, write=5)
            cluster.hub.sleep_ms(2000)  # the network hears of it while the application does something else
            values = [record.value for record in drain(consumer, 8)]
            assert values == [b"2", b"3", b"4", *(b"new %d" % i for i in range(5, 10))]

    cluster.run(body)


def test_a_clean_election_moves_nothing(cluster: SimCluster) -> None:
    def body() -> None:
        with cluster.consumer(auto_offset_reset="none") as consumer:
            read_ten(cluster, consumer)
            for turn in range(4):
                cluster.sandbox.move_leader("t", 0, 1 + cluster.leader(0) % 3)
                cluster.write(0, 5, first=10 + 5 * turn)
                assert [record.offset for record in drain(consumer, 5)] == list(range(10 + 5 * turn, 15 + 5 * turn))
            assert cluster.sent("OffsetForLeaderEpoch")

    cluster.run(body)


def in_group(cluster: SimCluster, body: Callable[[Consumer], object], *, policy: str = "earliest") -> None:
    with cluster.consumer(group_id="g", auto_offset_reset=policy, enable_auto_commit=policy != "none") as consumer:
        consumer.subscribe(["t"])
        body(consumer)


def test_committed_offsets_know_their_epoch(cluster: SimCluster) -> None:
    """A position that the new log has too, with other records before it: only the epoch shows that."""

    def read_all(consumer: Consumer) -> None:
        drain(consumer, 10)
        consumer.commit_sync()
        committed = consumer.committed([T0])[T0]
        assert committed is not None
        assert (committed.offset, committed.leader_epoch) == (10, 0)

    def go_on_without_a_policy(consumer: Consumer) -> None:
        with pytest.raises(LogTruncationError) as caught:
            drain(consumer, 1)
        assert (caught.value.offset, caught.value.divergent_offset) == (10, 5)

    def go_on_with_one(consumer: Consumer) -> None:
        assert drain(consumer, 20)[0].value == b"new 5"

    def body() -> None:
        cluster.write(0, 5)
        cluster.write(0, 5, first=5)
        in_group(cluster, read_all)
        elect_and_write(cluster, keep=5, write=20)
        in_group(cluster, go_on_without_a_policy, policy="none")
        in_group(cluster, go_on_with_one)

    cluster.run(body)


def test_position_with_a_committed_offset_is_checked_too(cluster: SimCluster) -> None:
    def body() -> None:
        cluster.write(0, 5)
        cluster.write(0, 5, first=5)
        in_group(cluster, lambda consumer: drain(consumer, 10))
        elect_and_write(cluster, keep=5, write=20)
        with cluster.consumer(group_id="g", auto_offset_reset="none", enable_auto_commit=False) as consumer:
            consumer.assign([T0])
            assert consumer.position(T0) == 10
            with pytest.raises(LogTruncationError):
                drain(consumer, 1)

    cluster.run(body)
