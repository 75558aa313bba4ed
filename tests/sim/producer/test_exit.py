"""Program exit without close(), in virtual time: delivered records, duration, and messages."""

import logging

import pytest

from kctl.client.admin import Admin
from kctl.client.loop import at_exit
from kctl.client.loop.close import CLOSE_MARGIN_MS
from kctl.client.producer import Producer
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run, run_with_admin

LINGERS = {"linger.ms": 60_000}
FAILS = {"delivery.timeout.ms": 5000, "request.timeout.ms": 1000, "linger.ms": 0}


def finish(*producers: Producer) -> list[at_exit.Unfinished]:
    """Let the network threads finish, as the end of a program does."""
    return at_exit.finish([producer._open_loop for producer in producers])


def test_lingering_records_are_sent_immediately() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer(LINGERS)
        futures = [producer.send("t", b"x") for _ in range(100)]
        before_ms = cluster.clock.now_ms()
        assert finish(producer) == [at_exit.Unfinished()]
        assert cluster.clock.now_ms() - before_ms < 100
        assert [future.exception(0) for future in futures] == [None] * 100

    run(app)


@pytest.mark.parametrize(("delivery_ms", "used_ms"), [(5000, 5000), (120_000, at_exit.LIMIT_MS)])
def test_clients_have_one_limit_together(delivery_ms: int, used_ms: int) -> None:
    def app(cluster: SimCluster) -> None:
        limits = {"delivery.timeout.ms": delivery_ms, "request.timeout.ms": 1000, "linger.ms": 0}
        producers = [cluster.producer(limits) for _ in range(3)]
        for producer in producers:
            producer.send("t", b"first").result(10)
        cluster.break_all(Fault.SILENCE)
        for producer in producers:
            producer.send("t", b"x")
            producer.send("t", b"y")
        before_ms = cluster.clock.now_ms()
        left = finish(*producers)
        assert cluster.clock.now_ms() - before_ms in (used_ms, used_ms - CLOSE_MARGIN_MS)
        assert [each.records for each in left] == [2, 2, 2]
        assert at_exit.report(left).startswith("6 records not delivered (timed out after ")

    run(app)


def test_an_earlier_close_keeps_its_deadline() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer(LINGERS)
        producer.send("t", b"first")
        producer.flush()
        cluster.break_all(Fault.SILENCE)
        producer.send("t", b"x")
        before_ms = cluster.clock.now_ms()
        assert producer.close(2).undelivered == 1
        assert [each.records for each in finish(producer)] == [1]
        assert cluster.clock.now_ms() - before_ms == 2000

    run(app)


def test_records_that_failed_earlier_count_until_a_flush_has_reported_them() -> None:
    def app(cluster: SimCluster) -> None:
        producer, reported = cluster.producer(FAILS), cluster.producer(FAILS)
        for each in (producer, reported):
            each.send("t", b"first").result(10)
        cluster.break_all(Fault.SILENCE)
        for each in (producer, reported):
            each.send("t", b"x")
        with pytest.raises(Exception, match="1 record"):
            reported.flush()
        cluster.hub.sleep_ms(10_000)
        assert [each.records for each in finish(producer, reported)] == [1, 0]

    run(app)


def test_open_transaction_is_aborted_and_reported() -> None:
    def app(cluster: SimCluster, admin: Admin) -> None:
        producer = cluster.producer({"transactional.id": "x"})
        producer.init_transactions(10)
        producer.begin_transaction()
        producer.send("t", b"x").result(10)
        assert at_exit.report(finish(producer)) == "transaction x aborted"
        assert admin.describe_transactions(["x"], timeout=10).done["x"].state == "CompleteAbort"

    run_with_admin(app)


def test_consumer_leaves_its_group_and_commits_nothing() -> None:
    def app(cluster: SimCluster, admin: Admin) -> None:
        cluster.write(0, 5)
        consumer = cluster.consumer(group_id="g")
        consumer.subscribe(["t"])
        while not consumer.poll(1):
            pass
        assert at_exit.finish([consumer._side.open_loop]) == [at_exit.Unfinished()]
        assert admin.describe_groups(["g"], timeout=10).done["g"].members == ()
        assert admin.list_group_offsets("g", timeout=10).done == {}

    run_with_admin(app)


def test_static_member_keeps_its_place() -> None:
    def app(cluster: SimCluster, admin: Admin) -> None:
        consumer = cluster.consumer(group_id="g", group_instance_id="one")
        consumer.subscribe(["t"])
        while not consumer.assignment:
            consumer.poll(1)
        at_exit.finish([consumer._side.open_loop])
        assert len(admin.describe_groups(["g"], timeout=10).done["g"].members) == 1

    run_with_admin(app)


def test_wait_of_more_than_a_second_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer(FAILS)
        producer.send("t", b"first").result(10)
        cluster.break_all(Fault.SILENCE)
        producer.send("t", b"x")
        finish(producer)

    with caplog.at_level(logging.WARNING, "kctl.client"):
        run(app)
    text = "waiting for up to 5s for clients to finish (1 record left). Press Ctrl-C to exit immediately"
    assert text in caplog.messages


class Exit(RuntimeError):
    """Exception like Exit of click and typer."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.exit_code = code


def leave(producer: Producer, error: BaseException) -> None:
    """Leave the with block of a producer by an exception."""

    def block() -> None:
        with producer:
            raise error

    with pytest.raises(type(error)):
        block()


@pytest.mark.parametrize("error", [SystemExit(0), SystemExit(), Exit(0), GeneratorExit()], ids=repr)
def test_with_block_that_ends_normally_by_an_exception_delivers(error: BaseException) -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer(LINGERS)
        future = producer.send("t", b"x")
        leave(producer, error)
        assert future.exception(0) is None

    run(app)


@pytest.mark.parametrize("error", [SystemExit(1), SystemExit("text"), Exit(1), ValueError("x")], ids=repr)
def test_with_block_that_fails_logs_the_number_of_dropped_records(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer(LINGERS)
        producer.send("t", b"x")
        producer.send("t", b"x")
        leave(producer, error)

    with caplog.at_level(logging.WARNING, "kctl.client"):
        run(app)
    assert f"2 records not delivered: the with block ended with {error!r}" in caplog.messages
