"""Clients that are kept for the next task: made once, dropped after an error or an interrupt, bounded in number."""

from collections.abc import Generator, Iterator
from typing import Any

import pyarrow as pa
import pytest

from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import ApiTimeout
from kctl.client.producer import Producer
from kctl.pipeline import range_fetch, record_writer
from kctl.pipeline.client_pool import MOST_IDLE, ClientPool
from kctl.pipeline.isolation import as_given
from kctl.pipeline.range_reader import read_range
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.record_writer import (
    LOOK_AT_SINK_MS,
    POOLED_METADATA_AGE_MS,
    PartialWriteError,
    write_batches,
)
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster
from tests.sim.pipeline.test_ranges import LIMIT_MS, expected, properties, rows, run, runtime
from tests.sim.virtual import Hub


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    with Hub(seed=7) as hub:
        yield SimCluster(hub)


@pytest.fixture
def producers(monkeypatch: pytest.MonkeyPatch) -> list[Producer]:
    """The producers that were made for writers, in their order."""
    found: list[Producer] = []

    def make(*given: Any, **more: Any) -> Producer:
        found.append(Producer(*given, **more))
        return found[-1]

    monkeypatch.setattr(record_writer, "Producer", make)
    return found


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Consumer]:
    """The consumers that were made for ranges, in their order."""
    found: list[Consumer] = []

    def make(*given: Any, **more: Any) -> Consumer:
        found.append(Consumer(*given, **more))
        return found[-1]

    monkeypatch.setattr(range_fetch, "Consumer", make)
    return found


def test_one_consumer_reads_many_ranges_until_one_of_them_fails(cluster: SimCluster, made: list[Consumer]) -> None:
    pool = ClientPool[Consumer]()

    def read(start: int, end: int, partition: int = 0) -> list[bytes]:
        offsets, task = OffsetRange("t", partition, start, end), runtime(cluster, f"task {cluster.hub.now_ms}")
        batches = read_range(properties(cluster), offsets, ["value"], pool=pool, runtime=task)
        return [value for batch in batches for value in batch.column("value").to_pylist()]

    def body() -> None:
        cluster.write(0, 100)
        cluster.write(1, 100)
        assert read(0, 10) == expected(0, 10)
        assert read(10, 40) == expected(10, 40)
        assert read(5, 7) == expected(5, 7), "an earlier range of the same partition"
        assert read(0, 10, partition=1) == expected(0, 10)
        assert len(made) == 1
        cluster.break_all(Fault.FREEZE)
        before_ms = cluster.hub.now_ms
        with pytest.raises(ApiTimeout):
            read(50, 60)
        assert cluster.hub.now_ms - before_ms == LIMIT_MS
        for node_id in (1, 2, 3):
            cluster.sandbox.stop_fault(node_id, Fault.FREEZE)
        assert read(50, 60) == expected(50, 60)
        assert len(made) == 2, "the consumer whose range failed is not used again"
        pool.close()

    run(cluster, body)


def test_consumer_of_a_reader_that_stops_early_is_kept(cluster: SimCluster, made: list[Consumer]) -> None:
    pool = ClientPool[Consumer]()

    def body() -> None:
        for first in range(0, 60_000, 100):
            cluster.write(0, 100, first=first)
        for start in (0, 30_000):
            offsets, task = OffsetRange("t", 0, start, 60_000), runtime(cluster, f"task {start}")
            batches = read_range(properties(cluster), offsets, ["value"], pool=pool, runtime=task)
            assert next(batches).column("value")[0].as_py() == b"%d" % start
            assert isinstance(batches, Generator)
            batches.close()
        assert len(made) == 1
        pool.close()

    run(cluster, body)


def test_one_producer_serves_many_writers_until_one_of_them_fails(
    cluster: SimCluster, producers: list[Producer]
) -> None:
    pool = ClientPool[Producer]()

    def write(count: int) -> int:
        task = runtime(cluster, f"task {cluster.hub.now_ms}")
        return write_batches(properties(cluster), [rows(count)], topic="t", pool=pool, runtime=task)

    def body() -> None:
        assert [write(12), write(0), write(3)] == [12, 0, 3]
        assert len(producers) == 1
        cluster.sandbox.start_fault(2, Fault.FREEZE)
        with pytest.raises(PartialWriteError, match=r"^3 of 9 rows not delivered: t-1: 3 ") as caught:
            write(9)
        assert (caught.value.delivered, caught.value.undelivered) == (6, 3)
        cluster.sandbox.stop_fault(2, Fault.FREEZE)
        cluster.hub.sleep_ms(60_000)
        before = [cluster.log(number).end_offset for number in range(3)]
        assert write(6) == 6
        assert len(producers) == 2, "the producer whose task failed is not used again"
        assert [cluster.log(number).end_offset for number in range(3)] == [end + 2 for end in before]
        pool.close()

    run(cluster, body)


def test_rows_of_an_interrupted_task_are_not_sent_by_the_next(cluster: SimCluster, producers: list[Producer]) -> None:
    pool = ClientPool[Producer]()
    given = {**properties(cluster), "linger.ms": 60_000, "delivery.timeout.ms": 120_000}

    def killed() -> Iterator[pa.RecordBatch]:
        yield rows(9)
        raise KeyboardInterrupt

    def body() -> None:
        with pytest.raises(KeyboardInterrupt):
            write_batches(given, killed(), topic="t", pool=pool, runtime=runtime(cluster, "killed"))
        assert write_batches(given, [rows(3)], topic="t", pool=pool, runtime=runtime(cluster, "next")) == 3
        cluster.hub.sleep_ms(200_000)
        assert [cluster.log(number).end_offset for number in range(3)] == [1, 1, 1]
        assert len(producers) == 2
        pool.close()

    run(cluster, body)


