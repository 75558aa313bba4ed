"""`for record in consumer`: the position moves record by record, however the loop ends."""

import contextlib
from collections.abc import Callable, Iterator, Sequence

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.group.application_side import RebalanceListener
from tests.sim.kit import SimCluster
from tests.sim.virtual import Hub

T = tuple(TopicPartition("t", number) for number in range(3))
COUNT = 100


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    with Hub(seed=23) as hub:
        cluster = SimCluster(hub)
        cluster.write(0, COUNT)
        yield cluster


class Failure(Exception):
    """Error of an application."""


def committed(cluster: SimCluster, tp: TopicPartition = T[0]) -> int | None:
    """Return what group g has committed."""
    with cluster.consumer(group_id="g") as consumer:
        found = consumer.committed([tp])[tp]
        return None if found is None else found.offset


def reader(cluster: SimCluster, *tps: TopicPartition, **properties: object) -> Consumer:
    consumer = cluster.consumer(group_id="g", **properties)
    consumer.assign(tps or T[:1])
    return consumer


def given(consumer: Consumer, count: int) -> list[int]:
    """Return the offsets of the next records of a loop that ends after so many."""
    offsets: list[int] = []
    for record in consumer:
        offsets.append(record.offset)
        if len(offsets) == count:
            break
    return offsets


def test_break_after_first_record_commits_first_record_only(cluster: SimCluster) -> None:
    def body() -> int | None:
        with reader(cluster) as consumer:
            assert given(consumer, 1) == [0]
        return committed(cluster)

    assert cluster.run(body) == 1


def fails(consumer: Consumer, process: Callable[[Consumer], None]) -> None:
    """Have `with` end by the exception of `process`."""
    with contextlib.suppress(Failure), consumer:
        process(consumer)
        raise AssertionError("it does not fail")


def test_exception_in_loop_does_not_commit_record_in_hand(cluster: SimCluster) -> None:
    def process(consumer: Consumer) -> None:
        for record in consumer:
            if record.offset == 10:
                raise Failure

    def body() -> int | None:
        fails(reader(cluster), process)
        return committed(cluster)

    assert cluster.run(body) == 10


def test_exception_after_other_calls_in_loop_does_not_commit_record_in_hand(cluster: SimCluster) -> None:
    def process(consumer: Consumer) -> None:
        for record in consumer:
            assert consumer.position(T[0]) == record.offset + 1
            assert consumer.current_lag(T[0]) == COUNT - 1 - record.offset
            if record.offset == 10:
                raise Failure

    def body() -> int | None:
        fails(reader(cluster), process)
        return committed(cluster)

    assert cluster.run(body) == 10


def test_exception_after_commit_keeps_commit(cluster: SimCluster) -> None:
    def process(consumer: Consumer) -> None:
        for record in consumer:
            if record.offset == 10:
                consumer.commit_sync()
                raise Failure

    def body() -> int | None:
        fails(reader(cluster), process)
        return committed(cluster)

    assert cluster.run(body) == 11


def test_exception_after_poll_does_not_commit_records_of_that_poll(cluster: SimCluster) -> None:
    def process(consumer: Consumer) -> None:
        assert len(consumer.poll(5)) == 30
        records = consumer.poll(5)
        records.clear()  # the list is the application's
        raise Failure

    def body() -> int | None:
        fails(reader(cluster, max_poll_records=30), process)
        return committed(cluster)

    assert cluster.run(body) == 30


def test_exit_without_exception_commits_records_of_last_poll(cluster: SimCluster) -> None:
    def body() -> int | None:
        with reader(cluster, max_poll_records=30) as consumer:
            consumer.poll(5).reverse()
        return committed(cluster)

    assert cluster.run(body) == 30


@pytest.mark.parametrize("commit", ["commit_sync", "commit_async"])
def test_commit_after_each_record_commits_what_loop_was_given(cluster: SimCluster, commit: str) -> None:
    def body() -> list[int | None]:
        offsets: list[int | None] = []
        with reader(cluster, enable_auto_commit=False) as consumer:
            for record in consumer:
                getattr(consumer, commit)()
                found = consumer.committed(T[:1])[T[0]]
                if commit == "commit_sync":
                    assert found is not None
                    assert found.offset == record.offset + 1
                offsets.append(record.offset)
                if record.offset == 2:
                    break
        return [*offsets, committed(cluster)]

    assert cluster.run(body) == [0, 1, 2, 3]


