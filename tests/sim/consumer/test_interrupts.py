"""Ctrl-C at every point of the consumer's calls: nothing is skipped, nothing that was not returned is committed.

Each cluster is played once for some boundaries of the call that is interrupted, and by `make sim-long` for each of them
(tests/sim/interrupts.py).
"""

from collections.abc import Callable, Sequence

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.group.application_side import RebalanceListener
from kctl.client.consumer.group.events import Offsets
from kctl.client.errors import KafkaError
from kctl.client.records import Record
from tests.sim.interrupts import Interrupted, each_boundary
from tests.sim.kit import SimCluster
from tests.sim.virtual import Hub

T = (TopicPartition("t", 0), TopicPartition("t", 1))
COUNT = 12
QUICK = {"group_id": "g", "fetch_max_wait_ms": 50, "max_poll_records": 5}
MEMBER = {**QUICK, "auto_commit_interval_ms": 200, "heartbeat_interval_ms": 100}


class Reader(RebalanceListener):
    """Consumer and the records it returned."""

    def __init__(self, cluster: SimCluster, interrupted: Interrupted, **properties: object) -> None:
        self.scene = cluster
        self.interrupted = interrupted
        self.consumer: Consumer = cluster.consumer(**properties)
        self.seen: dict[TopicPartition, list[int]] = {tp: [] for tp in T}
        self.looped: list[Record] = []
        """Records that `loop` received and `see_looped` has not processed."""
        self.owned: list[TopicPartition] = []
        """Owned partitions, according to the listener."""

    def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self.owned += [tp for tp in topic_partitions if tp not in self.owned]

    def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self.owned = [tp for tp in self.owned if tp not in topic_partitions]

    def on_partitions_lost(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self.on_partitions_revoked(topic_partitions)

    def see(self, tp: TopicPartition, offset: int) -> None:
        assert offset == len(self.seen[tp]), f"{tp}: {offset} comes after {self.seen[tp][-3:]}"
        self.seen[tp].append(offset)

    def poll(self, timeout: float = 1, *, is_interrupted: bool = False) -> None:
        if not is_interrupted:
            records = self.consumer.poll(timeout)
        elif self.interrupted(lambda: self.consumer.poll(timeout)):
            return
        else:
            records = self.interrupted.result
        for record in records:
            self.see(TopicPartition(record.topic, record.partition), record.offset)

    def loop(self, count: int) -> None:
        """Loop until so many records were given; nothing else is interrupted."""
        for record in self.consumer:
            self.looped.append(record)
            count -= 1
            if not count:
                break

    def see_looped(self) -> None:
        """See what the loop was given."""
        for record in self.looped:
            self.see(TopicPartition(record.topic, record.partition), record.offset)
        self.looped.clear()

    def read_all(self) -> None:
        """Read all remaining records."""
        give_up_at_ms = self.scene.hub.now_ms + 20_000
        while any(len(offsets) < COUNT for offsets in self.seen.values()):
            self.poll()
            assert self.scene.hub.now_ms < give_up_at_ms, (self.seen, self.consumer.waiting_for())

    def check_committed(self) -> None:
        """Check that committed offsets match the received records."""
        with self.scene.consumer(group_id="g") as other:
            found = other.committed(T)
        for tp, each in found.items():
            assert (0 if each is None else each.offset) == len(self.seen[tp]), f"{tp}: {each}, given {self.seen[tp]}"


def play(body: Callable[[SimCluster, Interrupted], None], *, step: int = 7) -> int:
    """Play the body once for every n-th boundary of the call that it interrupts; return how many there were."""

    def cluster(interrupted: Interrupted) -> None:
        with Hub(seed=71) as hub:
            cluster = SimCluster(hub, nodes=1, topics={"t": 2})
            cluster.write(0, COUNT)
            cluster.write(1, COUNT)
            cluster.run(lambda: body(cluster, interrupted))

    return each_boundary(cluster, step=step)


@pytest.mark.slow
def test_interrupted_first_poll_skips_and_repeats_nothing() -> None:
    def body(cluster: SimCluster, interrupted: Interrupted) -> None:
        reader = Reader(cluster, interrupted, **QUICK)
        reader.consumer.assign(T)
        reader.poll(is_interrupted=True)
        reader.read_all()
        assert reader.consumer.close().committed
        reader.check_committed()

    assert play(body) > 200


def test_interrupted_poll_commits_nothing_that_was_not_returned() -> None:
    def body(cluster: SimCluster, interrupted: Interrupted) -> None:
        reader = Reader(cluster, interrupted, **QUICK)
        reader.consumer.assign(T)
        reader.poll()
        reader.poll(is_interrupted=True)
        assert reader.consumer.close().committed
        reader.check_committed()

    assert play(body) > 50


def test_interrupted_poll_in_midst_of_a_chunk_skips_and_repeats_nothing() -> None:
    def body(cluster: SimCluster, interrupted: Interrupted) -> None:
        reader = Reader(cluster, interrupted, **QUICK)
        reader.consumer.assign(T)
        reader.poll()
        cluster.hub.sleep_ms(200)
        reader.poll(is_interrupted=True)
        for tp in T:
            assert reader.consumer.position(tp) == len(reader.seen[tp])
        reader.read_all()
        assert reader.consumer.close().committed
        reader.check_committed()

    assert play(body) > 50


@pytest.mark.slow
def test_interrupted_loop_leaves_its_rest_to_polls_and_commits_what_it_was_given() -> None:
    def body(cluster: SimCluster, interrupted: Interrupted) -> None:
        reader = Reader(cluster, interrupted, **QUICK)
        reader.consumer.assign(T)
        reader.poll()
        interrupted(lambda: reader.loop(8))
        reader.see_looped()
        reader.consumer.commit_sync()
        reader.check_committed()
        reader.read_all()
        assert reader.consumer.close().committed
        reader.check_committed()

    assert play(body) > 100


def test_interrupted_commit_sync_leaves_consumer_usable() -> None:
    def body(cluster: SimCluster, interrupted: Interrupted) -> None:
        reader = Reader(cluster, interrupted, **QUICK)
        reader.consumer.assign(T)
        reader.poll()
        interrupted(reader.consumer.commit_sync)
        reader.read_all()
        reader.consumer.commit_sync()
        reader.check_committed()
        assert reader.consumer.close().committed

    assert play(body) > 50


@pytest.mark.slow
def test_interrupted_close_closes_when_called_again() -> None:
    def body(cluster: SimCluster, interrupted: Interrupted) -> None:
        reader = Reader(cluster, interrupted, **MEMBER)
        reader.consumer.subscribe(["t"], reader)
        reader.poll(5)
        called: list[KafkaError | None] = []

        def on_commit(_: Offsets, error: KafkaError | None) -> None:
            called.append(error)

        reader.consumer.commit_async(callback=on_commit)
        interrupted(reader.consumer.close)
        result = reader.consumer.close()
        assert (result.committed, result.left_group, result.expired_in) == (True, True, None)
        assert called == [None] * len(called) != []
        assert reader.owned == []
        reader.check_committed()

    assert play(body) > 100


@pytest.mark.slow
def test_interrupted_poll_of_a_new_member_loses_no_assignment() -> None:
    def body(cluster: SimCluster, interrupted: Interrupted) -> None:
        reader = Reader(cluster, interrupted, **MEMBER)
        reader.consumer.subscribe(["t"], reader)
        reader.poll(5, is_interrupted=True)
        reader.read_all()
        assert sorted(reader.owned) == list(T) == sorted(reader.consumer.assignment)
        reader.poll(0.5)
        reader.poll(0.5)
        reader.check_committed()  # automatic commits continue
        result = reader.consumer.close()
        assert (result.committed, result.left_group) == (True, True)

    assert play(body, step=19) > 300


@pytest.mark.slow
def test_interrupted_poll_that_commits_loses_no_callback() -> None:
    def body(cluster: SimCluster, interrupted: Interrupted) -> None:
        reader = Reader(cluster, interrupted, **MEMBER)
        reader.consumer.subscribe(["t"], reader)
        reader.poll(5)
        called: list[KafkaError | None] = []
        reader.consumer.commit_async(callback=lambda _, error: called.append(error))
        cluster.hub.sleep_ms(400)  # the commit has ended, an automatic one is due
        reader.poll(is_interrupted=True)
        reader.read_all()
        reader.poll(0.5)
        reader.poll(0.5)
        reader.check_committed()
        assert called == [None] * len(called) != []
        assert reader.consumer.close().committed

    assert play(body) > 100


@pytest.mark.slow
def test_interrupted_poll_that_gives_a_partition_away_finishes_the_rebalance() -> None:
    def body(cluster: SimCluster, interrupted: Interrupted) -> None:
        first = Reader(cluster, interrupted, **MEMBER)
        first.consumer.subscribe(["t"], first)
        first.poll(5)
        second = Reader(cluster, interrupted, **MEMBER)
        second.seen = first.seen  # each record is given to one of them
        second.consumer.subscribe(["t"], second)
        second.poll(0)
        cluster.hub.sleep_ms(150)
        first.poll(0.3, is_interrupted=True)
        give_up_at_ms = cluster.hub.now_ms + 20_000
        while any(len(offsets) < COUNT for offsets in first.seen.values()) or len(first.owned) != 1:
            first.poll(0.1)
            second.poll(0.1)
            assert cluster.hub.now_ms < give_up_at_ms, (first.owned, second.owned, first.seen)
        assert sorted(first.owned + second.owned) == list(T)
        first.consumer.close()
        second.consumer.close()
        first.check_committed()

    assert play(body, step=19) > 150