SINK_LIMIT_MS = 60_000


def write_to(cluster: SimCluster, batch: pa.RecordBatch, pool: ClientPool[Producer] | None = None) -> int:
    """Write a batch with a timeout that suffices to detect a recreated topic."""
    given = {**properties(cluster), "max.block.ms": SINK_LIMIT_MS}
    return write_batches(given, [batch], topic="t", pool=pool, runtime=runtime(cluster, f"task {cluster.hub.now_ms}"))


def keyed(count: int) -> pa.RecordBatch:
    """Rows whose keys fall on each of three partitions."""
    return pa.record_batch({name: pa.array([b"%d" % n for n in range(count)]) for name in ("key", "value")})


def recreate_with_one_partition(cluster: SimCluster) -> None:
    cluster.sandbox.cluster.delete_topic("t")
    cluster.sandbox.cluster.create_topic("t", 1)


def test_pooled_producer_notices_a_sink_that_was_recreated_while_it_was_idle(
    cluster: SimCluster, producers: list[Producer]
) -> None:
    pool = ClientPool[Producer]()

    def body() -> None:
        assert write_to(cluster, keyed(12), pool) == 12
        recreate_with_one_partition(cluster)
        cluster.hub.sleep_ms(POOLED_METADATA_AGE_MS + 1000)
        before_ms = cluster.hub.now_ms
        assert write_to(cluster, keyed(12), pool) == 12
        assert cluster.hub.now_ms - before_ms < 100
        assert (len(producers), cluster.log(0).end_offset) == (1, 12)
        pool.close()

    run(cluster, body)


def test_write_to_a_sink_that_was_just_recreated_with_fewer_partitions_fails_before_its_timeout(
    cluster: SimCluster, producers: list[Producer]
) -> None:
    pool = ClientPool[Producer]()

    def body() -> None:
        assert write_to(cluster, keyed(12), pool) == 12
        recreate_with_one_partition(cluster)
        before_ms = cluster.hub.now_ms
        with pytest.raises(PartialWriteError, match=r"deleted and recreated with 1 instead of 3 partitions") as caught:
            write_to(cluster, keyed(12), pool)
        assert cluster.hub.now_ms - before_ms < LOOK_AT_SINK_MS + 1000
        assert caught.value.delivered == cluster.log(0).end_offset == 12 - caught.value.undelivered
        assert write_to(cluster, keyed(12), pool) == 12
        assert len(producers) == 2
        pool.close()

    run(cluster, body)


def test_slow_write_reports_failures_of_before_a_look_at_the_sink(cluster: SimCluster) -> None:
    """Rows of one partition fail immediately; others are acknowledged only after a check of the sink."""

    def body() -> None:
        cluster.sandbox.start_fault(2, Fault.FREEZE)
        cluster.hub.call_later_ms(3 * LOOK_AT_SINK_MS, "thaw", lambda: cluster.sandbox.stop_fault(2, Fault.FREEZE))
        cluster.log(0).settings = cluster.log(0).settings._replace(max_message_bytes=2000)
        values = [b"x" * 5000, b"fits", b"fits"]
        batch = pa.record_batch({"value": pa.array(values), "partition": pa.array([0, 1, 2], pa.int32())})
        with pytest.raises(PartialWriteError, match=r"^1 of 3 rows not delivered: t-0: 1 not written \[.*TOO_LARGE"):
            write_to(cluster, batch)

    run(cluster, body)


def test_row_that_is_refused_after_others_were_delivered_is_told_from_one_that_failed(cluster: SimCluster) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield rows(1)
        cluster.hub.sleep_ms(1000)
        yield pa.record_batch({"value": pa.array([b"x"]), "partition": pa.array([7], pa.int32())})

    def body() -> None:
        with pytest.raises(
            PartialWriteError,
            match=r"^1 row delivered, but the next row was rejected \[cannot find "
            "t-7: ",
        ):
            write_batches(properties(cluster), batches(), topic="t", runtime=runtime(cluster))

    run(cluster, body)


def test_writer_without_acknowledgements_has_a_producer_of_its_own(
    cluster: SimCluster, producers: list[Producer]
) -> None:
    pool = ClientPool[Producer]()
    given = {**properties(cluster), "acks": "0"}

    def body() -> None:
        for number in range(2):
            write_batches(given, [rows(3)], topic="t", pool=pool, runtime=runtime(cluster, f"writer {number}"))
        assert len(producers) == 2, "the broker closes a connection at an error, and loses what follows on it"
        pool.close()

    run(cluster, body)


def test_pool_keeps_a_bounded_number_of_consumers(cluster: SimCluster, made: list[Consumer]) -> None:
    pool = ClientPool[Consumer]()

    def body() -> None:
        cluster.write(0, 10)
        for number in range(MOST_IDLE + 3):
            given = as_given({**properties(cluster), "client.id": f"client {number}"})
            task = runtime(cluster, f"task {number}")
            batches = read_range(given, OffsetRange("t", 0, 0, 10), ["value"], pool=pool, runtime=task)
            assert sum(batch.num_rows for batch in batches) == 10
        still_open = [consumer for consumer in made if not consumer._side.close_result]
        assert still_open == made[-MOST_IDLE:]
        pool.close()

    run(cluster, body)
