"""Ctrl-C anywhere in a call: buffer.memory is whole, each accepted record is accounted for, the producer is usable."""

from collections.abc import Callable

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import UndeliveredError
from kctl.client.producer import Producer
from kctl.sandbox import Fault
from tests.sim.interrupts import Interrupted, each_boundary
from tests.sim.producer.world import World, run

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

    def app(world: World) -> None:
        producer = world.producer({"buffer.memory": 1000, "max.request.size": 1000, "max.block.ms": 2000})
        producer.send("t", b"warm").result()
        usable = 1

        def scene(interrupted: Interrupted) -> None:
            nonlocal lost, delivered, usable
            world.hub.sleep_ms(10)  # the loop sleeps
            before = len(world.values("t", 0))
            interrupted(lambda: SENDS[name](producer))
            check_usable(producer)
            count = len(world.values("t", 0)) - before - 1
            assert count in (0, 1 if name == "send" else 3)
            lost, delivered = lost + (count == 0), delivered + (count > 0)
            usable += count + 1

        assert each_boundary(scene) > 10
        assert producer.close(5)[:3] == (usable, 0, 0)

    run(app)
    assert lost > 5
    assert delivered >= 3


@pytest.mark.parametrize("topic", ["t", "new"])
def test_interrupted_send_to_an_unknown_topic_leaves_nothing_behind(topic: str) -> None:
    def app(world: World) -> None:
        def scene(interrupted: Interrupted) -> None:
            producer = world.producer({"buffer.memory": 1000, "max.request.size": 1000})
            interrupted(lambda: producer.send(topic, b"interrupted"))
            check_usable(producer)
            assert producer.close(5).undelivered == 0

        assert each_boundary(scene) > 20

    run(app)


def test_send_interrupted_in_line_for_memory_lets_the_next_in_line_pass() -> None:
    def app(world: World) -> None:
        def scene(interrupted: Interrupted) -> None:
            producer = world.producer({"buffer.memory": 1000, "max.request.size": 1000})
            producer.partitions_for("t")
            for node_id in (1, 2, 3):
                world.sandbox.start_fault(node_id, Fault.DELAY, ms=20)
            producer.send("t", bytes(700))
            done: list[bool] = []

            def other() -> None:
                world.hub.sleep_ms(5)
                done.append(producer.send("t", bytes(600)).exception() is None)

            actor = world.hub.spawn("other", other)
            interrupted(lambda: producer.send("t", bytes(500)))
            while actor.is_alive:
                world.hub.sleep_ms(1)
            world.sandbox.heal()
            assert done == [True]
            check_usable(producer)
            producer.close(5)

        assert each_boundary(scene) > 20

    run(app)


def test_interrupted_flush_reports_failures_with_the_next_one() -> None:
    reports = 0

    def app(world: World) -> None:
        producer = world.producer()
        producer.send("t", b"warm").result()

        def scene(interrupted: Interrupted) -> None:
            nonlocal reports
            world.sandbox.fail_requests("Produce", ErrorCode.INVALID_RECORD, times=1)
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


@pytest.mark.parametrize("timeout", [0, 3, None])
def test_interrupted_close_can_be_called_again_and_accounts_for_every_record(timeout: float | None) -> None:
    def app(world: World) -> None:
        def scene(interrupted: Interrupted) -> None:
            producer = world.producer()
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
