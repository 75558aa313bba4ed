"""Batches that a helper compresses, however long it takes: order, deadlines, memory and the end are as without it."""

from collections.abc import Callable

import pytest

from kctl.client.errors import FlushTimeout, MaxBlockTimeout, UndeliveredError
from kctl.client.producer import ColumnsFuture, Producer
from kctl.client.producer import run_encoder as encoding
from kctl.client.producer.batch_compressor import BatchCompressor
from kctl.client.producer.record_run import RecordRun
from kctl.client.records import Lines
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run
from tests.sim.kit.transactions import seen, transactional

SLOW_MS = 40
Slow = Callable[[int], None]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    """Let the helper compress small batches, each in the given milliseconds; callers need no time."""
    monkeypatch.setattr(encoding, "LEAST_HELPED_BYTES", 0)
    taken_ms = [0]
    compress = BatchCompressor._compress

    def slowly(self: BatchCompressor, batch: RecordRun) -> None:
        if taken_ms[0] and batch.is_compressing:
            driver = self._driver
            driver.wait(driver.waiter(), batch.created_at_ms + taken_ms[0])
        compress(self, batch)

    monkeypatch.setattr(BatchCompressor, "_compress", slowly)

    def take(milliseconds: int) -> None:
        taken_ms[0] = milliseconds

    return take


def lines(first: int, end: int) -> Lines:
    return Lines(b"".join(b"%d\n" % number for number in range(first, end)), b"\n")


def numbers(first: int, end: int) -> list[bytes | None]:
    return [b"%d" % number for number in range(first, end)]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("taken_ms", [0, SLOW_MS])
@pytest.mark.parametrize("fault", [None, Fault.FREEZE, Fault.RESET_ON_REQUEST])
def test_records_stay_in_order(slow: Slow, codec: str, taken_ms: int, fault: Fault | None) -> None:
    slow(taken_ms)

    def app(cluster: SimCluster) -> None:
        properties = {"batch.size": 500, "compression.type": codec, "request.timeout.ms": 500}
        with cluster.producer(properties) as producer:
            producer.send("t", b"0")
            first = producer.send_columns("t", lines(1, 1000))
            producer.send("t", b"1000")
            if fault is not None:
                leader = cluster.leader(0)
                cluster.sandbox.start_fault(leader, fault)
                cluster.at(300, lambda: cluster.sandbox.stop_fault(leader, fault))
            second = producer.send_columns("t", numbers(1001, 1500))
            producer.send("t", b"1500")
            producer.flush()
            assert (first.delivered, second.delivered) == (999, 499)

    assert run(app).values(0) == numbers(0, 1501)


def sent_slowly(producer: Producer, cluster: SimCluster) -> tuple[int, ColumnsFuture]:
    """Send batches that the helper is slow with, once all else is ready; return when, and their future."""
    producer.send("t", b"first").result()
    return cluster.hub.now_ms, producer.send_columns("t", lines(0, 300))


def test_a_batch_is_sent_when_it_is_compressed_and_not_before(slow: Slow) -> None:
    def app(cluster: SimCluster) -> None:
        with cluster.producer({"compression.type": "zstd", "batch.size": 1500, "linger.ms": 0}) as producer:
            slow(SLOW_MS)
            sent_at_ms, _ = sent_slowly(producer, cluster)
            cluster.hub.sleep_ms(SLOW_MS - 5)
            assert len(cluster.values(0)) == 1
            producer.flush()
            assert SLOW_MS <= cluster.hub.now_ms - sent_at_ms <= SLOW_MS + 20
            assert cluster.values(0) == [b"first", *numbers(0, 300)]

    run(app)


def test_a_record_fails_by_its_deadline_while_the_helper_has_it(slow: Slow) -> None:
    def app(cluster: SimCluster) -> None:
        properties = {"compression.type": "zstd", "batch.size": 1500, "linger.ms": 0}
        properties |= {"delivery.timeout.ms": 300, "request.timeout.ms": 300}
        producer = cluster.producer(properties)
        slow(1000)
        sent_at_ms, columns = sent_slowly(producer, cluster)
        with pytest.raises(FlushTimeout):
            producer.flush(0.2)
        assert cluster.hub.now_ms == sent_at_ms + 200
        last = producer.send("t", b"last")
        with pytest.raises(UndeliveredError, match=r"300 records not delivered.*delivery\.timeout\.ms"):
            columns.result()
        assert cluster.hub.now_ms == sent_at_ms + 300
        last.result()  # waiting batches are sent immediately
        assert cluster.hub.now_ms <= sent_at_ms + 320
        result = producer.close()
        assert (result.delivered, result.failed, result.unknown) == (2, 300, 0)
        assert cluster.values(0) == [b"first", b"last"]

    run(app)


@pytest.mark.parametrize("timeout_ms", [0, 20])
def test_a_close_ends_by_its_deadline_while_the_helper_has_a_batch(slow: Slow, timeout_ms: int) -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"compression.type": "zstd", "batch.size": 1500, "linger.ms": 0})
        slow(SLOW_MS)
        sent_slowly(producer, cluster)
        begun_at_ms = cluster.hub.now_ms
        result = producer.close(timeout_ms / 1000)
        assert cluster.hub.now_ms == begun_at_ms + timeout_ms
        assert (result.delivered, result.failed, result.unknown) == (1, 300, 0)
        cluster.hub.sleep_ms(SLOW_MS)  # the helper exits with the batch in its hands
        assert cluster.values(0) == [b"first"]

    run(app)


def test_memory_is_held_until_the_batch_is_delivered(slow: Slow) -> None:
    def app(cluster: SimCluster) -> None:
        properties = {"compression.type": "zstd", "batch.size": 1500, "buffer.memory": 30_000, "linger.ms": 0}
        with cluster.producer(properties) as producer:
            slow(SLOW_MS)
            sent_at_ms, _ = sent_slowly(producer, cluster)
            with pytest.raises(MaxBlockTimeout):
                producer.send_columns("t", lines(0, 300), timeout=0.01)
            assert cluster.hub.now_ms == sent_at_ms + 10
            producer.flush()
            assert producer.metrics().buffer_used_bytes == 0

    run(app)


def test_a_commit_waits_for_what_the_helper_has(slow: Slow) -> None:
    def app(cluster: SimCluster) -> None:
        with transactional(cluster, {"compression.type": "zstd", "batch.size": 1500}) as producer:
            producer.begin_transaction()
            slow(SLOW_MS)
            producer.send_columns("t", lines(0, 300), partition=0)
            producer.commit_transaction()
        assert seen(cluster) == numbers(0, 300)

    run(app)
