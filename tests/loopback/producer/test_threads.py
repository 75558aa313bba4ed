"""The producer on real threads and sockets: order, cause and what is left behind; no times."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kctl.client.errors import CloseTimeout, IllegalStateError, KafkaError, UndeliveredError
from kctl.client.producer import CloseResult, Producer, SendFuture
from kctl.client.records import BatchReader, Lines
from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.support.bounds import bound

PATIENCE_S = bound(60)


@pytest.fixture
def served() -> Iterator[ServedSandbox]:
    before = set(threading.enumerate())
    with Sandbox(nodes=3, topics={"t": 3}).serve() as served:
        yield served
    left = [thread.name for thread in threading.enumerate() if thread not in before]
    assert left == []


def values(served: ServedSandbox, partition: int) -> list[bytes]:
    log = served.sandbox.cluster.topics["t"].partitions[partition].log
    data = b"".join(batch.data for batch in log.batches)
    if not data:
        return []
    reader = BatchReader(data, topic="t", partition=partition, fetch_offset=0, aborted=None)
    return [record.value or b"" for record in reader.records(1_000_000)]


def in_threads(calls: list[Callable[[], object]]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def freeze_all(served: ServedSandbox) -> None:
    for node_id in (1, 2, 3):
        served.sandbox.start_fault(node_id, Fault.FREEZE)


def test_records_of_many_threads_arrive_once_and_in_each_threads_order(served: ServedSandbox) -> None:
    producer = Producer({"bootstrap.servers": served.bootstrap, "batch.size": 500, "buffer.memory": 20_000})

    def send(name: int) -> None:
        for number in range(500):
            producer.send("t", b"%d:%d" % (name, number), partition=number % 3)

    in_threads([lambda name=name: send(name) for name in range(4)])  # type: ignore[misc]  # a bound default
    producer.flush(PATIENCE_S)
    assert producer.close(PATIENCE_S).delivered == 2000
    for partition in range(3):
        log = values(served, partition)
        for name in range(4):
            expected = [b"%d:%d" % (name, number) for number in range(500) if number % 3 == partition]
            assert [value for value in log if value.startswith(b"%d:" % name)] == expected


@pytest.mark.parametrize("timeout_s", [PATIENCE_S, 0])
def test_batches_that_a_helper_compresses_arrive_once_and_in_order(
    served: ServedSandbox, monkeypatch: pytest.MonkeyPatch, timeout_s: float
) -> None:
    monkeypatch.setattr("kctl.client.producer.run_encoder.LEAST_HELPED_BYTES", 0)
    producer = Producer({"bootstrap.servers": served.bootstrap, "batch.size": 2000, "compression.type": "zstd"})

    def send(name: int) -> None:
        for turn in range(0, 3000, 300):
            lines = b"".join(b"%d:%d\n" % (name, number) for number in range(turn, turn + 300))
            producer.send_columns("t", Lines(lines, b"\n"), partition=name)

    in_threads([lambda name=name: send(name) for name in range(3)])  # type: ignore[misc]  # a bound default
    if timeout_s:
        producer.flush(PATIENCE_S)
    result = producer.close(timeout_s)
    assert result.delivered + result.undelivered == 9000
    assert timeout_s == 0 or result.delivered == 9000
    for partition in range(3):
        log = values(served, partition)
        assert log == [b"%d:%d" % (partition, number) for number in range(len(log))]
        assert timeout_s == 0 or len(log) == 3000


def test_columns_of_many_threads_arrive_once_and_in_each_threads_order(served: ServedSandbox) -> None:
    """Far more than the memory holds, so that every thread waits for it again and again."""
    producer = Producer({"bootstrap.servers": served.bootstrap, "batch.size": 500, "buffer.memory": 20_000})
    counts: list[int] = []

    def send(name: int) -> None:
        for turn in range(20):
            rows: list[bytes | None] = [b"%d:%d" % (name, turn * 101 + number) for number in range(100)]
            columns = producer.send_columns("t", rows, partition=name % 3)
            producer.send("t", b"%d:%d" % (name, turn * 101 + 100), partition=name % 3)
            counts.append(columns.result(PATIENCE_S))

    in_threads([lambda name=name: send(name) for name in range(4)])  # type: ignore[misc]  # a bound default
    producer.flush(PATIENCE_S)
    assert counts == [100] * 80
    assert producer.close(PATIENCE_S).delivered == 4 * 20 * 101
    for name in range(4):
        sent = [value for value in values(served, name % 3) if value.startswith(b"%d:" % name)]
        assert sent == [b"%d:%d" % (name, number) for number in range(20 * 101)]


def test_a_close_wakes_a_thread_that_waits_to_hand_over_columns(served: ServedSandbox) -> None:
    producer = Producer({"bootstrap.servers": served.bootstrap, "buffer.memory": 20_000, "max.request.size": 20_000})
    producer.send("t", b"first").result(PATIENCE_S)
    freeze_all(served)
    ends: list[KafkaError] = []

    def send() -> None:
        with pytest.raises(KafkaError) as caught:
            producer.send_columns("t", [bytes(10)] * 100_000)
        ends.append(caught.value)

    thread = threading.Thread(target=send)
    thread.start()
    while producer.metrics().buffer_used_bytes < 10_000:
        threading.Event().wait(0.01)
    result = producer.close(0)
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert [type(end) for end in ends] == [IllegalStateError]
    assert result.delivered == 1
    assert result.undelivered > 0


def test_no_wake_up_is_lost_between_single_sends(served: ServedSandbox) -> None:
    with Producer({"bootstrap.servers": served.bootstrap, "linger.ms": 0}) as producer:
        for number in range(1000):
            producer.send("t", b"%d" % number, partition=0).result(PATIENCE_S)
    assert values(served, 0) == [b"%d" % number for number in range(1000)]


def test_concurrent_closes_all_return_the_same(served: ServedSandbox) -> None:
    producer = Producer({"bootstrap.servers": served.bootstrap})
    for _ in range(100):
        producer.send("t", b"x")
    results: list[CloseResult] = []
    in_threads([lambda: results.append(producer.close(PATIENCE_S))] * 4)
    assert [result.delivered for result in results] == [100] * 4


def test_close_wakes_threads_in_flush_and_result(served: ServedSandbox) -> None:
    producer = Producer({"bootstrap.servers": served.bootstrap})
    producer.send("t", b"x").result(PATIENCE_S)
    freeze_all(served)
    future = producer.send("t", b"y")
    errors: dict[str, type[BaseException]] = {}
    waiting = threading.Barrier(3)

    def wait(name: str, call: Callable[[], object]) -> None:
        waiting.wait(PATIENCE_S)
        try:
            call()
        except KafkaError as error:
            errors[name] = type(error)

    def close() -> None:
        waiting.wait(PATIENCE_S)
        producer.close(0.2)

    in_threads([lambda: wait("flush", producer.flush), lambda: wait("result", future.result), close])
    assert errors["result"] is CloseTimeout
    assert errors["flush"] in (UndeliveredError, IllegalStateError)
    served.sandbox.heal()


def test_close_in_a_callback_ends_the_loop(served: ServedSandbox) -> None:
    producer = Producer({"bootstrap.servers": served.bootstrap})
    closed = threading.Event()

    def callback(_: SendFuture) -> None:
        producer.close(PATIENCE_S)
        closed.set()

    producer.send("t", b"x", callback=callback)
    assert closed.wait(PATIENCE_S)
    assert producer.close(PATIENCE_S).delivered == 1


def test_a_callback_that_blocks_does_not_make_close_hang(served: ServedSandbox) -> None:
    producer = Producer({"bootstrap.servers": served.bootstrap})
    entered, release = threading.Event(), threading.Event()

    def callback(_: SendFuture) -> None:
        entered.set()
        release.wait(PATIENCE_S)

    producer.send("t", b"x", callback=callback)
    assert entered.wait(PATIENCE_S)
    with pytest.raises(CloseTimeout, match="callback"):
        producer.close(0)
    release.set()
    assert producer.close(PATIENCE_S).delivered == 1


class SlowJoin:
    """A driver whose thread gets no CPU while `turns` joins time out."""

    def __init__(self, driver: Any, turns: int) -> None:
        self._driver = driver
        self._turns = turns

    def join(self, task: object, until_ms: int) -> bool:
        self._turns -= 1
        return self._turns < 0 and self._driver.join(task, until_ms)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)


def test_close_of_a_producer_waits_for_a_thread_that_gets_no_cpu(
    served: ServedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = Producer({"bootstrap.servers": served.bootstrap})
    producer.send("t", b"x").result(PATIENCE_S)
    monkeypatch.setattr(producer, "_driver", SlowJoin(producer._driver, turns=20))
    assert producer.close(0).delivered == 1


def test_close_of_a_producer_ends_if_its_thread_makes_no_progress(
    served: ServedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = Producer({"bootstrap.servers": served.bootstrap})
    producer.send("t", b"x").result(PATIENCE_S)
    with monkeypatch.context() as patched:
        patched.setattr(producer, "_driver", SlowJoin(producer._driver, turns=10**9))
        patched.setattr("kctl.client.producer.producer.STARVED_MS", 0)
        with pytest.raises(CloseTimeout, match="waiting for the network thread, which makes no progress"):
            producer.close(0)
    assert producer.close(PATIENCE_S).delivered == 1


def test_sends_that_meet_a_close_are_refused_or_told_their_fate(served: ServedSandbox) -> None:
    for _ in range(20):
        producer = Producer({"bootstrap.servers": served.bootstrap})
        producer.send("t", b"x").result(PATIENCE_S)
        futures: list[SendFuture] = []

        def send(producer: Producer = producer, futures: list[SendFuture] = futures) -> None:
            try:
                while True:
                    futures.append(producer.send("t", b"x"))
            except IllegalStateError:
                return

        in_threads([send, send, lambda producer=producer: producer.close(0)])  # type: ignore[misc]  # a bound default
        assert all(future.done() for future in futures)
