"""KIP-15 about time: each sentence of the proposal is a test, in virtual time, to the millisecond.

Threads are in tests/loopback/producer/test_kip_15.py.
"""

import math
from collections.abc import Callable

import pytest

from kctl.client.errors import (
    CloseTimeout,
    ConnectionLost,
    DeliveryTimeout,
    FlushTimeout,
    IllegalStateError,
    KafkaError,
    MaxBlockTimeout,
)
from kctl.client.events import Event, RequestSent
from kctl.client.loop.close import CLOSE_MARGIN_MS
from kctl.client.producer import CloseResult, Producer, SendFuture
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run

FAULTS = [Fault.FREEZE, Fault.SILENCE, Fault.BLACKHOLE, Fault.REFUSE, Fault.RESET, Fault.RESET_ON_REQUEST]


def connected(cluster: SimCluster, **properties: object) -> Producer:
    """A producer with a connection to the leader of t-0, and one record there."""
    producer = cluster.producer({name.replace("_", "."): value for name, value in properties.items()})
    producer.send("t", b"first")
    producer.flush()
    return producer


# --- close(timeout): first normally, then by force --------------------------------------------------------------------


def test_a_close_waits_for_pending_records_and_ends_with_the_last_of_them() -> None:
    def app(cluster: SimCluster) -> None:
        producer = connected(cluster)
        cluster.break_all(Fault.DELAY, 400)
        future = producer.send("t", b"x")
        before_ms = cluster.clock.now_ms()
        result = producer.close(10)
        assert 400 <= cluster.clock.now_ms() - before_ms < 420
        assert (result.delivered, result.undelivered, future.exception(0)) == (2, 0, None)

    run(app)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("timeout_ms", [1, 700, 10_000])
def test_a_close_that_does_not_finish_in_time_fails_what_is_left_with_a_cause(fault: Fault, timeout_ms: int) -> None:
    def app(cluster: SimCluster) -> None:
        producer = connected(cluster)
        cluster.hub.sleep_ms(1000)
        cluster.break_all(fault)
        futures = [producer.send("t", bytes(100)) for _ in range(300)]
        before_ms = cluster.clock.now_ms()
        result = producer.close(timeout_ms / 1000)
        elapsed_ms = cluster.clock.now_ms() - before_ms
        if all(future.exception(0) is None for future in futures):
            assert fault in (Fault.BLACKHOLE, Fault.REFUSE, Fault.RESET), "these leave open connections alone"
            assert elapsed_ms <= timeout_ms
            return
        assert elapsed_ms == timeout_ms
        errors = [error for error in (future.exception(0) for future in futures) if error is not None]
        assert all(isinstance(error, CloseTimeout) and error.timeout_ms == timeout_ms for error in errors)
        assert result.failed + result.unknown == len(errors)
        assert result.delivered + result.undelivered == 301
        assert all(part.error is not None for part in result.partitions.values() if part.failed or part.unknown)

    run(app)


def test_after_a_forced_close_nothing_more_is_sent() -> None:
    def app(cluster: SimCluster) -> None:
        requests: list[int] = []

        def note(event: Event) -> None:
            if isinstance(event, RequestSent):
                requests.append(event.at_ms)

        properties = {"bootstrap.servers": cluster.bootstrap, "batch.size": 0, "linger.ms": 0}
        producer = Producer({**properties, "max.in.flight.requests.per.connection": 2}, cluster.runtime, events=note)
        producer.send("t", b"first").result()
        cluster.break_all(Fault.FREEZE)
        for number in range(6):
            producer.send("t", b"%d" % number)
        cluster.hub.sleep_ms(50)
        sent = len(requests)
        result = producer.close(0.3)
        assert (result.unknown, result.failed) == (2, 4)
        cluster.sandbox.heal()
        cluster.hub.sleep_ms(120_000)
        assert len(requests) == sent

    assert run(app).values(0) == [b"first", b"0", b"1"]  # records in flight, reported as unknown


@pytest.mark.parametrize("fault", FAULTS)
def test_close_0_does_not_wait_and_fails_all_that_is_incomplete_at_once(fault: Fault) -> None:
    def app(cluster: SimCluster) -> None:
        producer = connected(cluster, linger_ms="60000")
        cluster.break_all(fault)
        futures = [producer.send("t", b"x") for _ in range(100)]
        ended: list[int] = []
        futures.append(producer.send("t", b"y", callback=lambda _: ended.append(cluster.clock.now_ms())))
        before_ms = cluster.clock.now_ms()
        result = producer.close(0)
        assert cluster.clock.now_ms() == before_ms
        assert ended == [before_ms]
        assert all(isinstance(future.exception(0), CloseTimeout) for future in futures)
        assert (result.delivered, result.failed, result.unknown) == (1, 101, 0)

    run(app)


