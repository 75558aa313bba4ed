"""Failures that the program knows from a future or a callback: flush and `with` do not raise them again."""

from collections.abc import Callable

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import KafkaError, UndeliveredError
from kctl.client.producer import ColumnsFuture, Producer, SendFuture, SettledRows
from tests.sim.kit import SimCluster, run

SETTINGS = {"delivery.timeout.ms": "500", "request.timeout.ms": "300", "linger.ms": "0"}


def lost(cluster: SimCluster, producer: Producer, count: int = 1) -> list[SendFuture]:
    """Send records that expire."""
    producer.partitions_for("t")
    cluster.sandbox.fail_requests("Produce", ErrorCode.REQUEST_TIMED_OUT, times=10_000)
    return [producer.send("t", b"%d" % number, partition=0) for number in range(count)]


def error_of_result(future: SendFuture) -> KafkaError:
    with pytest.raises(KafkaError) as raised:
        future.result()
    return raised.value


@pytest.mark.parametrize("handle", [SendFuture.exception, error_of_result])
def test_failure_that_a_future_has_handed_over_is_not_raised_by_flush_or_with(
    handle: Callable[[SendFuture], object],
) -> None:
    def app(cluster: SimCluster) -> None:
        with cluster.producer(SETTINGS) as producer:
            for future in lost(cluster, producer, 5):
                assert handle(future) is not None
            producer.flush()

    run(app)


def test_flush_raises_the_failures_that_nobody_knows() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.enter(cluster.producer(SETTINGS))
        futures = lost(cluster, producer, 5)
        assert futures[0].exception() is not None
        assert futures[0].exception() is not None  # counts once
        assert futures[3].exception() is not None
        with pytest.raises(UndeliveredError) as raised:
            producer.flush()
        assert raised.value.undelivered == 3
        assert futures[1].exception() is not None  # was reported already
        producer.send("t", b"later", partition=0)
        with pytest.raises(UndeliveredError) as raised:
            producer.flush()
        assert raised.value.undelivered == 1
        producer.flush()

    run(app)


def test_failure_that_a_callback_was_given_is_not_raised_by_with() -> None:
    seen: list[SendFuture] = []
    settled: list[SettledRows] = []

    def app(cluster: SimCluster) -> None:
        with cluster.producer(SETTINGS) as producer:
            lost(cluster, producer, 0)
            producer.send("t", b"x", partition=0, callback=seen.append)
            producer.send_columns("t", [b"x", b"y"], partition=0, callback=settled.append)
        assert [each.exception() is not None for each in seen] == [True]

    run(app)


def test_rows_whose_future_has_handed_the_error_over_are_not_raised_by_with() -> None:
    def app(cluster: SimCluster) -> None:
        with cluster.producer(SETTINGS) as producer:
            lost(cluster, producer, 0)
            assert isinstance(producer.send_columns("t", [b"x", b"y"], partition=0).exception(), UndeliveredError)
        producer = cluster.enter(cluster.producer(SETTINGS))
        producer.send_columns("t", [b"x", b"y"], partition=0)
        with pytest.raises(UndeliveredError, match="2 records"):
            producer.flush()

    run(app)


def test_done_callbacks_are_called_once_before_and_after_the_end() -> None:
    called: list[tuple[str, object]] = []

    def app(cluster: SimCluster) -> None:
        producer = cluster.enter(cluster.producer())
        future = producer.send("t", b"x", partition=0)
        rows = producer.send_columns("t", [b"x", b"y"], partition=0)
        future.add_done_callback(lambda each: called.append(("first", each)))
        future.add_done_callback(lambda each: called.append(("second", each)))
        rows.add_done_callback(lambda each: called.append(("rows", each)))
        producer.flush()
        assert sorted(called, key=lambda each: each[0]) == [("first", future), ("rows", rows), ("second", future)]
        future.add_done_callback(lambda each: called.append(("late", each)))
        assert called[-1] == ("late", future)
        with pytest.raises(TypeError, match="callback must be a function"):
            future.add_done_callback(7)

    run(app)


def test_done_callback_that_raises_is_logged_and_the_producer_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: ColumnsFuture | SendFuture) -> None:
        raise SystemExit

    def app(cluster: SimCluster) -> None:
        producer = cluster.enter(cluster.producer())
        future = producer.send("t", b"x", partition=0)
        future.add_done_callback(fail)
        producer.flush()
        assert producer.send("t", b"y", partition=0).result(5).offset == 1
        assert "a callback of SendFuture(t-0, delivered) raised" in caplog.text

    run(app)
