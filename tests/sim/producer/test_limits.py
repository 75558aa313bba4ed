"""Every call of the producer returns by its deadline, to the millisecond, with a correct error."""

import math
from datetime import timedelta

import pytest

from kctl.client.errors import (
    CloseTimeout,
    FlushTimeout,
    IllegalStateError,
    KafkaError,
    MaxBlockTimeout,
    ResultTimeout,
    UndeliveredError,
)
from kctl.client.loop.close import CLOSE_MARGIN_MS, CloseResult
from kctl.client.producer import SendFuture
from kctl.sandbox import ClusterSettings, Fault
from tests.sim.kit import SimCluster, run

FAULTS = [Fault.FREEZE, Fault.SILENCE, Fault.BLACKHOLE, Fault.REFUSE, Fault.RESET, Fault.RESET_ON_REQUEST]
TIMEOUTS_MS = [0, 100, 1000, 5000]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("timeout_ms", [100, 1000, 5000])
def test_send_blocks_for_metadata_at_most_max_block_ms(fault: Fault, timeout_ms: int) -> None:
    def app(cluster: SimCluster) -> None:
        cluster.break_all(fault)
        producer = cluster.producer({"max.block.ms": timeout_ms})
        before_ms = cluster.clock.now_ms()
        with pytest.raises(MaxBlockTimeout) as caught:
            producer.send("t", b"x")
        assert cluster.clock.now_ms() - before_ms == timeout_ms
        error = caught.value
        assert (error.limit, error.timeout_ms, error.elapsed_ms) == ("max.block.ms", timeout_ms, timeout_ms)
        assert "metadata of topic t" in str(error)
        assert sum(int(entry.split()[-2]) for entry in error.time_breakdown) == timeout_ms
        assert producer.close(0) == CloseResult(partitions={})
        assert cluster.clock.now_ms() - before_ms == timeout_ms

    run(app)


@pytest.mark.parametrize("fault", FAULTS[:2])
@pytest.mark.parametrize("timeout_ms", TIMEOUTS_MS)
def test_flush_ends_at_its_timeout_with_the_count(fault: Fault, timeout_ms: int) -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer()
        producer.send("t", b"delivered").result()
        cluster.break_all(fault)
        for _ in range(3):
            producer.send("t", b"x")
        before_ms = cluster.clock.now_ms()
        with pytest.raises(FlushTimeout) as caught:
            producer.flush(timeout_ms / 1000)
        assert cluster.clock.now_ms() - before_ms == timeout_ms
        assert caught.value.undelivered == 3
        producer.close(0)

    run(app)


@pytest.mark.parametrize("fault", FAULTS[:2])
@pytest.mark.parametrize("timeout_ms", TIMEOUTS_MS)
def test_close_ends_at_its_timeout_and_every_future_with_a_cause(fault: Fault, timeout_ms: int) -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"max.in.flight.requests.per.connection": 1})
        producer.send("t", b"delivered").result()
        cluster.break_all(fault)
        sent = producer.send("t", b"sent, not answered")
        cluster.hub.sleep_ms(10)
        waiting = producer.send("t", b"was closed before the record was sent")
        before_ms = cluster.clock.now_ms()
        result = producer.close(timedelta(milliseconds=timeout_ms))
        assert cluster.clock.now_ms() - before_ms == timeout_ms
        assert (result.delivered, result.failed, result.unknown) == (1, 1, 1)
        for future in (sent, waiting):
            error = future.exception(0)
            assert isinstance(error, CloseTimeout)
            assert (error.timeout_ms, error.elapsed_ms) == (timeout_ms, timeout_ms)
        assert "was closed before the record was sent" not in str(sent.exception(0))
        assert "was closed before the record was sent" in str(waiting.exception(0))

    run(app)


def test_close_waits_for_deliveries_within_its_timeout() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"linger.ms": "60000", "delivery.timeout.ms": "120000"})
        producer.partitions_for("t")
        futures = [producer.send("t", b"x") for _ in range(10)]
        before_ms = cluster.clock.now_ms()
        result = producer.close(30)
        assert cluster.clock.now_ms() - before_ms < 20
        assert result.delivered == 10
        assert all(future.done() for future in futures)

    run(app)


