"""Ctrl-C anywhere in a call: buffer.memory is whole, each accepted record is accounted for, the producer is usable."""

from collections.abc import Callable

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import IllegalStateError, TransactionError, UndeliveredError
from kctl.client.producer import Producer
from kctl.sandbox import Fault
from tests.sim.interrupts import Interrupted, each_boundary
from tests.sim.kit import SimCluster, run
from tests.sim.kit.transactions import GROUP, T0, VERSIONS, committed, run_version, seen, transactional

SENDS: dict[str, Callable[[Producer], object]] = {
    "send": lambda producer: producer.send("t", b"interrupted", b"key", headers=[("h", b"1")]),
    "send_columns": lambda producer: producer.send_columns("t", [b"interrupted"] * 3),
}


def check_usable(producer: Producer) -> None:
    """Check that nothing is outstanding for long, no memory is held, and that all of it can be used."""
    if producer._mailbox._events:  # the record is accepted: the loop takes it without being woken by another call
        producer._driver.wait(producer._driver.waiter(), producer._clock.now_ms() + 500)
        assert not producer._mailbox._events
    producer.flush(5)
    metrics = producer.metrics()
    assert (producer._sender.outstanding, metrics.buffer_used_bytes, producer._memory.waiting) == (0, 0, 0)
    assert producer.send("t", bytes(800)).result(1).topic == "t"


@pytest.mark.parametrize("name", SENDS)
def test_interrupted_send_is_accepted_or_not_and_keeps_no_memory(name: str) -> None:
    lost = delivered = 0

    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"buffer.memory": 1000, "max.request.size": 1000, "max.block.ms": 2000})
        producer.send("t", b"warm").result()
        usable = 1

        def scene(interrupted: Interrupted) -> None:
            nonlocal lost, delivered, usable
            cluster.hub.sleep_ms(10)  # the loop sleeps
            before = len(cluster.values(0))
            interrupted(lambda: SENDS[name](producer))
            check_usable(producer)
            count = len(cluster.values(0)) - before - 1
            assert count in (0, 1 if name == "send" else 3)
            lost, delivered = lost + (count == 0), delivered + (count > 0)
            usable += count + 1

        assert each_boundary(scene) > 10
        assert producer.close(5)[:3] == (usable, 0, 0)

    run(app)
    assert lost > 5
    assert delivered >= 3


@pytest.mark.slow
@pytest.mark.parametrize("topic", ["t", "new"])
def test_interrupted_send_to_an_unknown_topic_leaves_nothing_behind(topic: str) -> None:
    def app(cluster: SimCluster) -> None:
        def scene(interrupted: Interrupted) -> None:
            producer = cluster.producer({"buffer.memory": 1000, "max.request.size": 1000})
            interrupted(lambda: producer.send(topic, b"interrupted"))
            check_usable(producer)
            assert producer.close(5).undelivered == 0

        assert each_boundary(scene) > 20

    run(app)


@pytest.mark.slow
def test_send_interrupted_in_line_for_memory_lets_the_next_in_line_pass() -> None:
    def app(cluster: SimCluster) -> None:
        def scene(interrupted: Interrupted) -> None:
            producer = cluster.producer({"buffer.memory": 1000, "max.request.size": 1000})
            producer.partitions_for("t")
            for node_id in (1, 2, 3):
                cluster.sandbox.start_fault(node_id, Fault.DELAY, ms=20)
            producer.send("t", bytes(700))
            done: list[bool] = []

            def other() -> None:
                cluster.hub.sleep_ms(5)
                done.append(producer.send("t", bytes(600)).exception() is None)

            actor = cluster.hub.spawn("other", other)
            interrupted(lambda: producer.send("t", bytes(500)))
            while actor.is_alive:
                cluster.hub.sleep_ms(1)
            cluster.sandbox.heal()
            assert done == [True]
            check_usable(producer)
            producer.close(5)

        assert each_boundary(scene) > 20

    run(app)


def test_interrupted_flush_reports_failures_with_the_next_one() -> None:
    reports = 0

    def app(cluster: SimCluster) -> None:
        producer = cluster.producer()
        producer.send("t", b"warm").result()

        def scene(interrupted: Interrupted) -> None:
            nonlocal reports
            cluster.sandbox.fail_requests("Produce", ErrorCode.INVALID_RECORD, times=1)
            producer.send("t", b"lost")
            try:
                interrupted(producer.flush)
            except UndeliveredError:
                assert interrupted.at is None
            else:
                with pytest.raises(UndeliveredError) as caught:
                    producer.flush()
                assert caught.value.undelivered == 1
                reports += 1
            producer.flush()  # a failure is reported once
            producer.send("t", b"good").result()

        assert each_boundary(scene) == reports > 10
        assert producer.metrics().buffer_used_bytes == 0
        producer.close(5)

    run(app)


