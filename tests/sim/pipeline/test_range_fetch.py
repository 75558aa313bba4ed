"""Ranges that share a consumer: each is read in turn, entirely and in order, while data of others arrives."""

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer import FetchedChunk
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import ApiTimeout, BrokerError, InvalidOffsetError, KafkaError
from kctl.client.events import Event, RequestSent
from kctl.pipeline import range_fetch
from kctl.pipeline.client_pool import ClientPool
from kctl.pipeline.isolation import as_given
from kctl.pipeline.range_fetch import RangeFetch
from kctl.pipeline.range_reader import LOOKS_BEFORE_SKIPPING, RECREATED_AFTER_MS, read_ranges
from kctl.pipeline.ranges import OffsetRange, Selection, plan_ranges
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster
from tests.sim.pipeline.test_ranges import LIMIT_MS, properties, run, runtime
from tests.sim.virtual import Hub

PARTITIONS = 60


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    with Hub(seed=7) as hub:
        yield SimCluster(hub, topics={"t": PARTITIONS, "u": 3})


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """Yield the events of the consumers of ranges."""
    found: list[Event] = []
    monkeypatch.setattr(range_fetch, "Consumer", partial(Consumer, events=found.append))
    return found


def sent(events: list[Event], api: str) -> int:
    return sum(isinstance(each, RequestSent) and each.api == api for each in events)


def read(
    cluster: SimCluster, ranges: list[OffsetRange], *, fails: bool = True, pool: ClientPool[Consumer] | None = None
) -> dict[OffsetRange, list[int]]:
    """Return the offsets of each range."""
    found = read_ranges(
        properties(cluster),
        ranges,
        ["offset"],
        fail_on_data_loss=fails,
        pool=pool,
        runtime=runtime(cluster, f"task {cluster.hub.now_ms}"),
    )
    return {each: [o for batch in batches for o in batch.column("offset").to_pylist()] for each, batches in found}


def until_error(
    found: "Iterator[tuple[OffsetRange, Iterator[pa.RecordBatch]]]",
) -> tuple[dict[OffsetRange, list[int]], KafkaError | None]:
    """Return the offsets of each range that was read, and what ended the reading."""
    got: dict[OffsetRange, list[int]] = {}
    try:
        for each, batches in found:
            got[each] = [o for batch in batches for o in batch.column("offset").to_pylist()]
    except KafkaError as error:
        return got, error
    return got, None


def whole(count: int, topic: str = "t", partitions: int = PARTITIONS) -> list[OffsetRange]:
    return [OffsetRange(topic, partition, 0, count) for partition in range(partitions)]


def write(cluster: SimCluster, count: int, *, topic: str = "t", partitions: int = PARTITIONS) -> None:
    for partition in range(partitions):
        cluster.write(partition, count, topic=topic)


def test_many_small_ranges_take_few_requests(cluster: SimCluster, events: list[Event]) -> None:
    def body() -> None:
        write(cluster, 10)
        assert read(cluster, whole(10)) == {each: list(range(10)) for each in whole(10)}
        assert sent(events, "Fetch") <= 2 * 3, "a fetch or two of each leader"
        assert sent(events, "Metadata") <= 3

    run(cluster, body)