def test_close_is_idempotent_and_later_calls_are_refused() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer()
        producer.send("t", b"x")
        assert producer.close() == producer.close(0) == producer.close(5)
        for call in (lambda: producer.send("t", b"y"), producer.flush, lambda: producer.partitions_for("t")):
            with pytest.raises(IllegalStateError, match="closed"):
                call()

    run(app)


@pytest.mark.parametrize("timeout", [-1, -0.001, timedelta(seconds=-1)])
def test_a_negative_timeout_is_refused_and_closes_nothing(timeout: float | timedelta) -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer()
        with pytest.raises(ValueError, match="negative"):
            producer.close(timeout)
        with pytest.raises(ValueError, match="negative"):
            producer.flush(timeout)
        producer.send("t", b"x").result()
        producer.close(math.inf)

    run(app)


def test_of_several_closes_the_earliest_deadline_counts() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer()
        producer.send("t", b"x").result()
        cluster.break_all(Fault.FREEZE)
        future = producer.send("t", b"y")
        ends: list[tuple[str, int]] = []

        def close(name: str, timeout: float) -> None:
            producer.close(timeout)
            ends.append((name, cluster.clock.now_ms()))

        before_ms = cluster.clock.now_ms()
        cluster.hub.spawn("late", lambda: close("late", 10))
        cluster.hub.spawn("early", lambda: close("early", 2))
        cluster.hub.sleep_ms(3000)
        assert [(name, at_ms - before_ms) for name, at_ms in ends] == [
            ("late", 2000 - CLOSE_MARGIN_MS),
            ("early", 2000),
        ]
        assert isinstance(future.exception(0), CloseTimeout)

    run(app)


def test_close_wakes_who_waits_in_send_flush_and_result() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"buffer.memory": "2000", "batch.size": "1000"})
        producer.send("t", b"x").result()
        cluster.break_all(Fault.FREEZE)
        ends: dict[str, tuple[int, type[BaseException] | None]] = {}

        def wait(name: str, call: object) -> None:
            assert callable(call)
            kind: type[BaseException] | None = None
            try:
                call()
            except KafkaError as error:
                kind = type(error)
            ends[name] = (cluster.clock.now_ms(), kind)

        future = producer.send("t", bytes(1500))
        cluster.hub.spawn("memory", lambda: wait("memory", lambda: producer.send("t", bytes(1500))))
        cluster.hub.spawn("topic", lambda: wait("topic", lambda: producer.send("unknown", b"x")))
        cluster.hub.spawn("flush", lambda: wait("flush", producer.flush))
        cluster.hub.spawn("result", lambda: wait("result", future.result))
        cluster.hub.sleep_ms(50)
        at_ms = cluster.clock.now_ms()
        producer.close(0)
        cluster.hub.sleep_ms(1)
        assert ends == {
            "memory": (at_ms, IllegalStateError),
            "topic": (at_ms, IllegalStateError),
            "flush": (at_ms, UndeliveredError),
            "result": (at_ms, CloseTimeout),
        }

    run(app)


def test_close_in_a_callback_acts_as_zero_and_does_not_deadlock() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer()
        results = []
        first = producer.send("t", b"x", callback=lambda _: results.append(producer.close(60)))
        first.result()
        cluster.hub.sleep_ms(1)
        assert results[0].delivered == 1
        assert producer.close() == results[0]

    run(app)


def test_callbacks_may_send_but_not_wait() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer()
        errors: list[Exception] = []
        more: list[SendFuture] = []

        def callback(future: SendFuture) -> None:
            more.append(producer.send("t", b"second"))
            for call in (producer.flush, more[0].result, lambda: producer.send("unknown", b"x")):
                try:
                    call()
                except KafkaError as error:
                    errors.append(error)

        producer.send("t", b"first", callback=callback).result()
        assert more[0].result().offset == 1
        assert [type(error) for error in errors] == [IllegalStateError, IllegalStateError, MaxBlockTimeout]
        producer.close()

    run(app)


