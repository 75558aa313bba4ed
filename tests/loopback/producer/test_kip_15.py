"""KIP-15 on real threads: who is woken, what a callback may do, and closes that meet each other; no times.

Times are in tests/sim/producer/test_kip_15.py.
"""

import threading
from collections.abc import Callable

import pytest

from kctl.client.errors import CloseTimeout, IllegalStateError, KafkaError
from kctl.client.producer import CloseResult, Producer, SendFuture
from kctl.sandbox.server import ServedSandbox
from tests.loopback.producer.test_threads import PATIENCE_S, freeze_all, in_threads, served

__all__ = ["served"]


def connected(served: ServedSandbox, **properties: object) -> Producer:
    names = {name.replace("_", "."): value for name, value in properties.items()}
    producer = Producer({"bootstrap.servers": served.bootstrap, **names})
    for partition in range(3):
        producer.send("t", b"first", partition=partition)
    producer.flush(PATIENCE_S)
    return producer


def test_a_forced_close_wakes_threads_in_send_flush_result_and_partitions_for(served: ServedSandbox) -> None:
    producer = connected(served, buffer_memory=2000, batch_size=1000)
    freeze_all(served)
    future = producer.send("t", bytes(1500))
    calls: dict[str, Callable[[], object]] = {
        "memory": lambda: producer.send("t", bytes(1500)),
        "topic": lambda: producer.send("unknown", b"x"),
        "partitions": lambda: producer.partitions_for("unknown", 60),
        "flush": producer.flush,
        "result": future.result,
    }
    errors: dict[str, str] = {}
    ready = threading.Barrier(len(calls) + 1)

    def wait(name: str) -> None:
        ready.wait(PATIENCE_S)
        try:
            calls[name]()
        except KafkaError as error:
            errors[name] = type(error).__name__

    def close() -> None:
        ready.wait(PATIENCE_S)
        producer.close(0.3)

    in_threads([*(lambda name=name: wait(name) for name in calls), close])
    assert errors["result"] == "CloseTimeout"
    assert errors["flush"] in ("UndeliveredError", "IllegalStateError")
    assert {errors[name] for name in ("memory", "topic", "partitions")} == {"IllegalStateError"}
    served.sandbox.heal()


def test_close_in_a_callback_logs_an_error_and_acts_as_0(
    served: ServedSandbox, caplog: pytest.LogCaptureFixture
) -> None:
    producer = connected(served, linger_ms=60_000)
    results: list[CloseResult] = []
    done = threading.Event()

    def callback(_: SendFuture) -> None:
        results.append(producer.close(3600))
        done.set()

    others = [producer.send("t", b"x", partition=0) for _ in range(10)]
    producer.send("t", bytes(20_000), partition=1, callback=callback)
    assert done.wait(PATIENCE_S), "it would wait for itself"
    assert [type(other.exception(PATIENCE_S)) for other in others] == [CloseTimeout] * 10
    assert producer.close(PATIENCE_S)[:3] == results[0][:3] == (4, 10, 0)
    assert [record.levelname for record in caplog.records if "called in a callback" in record.message] == ["ERROR"]


def test_the_sender_thread_fails_the_rest_and_has_ended_when_close_returns(served: ServedSandbox) -> None:
    producer = connected(served)
    threads: list[int] = []

    def note(_: SendFuture) -> None:
        threads.append(threading.get_ident())

    producer.send("t", b"delivered", callback=note).result(PATIENCE_S)
    freeze_all(served)
    for _ in range(20):
        producer.send("t", b"x", callback=note)
    before = threading.active_count()
    assert producer.close(0.3).undelivered == 20
    assert threading.active_count() == before - 1
    served.sandbox.heal()
    assert len(threads) == 21
    assert len(set(threads)) == 1
    assert threads[0] != threading.get_ident()


def test_after_a_failed_send_a_close_in_its_callback_keeps_all_behind_it_from_being_written(
    served: ServedSandbox,
) -> None:
    producer = connected(served, max_in_flight_requests_per_connection=1, batch_size=0, linger_ms=0)
    served.sandbox.create_topic("small", 1, properties={"max.message.bytes": "300"})
    stopped = threading.Event()

    def stop(future: SendFuture) -> None:
        if future.exception(0) is not None:
            producer.close(0)
            stopped.set()

    producer.send("small", b"0").result(PATIENCE_S)
    futures = [producer.send("small", value, callback=stop) for value in (b"1", bytes(1000), b"2", b"3")]
    assert stopped.wait(PATIENCE_S)
    assert [future.exception(PATIENCE_S) is None for future in futures] == [True, False, False, False]
    producer.close(PATIENCE_S)
    assert served.sandbox.end_offset("small", 0) == 2


def test_close_0_sends_nothing_more(served: ServedSandbox) -> None:
    """Not even in what is left of the millisecond in which it was called."""
    for _ in range(30):
        producer = connected(served, linger_ms=60_000)
        for _ in range(10):
            producer.send("t", b"x", partition=0)
        assert producer.close(0)[:3] == (3, 10, 0)


def test_closes_in_callbacks_of_a_failing_close_are_harmless(served: ServedSandbox) -> None:
    producer = connected(served)
    freeze_all(served)
    results: list[CloseResult] = []
    for _ in range(5):
        producer.send("t", b"x", callback=lambda _: results.append(producer.close()))
    closed = producer.close(0)
    assert closed.undelivered == 5
    assert len(results) == 5
    served.sandbox.heal()


def test_closes_of_many_threads_and_one_callback_all_end_and_agree(served: ServedSandbox) -> None:
    producer = connected(served)
    freeze_all(served)
    for _ in range(100):
        producer.send("t", b"x")
    results: list[CloseResult] = []
    timeouts = [None, 60, 0.2, 5, 0.2, 60]
    in_threads([lambda timeout=timeout: results.append(producer.close(timeout)) for timeout in timeouts])  # type: ignore[misc]  # a bound default
    assert len({result[:3] for result in results}) == 1
    assert results[0].delivered == 3
    assert results[0].undelivered == 100
    served.sandbox.heal()


def test_a_blocked_callback_makes_close_say_so_and_a_later_close_ends_well(served: ServedSandbox) -> None:
    producer = connected(served)
    entered, release = threading.Event(), threading.Event()

    def callback(_: SendFuture) -> None:
        entered.set()
        release.wait(PATIENCE_S)

    producer.send("t", b"x", callback=callback)
    assert entered.wait(PATIENCE_S)
    errors: list[type[BaseException]] = []

    def close() -> None:
        try:
            producer.close(0.05)
        except CloseTimeout as error:
            errors.append(type(error))

    in_threads([close] * 3)
    assert errors == [CloseTimeout] * 3
    release.set()
    assert producer.close(PATIENCE_S).delivered == 4


def test_a_producer_left_in_every_state_is_released(served: ServedSandbox) -> None:
    """The fixture counts threads afterwards: a loop that outlives its close is found."""
    for _ in range(5):
        never_used = Producer({"bootstrap.servers": served.bootstrap})
        assert never_used.close(0)[:3] == (0, 0, 0)
        used = connected(served)
        used.send("t", bytes(1000))
        result = used.close(0)
        metrics = used.metrics()
        assert (metrics.records_outstanding, metrics.buffer_used_bytes, metrics.batches_in_flight) == (0, 0, 0)
        assert metrics.records_delivered == result.delivered
        with pytest.raises(IllegalStateError):
            used.send("t", b"x")