def test_chunks_that_come_early_are_held_up_to_a_limit(cluster: SimCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(range_fetch, "HELD_BYTES", 2_000)
    held: list[int] = []
    hold = RangeFetch._hold

    def watched(fetch: RangeFetch, chunk: FetchedChunk, tp: TopicPartition) -> None:
        hold(fetch, chunk, tp)
        held.append(fetch._held_bytes)

    monkeypatch.setattr(RangeFetch, "_hold", watched)

    def body() -> None:
        for first in range(0, 200, 20):
            for partition in range(12):
                cluster.write(partition, 20, first=first)
        largest = sum(len(batch.data) for batch in cluster.log(11).batches)
        ranges = [OffsetRange("t", partition, 5, 195) for partition in range(12)]
        assert read(cluster, ranges) == {each: list(range(5, 195)) for each in ranges}
        assert 2_000 <= max(held) < 2_000 + largest, "one chunk more at most"

    run(cluster, body)


def test_a_range_that_is_lost_waits_for_its_turn(cluster: SimCluster) -> None:
    """The error belongs to its range. Ranges before it are read, and, if loss is allowed, ranges after it."""
    pool = ClientPool[Consumer]()

    def body() -> None:
        write(cluster, 10)
        cluster.log(30).delete_records(10)
        found = read_ranges(properties(cluster), whole(10), ["offset"], pool=pool, runtime=runtime(cluster, "strict"))
        got, error = until_error(found)
        assert got == {each: list(range(10)) for each in whole(10)[:30]}
        assert isinstance(error, InvalidOffsetError)
        assert str(error).startswith("cannot read offset 0 of t-30")
        kept = read(cluster, whole(10), fails=False, pool=pool)
        assert kept == {each: [] if each.partition == 30 else list(range(10)) for each in whole(10)}
        pool.close()

    run(cluster, body)


def test_a_leader_that_is_silent_ends_the_range_whose_turn_it_is_by_its_limit(cluster: SimCluster) -> None:
    def body() -> None:
        write(cluster, 10)
        cluster.sandbox.start_fault(cluster.leader(1), Fault.FREEZE)
        cluster.hub.sleep_ms(1)
        before_ms = cluster.hub.now_ms
        ranges = [each for each in whole(10) if cluster.leader(each.partition) != cluster.leader(1)]
        behind = [*ranges, OffsetRange("t", 1, 0, 10)]
        found = read_ranges(properties(cluster), behind, ["offset"], runtime=runtime(cluster, "frozen"))
        got, error = until_error(found)
        assert got == {each: list(range(10)) for each in ranges}
        assert isinstance(error, ApiTimeout)
        assert "waiting for offset 0 of t-1 [0, 10)" in str(error)
        assert cluster.hub.now_ms - before_ms < 2 * LIMIT_MS

    run(cluster, body)


def test_a_deleted_topic_fails_its_ranges_alone(cluster: SimCluster) -> None:
    def body() -> None:
        write(cluster, 10, topic="u", partitions=3)
        write(cluster, 10)
        cluster.sandbox.cluster.delete_topic("u")
        ranges = [*whole(10, partitions=3), *whole(10, "u", 3), *whole(10)[3:6]]
        got = read(cluster, ranges, fails=False)
        assert got == {each: [] if each.topic == "u" else list(range(10)) for each in ranges}
        with pytest.raises(BrokerError, match="UNKNOWN_TOPIC"):
            read(cluster, ranges)

    run(cluster, body)


@pytest.mark.parametrize("is_recreated", [False, True])
def test_a_topic_that_is_gone_is_waited_for_once_in_a_task(cluster: SimCluster, *, is_recreated: bool) -> None:
    def body() -> None:
        write(cluster, 10)
        write(cluster, 10, topic="u", partitions=3)
        planned, others = (
            plan_ranges(properties(cluster), Selection((name,)), runtime=runtime(cluster, name)) for name in ("t", "u")
        )
        cluster.sandbox.cluster.delete_topic("t")
        if is_recreated:
            cluster.sandbox.cluster.create_topic("t", PARTITIONS)
            write(cluster, 10)
        before_ms = cluster.hub.now_ms
        ranges = [*planned[:30], *others, *planned[30:]]
        patient = as_given({"bootstrap.servers": cluster.bootstrap, "default.api.timeout.ms": 60_000})
        found = read_ranges(patient, ranges, ["offset"], fail_on_data_loss=False, runtime=runtime(cluster, "task"))
        got, error = until_error(found)
        assert error is None
        assert got == {each: list(range(10)) if each.topic == "u" else [] for each in ranges}
        assert cluster.hub.now_ms - before_ms < (LOOKS_BEFORE_SKIPPING + 1) * RECREATED_AFTER_MS

    run(cluster, body)


def test_batches_that_are_left_do_not_come_with_another_range(cluster: SimCluster) -> None:
    def body() -> None:
        write(cluster, 10, partitions=3)
        found = read_ranges(properties(cluster), whole(10, partitions=3), ["offset"], runtime=runtime(cluster))
        got = {}
        for each, batches in found:
            if each.partition != 1:
                got[each.partition] = [o for batch in batches for o in batch.column("offset").to_pylist()]
        assert got == {0: list(range(10)), 2: list(range(10))}

    run(cluster, body)


def test_two_ranges_of_one_partition_are_refused(cluster: SimCluster) -> None:
    twice = [OffsetRange("t", 0, 0, 5), OffsetRange("t", 0, 5, 10)]
    with pytest.raises(ValueError, match="two ranges of one partition"):
        next(read_ranges(properties(cluster), twice, runtime=runtime(cluster)))