def test_a_callback_that_raises_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer()
        first = producer.send("t", b"x", callback=lambda _: 1 // 0)  # type: ignore[arg-type]  # it never returns
        second = producer.send("t", b"y")
        producer.flush()
        assert first.exception(0) is None
        assert second.exception(0) is None
        assert producer.close().delivered == 2

    run(app)
    assert "ZeroDivisionError" in caplog.text


def test_result_waits_as_long_as_it_is_told() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer()
        producer.send("t", b"x").result()
        cluster.break_all(Fault.FREEZE)
        future = producer.send("t", b"y")
        before_ms = cluster.clock.now_ms()
        with pytest.raises(ResultTimeout):
            future.result(1.5)
        assert cluster.clock.now_ms() - before_ms == 1500
        cluster.at(1000, cluster.sandbox.heal)
        assert future.result(1.5).offset == 1
        producer.close()

    run(app)


def test_send_waits_for_memory_until_it_is_free_or_max_block_ms() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"buffer.memory": "4000", "batch.size": "1000", "max.block.ms": "700"})
        producer.send("t", b"x").result()
        cluster.break_all(Fault.FREEZE)
        for _ in range(3):
            producer.send("t", bytes(1000))
        before_ms = cluster.clock.now_ms()
        with pytest.raises(MaxBlockTimeout, match=r"buffer\.memory"):
            producer.send("t", bytes(1000))
        assert cluster.clock.now_ms() - before_ms == 700
        cluster.at(500, cluster.sandbox.heal)
        before_ms = cluster.clock.now_ms()
        assert producer.send("t", bytes(1000)).result().offset == 4
        assert 500 <= cluster.clock.now_ms() - before_ms < 520
        assert producer.close().delivered == 5
        assert producer._memory.used_bytes == 0

    run(app)


def test_flush_reports_what_failed_before_it_once() -> None:
    def app(cluster: SimCluster) -> None:
        cluster.sandbox.create_topic("small", 1, properties={"max.message.bytes": "100"})
        producer = cluster.producer()
        failing = producer.send("small", bytes(1000))
        while not failing.done():
            cluster.hub.sleep_ms(10)
        with pytest.raises(UndeliveredError) as caught:
            producer.flush()
        assert caught.value.undelivered == 1
        producer.flush()
        producer.close()

    run(app)


def test_leaving_the_block_with_a_record_undelivered_raises() -> None:
    def app(cluster: SimCluster) -> None:
        cluster.sandbox.create_topic("small", 1, properties={"max.message.bytes": "100"})
        with pytest.raises(UndeliveredError), cluster.producer() as producer:
            producer.send("small", bytes(1000))

    run(app)


def test_a_partition_that_does_not_exist_is_refused_by_one_answer() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer()
        producer.partitions_for("t")
        before_ms = cluster.clock.now_ms()
        with pytest.raises(KafkaError, match="the topic has 1 partition"):
            producer.send("t", b"x", partition=1)
        assert cluster.clock.now_ms() - before_ms < 200
        producer.close()

    run(app)


def test_unknown_and_invalid_topics() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"max.block.ms": "1000"})
        with pytest.raises(KafkaError, match="INVALID_TOPIC"):
            producer.send("not a topic", b"x")
        before_ms = cluster.clock.now_ms()
        with pytest.raises(MaxBlockTimeout, match="UNKNOWN_TOPIC_OR_PARTITION"):
            producer.send("nowhere", b"x")
        assert cluster.clock.now_ms() - before_ms == 1000
        producer.close()

    run(app, settings=ClusterSettings(auto_create_topics_enable=False))


def test_large_record_gets_its_turn_among_threads_of_small_ones() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"buffer.memory": 1_000_000, "max.block.ms": 15_000, "linger.ms": 5})
        producer.partitions_for("t")
        for node_id in (1, 2, 3):
            cluster.sandbox.start_fault(node_id, Fault.DELAY, ms=50)
        is_over = False

        def small() -> None:
            while not is_over:
                producer.send("t", bytes(9000))

        threads = [cluster.hub.spawn(f"small-{number}", small) for number in range(3)]
        cluster.hub.sleep_ms(1000)
        before_ms = cluster.clock.now_ms()
        producer.send("t", bytes(600_000))
        waited_ms = cluster.clock.now_ms() - before_ms
        is_over = True
        while any(thread.is_alive for thread in threads):
            cluster.hub.sleep_ms(1)
        assert waited_ms < 4000  # until earlier records are acknowledged, not later ones
        assert producer.close(10).undelivered == 0

    run(app)