def test_later_loops_and_polls_get_rest_in_order(cluster: SimCluster) -> None:
    def body() -> dict[int, list[int]]:
        cluster.write(1, COUNT)
        cluster.write(2, COUNT)
        seen: dict[int, list[int]] = {0: [], 1: [], 2: []}
        with reader(cluster, *T, max_poll_records=40) as consumer:
            while sum(map(len, seen.values())) < 3 * COUNT - 40:
                for record in consumer:
                    seen[record.partition].append(record.offset)
                    if record.offset % 7 == 3:
                        break
                for record in consumer.poll(0):
                    seen[record.partition].append(record.offset)
        assert {tp.partition: committed(cluster, tp) for tp in T} == {each: len(seen[each]) for each in seen}
        return seen

    for offsets in cluster.run(body).values():
        assert offsets == list(range(len(offsets)))


def test_poll_between_two_records_of_a_loop_is_not_given_again(cluster: SimCluster) -> None:
    def body() -> list[int]:
        offsets: list[int] = []
        with reader(cluster, max_poll_records=10) as consumer:
            for record in consumer:
                offsets.append(record.offset)
                offsets += [each.offset for each in consumer.poll(0)]
                if record.offset >= 50:
                    break
        return offsets

    offsets = cluster.run(body)
    assert offsets == list(range(len(offsets)))


def test_seek_in_loop_takes_effect_with_next_record(cluster: SimCluster) -> None:
    def body() -> list[int]:
        offsets: list[int] = []
        with reader(cluster) as consumer:
            for record in consumer:
                offsets.append(record.offset)
                if len(offsets) == 3:
                    consumer.seek(T[0], 50)
                if len(offsets) == 5:
                    break
        return offsets

    assert cluster.run(body) == [0, 1, 2, 50, 51]


def test_pause_in_loop_keeps_rest_until_resume(cluster: SimCluster) -> None:
    def body() -> list[tuple[int, int]]:
        cluster.write(1, 3)
        seen: list[tuple[int, int]] = []
        with reader(cluster, *T[:2]) as consumer:
            for record in consumer:
                seen.append((record.partition, record.offset))
                if seen[-1] == (0, 1):
                    consumer.pause(T[:1])
                if len([each for each in seen if each[0] == 1]) == 3 and consumer.paused:
                    consumer.resume(T[:1])
                if seen[-1] == (0, 3):
                    break
        return [each for each in seen if each[0] == 0] + [each for each in seen if each[0] == 1]

    assert cluster.run(body) == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2)]


@pytest.mark.parametrize(
    "unassign", [lambda consumer: consumer.assign(T[1:2]), lambda consumer: consumer.unassign(T[:1])]
)
def test_partition_unassigned_in_loop_is_given_no_more(
    cluster: SimCluster, unassign: Callable[[Consumer], None]
) -> None:
    def body() -> tuple[list[tuple[int, int]], int | None]:
        cluster.write(1, 3)
        seen: list[tuple[int, int]] = []
        with reader(cluster, *T[:2]) as consumer:
            for record in consumer:
                seen.append((record.partition, record.offset))
                if len(seen) == 2:
                    unassign(consumer)
                if len(seen) == 4:
                    break
        return seen, committed(cluster, T[1])

    assert cluster.run(body) == ([(0, 0), (0, 1), (1, 0), (1, 1)], 2)


def test_revoked_partition_is_committed_at_what_loop_was_given(cluster: SimCluster) -> None:
    def body() -> tuple[list[int], list[int], int | None]:
        first, second = cluster.consumer(group_id="g"), cluster.consumer(group_id="g")
        first.subscribe(["t"])
        held = given(first, 4)
        revoked: list[TopicPartition] = []

        class Revoked(RebalanceListener):
            def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
                revoked.extend(topic_partitions)

        first.subscribe(["t"], Revoked())
        first.pause(T[:1])
        second.subscribe(["t"])
        later: list[int] = []
        while not revoked:
            later += [record.offset for record in second.poll(0.2) if record.partition == 0]
            first.poll(0.2)
        first.close()
        while len(later) < COUNT - 4:
            later += [record.offset for record in second.poll(1) if record.partition == 0]
        second.close()
        return held, later, committed(cluster)

    held, later, end = cluster.run(body)
    assert (held, later, end) == (list(range(4)), list(range(4, COUNT)), COUNT)