def test_close_without_a_timeout_waits_for_each_records_own_deadline() -> None:
    def app(cluster: SimCluster) -> None:
        producer = connected(cluster, delivery_timeout_ms=3000, request_timeout_ms=1000)
        cluster.break_all(Fault.FREEZE)
        before_ms = cluster.clock.now_ms()
        future = producer.send("t", b"x")
        result = producer.close()
        assert cluster.clock.now_ms() - before_ms == 3000
        assert isinstance(future.exception(0), DeliveryTimeout)
        assert result.undelivered == 1

    run(app)


@pytest.mark.parametrize("timeout", [-1, -0.001, -math.inf])
def test_a_negative_timeout_is_an_error_of_the_caller_and_closes_nothing(timeout: float) -> None:
    def app(cluster: SimCluster) -> None:
        producer = connected(cluster)
        with pytest.raises(ValueError, match="negative"):
            producer.close(timeout)
        assert producer.send("t", b"still open").result().offset == 1
        producer.close(0)

    run(app)


# --- from where it may be called --------------------------------------------------------------------------------------


@pytest.mark.parametrize("timeout", [None, 0, 0.5, 3600])
def test_in_a_callback_an_error_is_logged_and_close_acts_as_0(
    timeout: float | None, caplog: pytest.LogCaptureFixture
) -> None:
    def app(cluster: SimCluster) -> None:
        producer = connected(cluster, linger_ms="60000")
        at_ms: list[int] = []
        results: list[CloseResult] = []

        def callback(_: SendFuture) -> None:
            at_ms.append(cluster.clock.now_ms())
            results.append(producer.close(timeout))
            at_ms.append(cluster.clock.now_ms())

        first = producer.send("t", bytes(20_000), callback=callback)
        others = [producer.send("t", b"x", partition=0) for _ in range(3)]
        first.result()
        cluster.hub.sleep_ms(1)
        assert at_ms[0] == at_ms[1], "it does not wait, as it would wait for itself"
        assert [type(other.exception(0)) for other in others] == [CloseTimeout] * 3
        assert (results[0].delivered, results[0].failed) == (2, 3)
        assert producer.close(60)[:3] == results[0][:3]

    run(app)
    assert [record.levelname for record in caplog.records if "close() called in a callback" in record.message] == [
        "ERROR"
    ]


@pytest.mark.parametrize("idempotent", [True, False])
def test_after_a_failed_send_a_close_in_its_callback_keeps_all_behind_it_from_being_written(idempotent: bool) -> None:
    """The first use case of the proposal: who mirrors a topic wants no record in front of one that failed."""

    def app(cluster: SimCluster) -> None:
        cluster.sandbox.create_topic("small", 1, properties={"max.message.bytes": "300"})
        properties = {"max.in.flight.requests.per.connection": 1, "batch.size": 0, "linger.ms": 0}
        producer = cluster.producer({**properties, "enable.idempotence": idempotent})

        def stop(future: SendFuture) -> None:
            if future.exception(0) is not None:
                producer.close(0)

        producer.send("small", b"0").result()
        for value in (b"1", bytes(1000), b"2", b"3"):
            producer.send("small", value, callback=stop)
        cluster.hub.sleep_ms(1000)
        result = producer.close(5)
        assert (result.delivered, result.failed, result.unknown) == (2, 3, 0)

    assert run(app).values(0, "small") == [b"0", b"1"]


def test_close_is_idempotent_whatever_the_timeouts() -> None:
    def app(cluster: SimCluster) -> None:
        producer = connected(cluster)
        cluster.break_all(Fault.FREEZE)
        producer.send("t", b"x")
        first = producer.close(0.2)
        before_ms = cluster.clock.now_ms()
        assert [producer.close(timeout) for timeout in (0, 0.2, 60, None)] == [first] * 4
        assert cluster.clock.now_ms() == before_ms

    run(app)


def test_a_later_close_with_an_earlier_deadline_cuts_the_first_short() -> None:
    def app(cluster: SimCluster) -> None:
        producer = connected(cluster)
        cluster.break_all(Fault.FREEZE)
        producer.send("t", b"x")
        ended: dict[str, int] = {}
        results: list[CloseResult] = []

        def close(name: str, timeout: float) -> None:
            results.append(producer.close(timeout))
            ended[name] = cluster.clock.now_ms()

        before_ms = cluster.clock.now_ms()
        cluster.hub.spawn("long", lambda: close("long", 60))
        cluster.hub.sleep_ms(100)
        cluster.hub.spawn("short", lambda: close("short", 0.5))
        cluster.hub.sleep_ms(1000)
        assert ended == {"long": before_ms + 600 - CLOSE_MARGIN_MS, "short": before_ms + 600}
        assert results[0] == results[1]

    run(app)


# --- wakeups, waits, and remains --------------------------------------------------------------------------------------