@pytest.mark.slow
@pytest.mark.parametrize("timeout", [0, 3, None])
def test_interrupted_close_can_be_called_again_and_accounts_for_every_record(timeout: float | None) -> None:
    def app(cluster: SimCluster) -> None:
        def scene(interrupted: Interrupted) -> None:
            producer = cluster.producer()
            producer.partitions_for("t")
            futures = [producer.send("t", b"x") for _ in range(5)]
            interrupted(lambda: producer.close(timeout))
            result = producer.close(3)
            assert result.delivered + result.undelivered == 5
            assert all(future.done() for future in futures)
            if timeout != 0:
                assert result.delivered == 5
            assert producer.metrics().buffer_used_bytes == 0

        assert each_boundary(scene) > 10

    run(app)


def call_again(call: Callable[[], object], *, was_interrupted: bool) -> None:
    """Make the same call again, which returns as if it had not been interrupted; without one it is refused."""
    if was_interrupted:
        call()
    try:
        call()
    except IllegalStateError:
        return
    raise AssertionError("the call was accepted twice")


def test_interrupted_init_transactions_returns_normally_when_made_again() -> None:
    def app(cluster: SimCluster) -> None:
        def scene(interrupted: Interrupted) -> None:
            producer = transactional(cluster, is_ready=False)
            call_again(producer.init_transactions, was_interrupted=interrupted(producer.init_transactions))
            producer.close()

        assert each_boundary(scene) > 10

    run(app)


def test_interrupted_begin_transaction_returns_normally_when_made_again() -> None:
    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster)

        def scene(interrupted: Interrupted) -> None:
            call_again(producer.begin_transaction, was_interrupted=interrupted(producer.begin_transaction))
            producer.abort_transaction()

        assert each_boundary(scene) > 10
        producer.close()

    run(app)


@VERSIONS
@pytest.mark.parametrize("end", ["commit", "abort"])
def test_interrupted_end_of_a_transaction_returns_normally_when_made_again(version: int, end: str) -> None:
    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster)
        call = producer.commit_transaction if end == "commit" else producer.abort_transaction

        def scene(interrupted: Interrupted) -> None:
            producer.begin_transaction()
            producer.send("t", b"x")
            call_again(call, was_interrupted=interrupted(call))

        scenes = each_boundary(scene)
        assert scenes > 10
        assert seen(cluster) == ([b"x"] * (scenes + 1) if end == "commit" else [])
        assert producer.close().transaction is None

    run_version(version, app)


@VERSIONS
def test_interrupted_send_offsets_to_transaction_is_made_again_or_aborted(version: int) -> None:
    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster)
        offset = 0

        def scene(interrupted: Interrupted) -> None:
            nonlocal offset
            producer.begin_transaction()
            offset += 1
            if interrupted(lambda: producer.send_offsets_to_transaction({T0: offset}, GROUP)):
                if offset % 3 == 0:
                    producer.abort_transaction()
                    offset -= 1
                    return
                producer.send_offsets_to_transaction({T0: offset}, GROUP)
            producer.commit_transaction()

        assert each_boundary(scene) > 10
        assert committed(cluster) == offset
        producer.close()

    run_version(version, app)


def refusal(call: Callable[[], object]) -> str:
    """Return why a call is refused, or nothing."""
    try:
        call()
    except (IllegalStateError, TransactionError) as error:
        return str(error)
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["commit_transaction", "abort_transaction", "send_offsets_to_transaction"])
def test_interrupted_call_of_a_transaction_is_not_under_way_in_another_thread(name: str) -> None:
    refusals: set[str] = set()

    def app(cluster: SimCluster) -> None:
        producer = transactional(cluster)

        def scene(interrupted: Interrupted) -> None:
            producer.begin_transaction()
            producer.send("t", b"x")
            arguments = ({T0: 7}, GROUP) if name.startswith("send") else ()
            interrupted(lambda: getattr(producer, name)(*arguments))
            refusals.add(refusal(producer.begin_transaction))
            refusal(lambda: getattr(producer, name)(*arguments))
            refusal(producer.commit_transaction)

        assert each_boundary(scene) > 10
        producer.close()

    run(app)
    assert any(text.startswith(f"{name}() timed out or was interrupted") for text in refusals)
    assert not any("another thread" in text for text in refusals)