def test_a_forced_close_wakes_who_waits_in_send_flush_result_and_partitions_for() -> None:
    def app(cluster: SimCluster) -> None:
        producer = connected(cluster, buffer_memory="2000", batch_size="1000")
        cluster.break_all(Fault.FREEZE)
        ended: dict[str, tuple[int, str]] = {}

        def wait(name: str, call: Callable[[], object]) -> None:
            with pytest.raises(KafkaError) as caught:
                call()
            ended[name] = (cluster.clock.now_ms(), type(caught.value).__name__)

        future = producer.send("t", bytes(1500))
        cluster.hub.spawn("a", lambda: wait("send, for memory", lambda: producer.send("t", bytes(1500))))
        cluster.hub.spawn("b", lambda: wait("send, for a topic", lambda: producer.send("unknown", b"x")))
        cluster.hub.spawn("c", lambda: wait("partitions_for", lambda: producer.partitions_for("unknown", 50)))
        cluster.hub.spawn("d", lambda: wait("flush", producer.flush))
        cluster.hub.spawn("e", lambda: wait("result", future.result))
        cluster.hub.sleep_ms(20)
        before_ms = cluster.clock.now_ms()
        producer.close(0.25)
        cluster.hub.sleep_ms(1)
        assert ended == {
            "send, for memory": (before_ms + 250 - CLOSE_MARGIN_MS, "IllegalStateError"),
            "send, for a topic": (before_ms + 250 - CLOSE_MARGIN_MS, "IllegalStateError"),
            "partitions_for": (before_ms + 250 - CLOSE_MARGIN_MS, "IllegalStateError"),
            "flush": (before_ms + 250 - CLOSE_MARGIN_MS, "UndeliveredError"),
            "result": (before_ms + 250 - CLOSE_MARGIN_MS, "CloseTimeout"),
        }

    run(app)


def test_close_waits_for_the_loop_but_not_past_its_deadline() -> None:
    """A callback may hold up the loop for as long as it likes: the close says so in time, and the next one finds it."""

    def app(cluster: SimCluster) -> None:
        producer = cluster.producer()
        producer.send("t", b"x", callback=lambda _: cluster.hub.sleep_ms(5000)).result()
        before_ms = cluster.clock.now_ms()
        with pytest.raises(CloseTimeout, match="blocked by a callback") as caught:
            producer.close(1)
        assert cluster.clock.now_ms() - before_ms == 1000
        assert (caught.value.timeout_ms, caught.value.elapsed_ms) == (1000, 1000)
        assert producer.close(60).delivered == 1
        assert cluster.clock.now_ms() - before_ms == 5000
        assert cluster.hub.live_actors == ("app",)

    run(app)


def test_flush_behind_a_callback_that_holds_up_the_loop_names_the_last_error_of_the_client() -> None:
    def app(cluster: SimCluster) -> None:
        producer = connected(cluster, delivery_timeout_ms=1000, request_timeout_ms=500, linger_ms=0)
        cluster.break_all(Fault.RESET_ON_REQUEST)
        producer.send("t", b"x", callback=lambda _: cluster.hub.sleep_ms(5000))
        cluster.hub.sleep_ms(1500)
        with pytest.raises(FlushTimeout, match="callback or an overloaded machine") as caught:
            producer.flush(1)
        assert isinstance(caught.value.cause, ConnectionLost)
        producer.close(10)

    run(app)


def test_close_releases_buffers_connections_and_the_loop_and_keeps_the_counts() -> None:
    def app(cluster: SimCluster) -> None:
        producer = connected(cluster)
        cluster.break_all(Fault.FREEZE)
        for _ in range(50):
            producer.send("t", bytes(1000))
        cluster.hub.sleep_ms(20)
        busy = producer.metrics()
        assert busy.records_outstanding == 50
        assert busy.buffer_used_bytes > 50_000
        assert busy.batches_in_flight > 0
        result = producer.close(0.1)
        after = producer.metrics()
        assert (after.records_outstanding, after.buffer_used_bytes, after.batches_in_flight) == (0, 0, 0)
        assert after[4:7] == result[:3]
        assert cluster.hub.live_actors == ("app",)

    run(app)


def test_a_send_that_waits_while_the_producer_closes_normally_is_refused_at_its_end() -> None:
    def app(cluster: SimCluster) -> None:
        producer = connected(cluster, max_block_ms=60_000)
        ended: list[int] = []

        def send() -> None:
            with pytest.raises((IllegalStateError, MaxBlockTimeout)):
                producer.send("unknown", b"x")
            ended.append(cluster.clock.now_ms())

        cluster.break_all(Fault.FREEZE)
        cluster.hub.spawn("send", send)
        cluster.hub.sleep_ms(10)
        before_ms = cluster.clock.now_ms()
        producer.close(5)
        cluster.hub.sleep_ms(1)
        assert ended
        assert ended[0] - before_ms <= 5000

    run(app)


def test_close_within_a_millisecond_took_none_and_not_less() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer()
        cluster.hub.pause("half a millisecond to pass", cluster.hub.now_us + 500, lambda _: None)
        assert cluster.clock.start_ms() > cluster.clock.now_ms()
        assert producer.close().elapsed_ms == 0

    run(app)
