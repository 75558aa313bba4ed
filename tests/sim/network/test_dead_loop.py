"""A bug that ends the network thread: no call and no future of its client waits for it, whatever it was doing."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.network_loop import NetworkLoop
from kctl.client.errors import IllegalStateError, KafkaError, UndeliveredError
from kctl.client.loop.client_loop import ClientLoop
from kctl.client.producer import Producer, SendFuture
from kctl.client.producer.delivery_tracker import DeliveryTracker
from kctl.client.producer.record_router import RecordRouter
from kctl.client.producer.sender import Sender
from tests.sim.kit import SimCluster
from tests.sim.virtual import Hub

BUG = "which is a bug: ZeroDivisionError: a bug"
COUNT = 7
MOST_MS = 1000


@pytest.fixture(autouse=True)
def _printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the bug end the loop alone, as threading.excepthook does, and not the simulation."""
    run = ClientLoop.run

    def run_alone(self: ClientLoop[object]) -> None:
        with suppress(ZeroDivisionError):
            run(self)

    monkeypatch.setattr(ClientLoop, "run", run_alone)


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    with Hub(seed=71) as hub:
        yield SimCluster(hub, nodes=1, topics={"t": 1})


def failing(*_: object) -> None:
    raise ZeroDivisionError("a bug")


def failing_after(method: Callable[..., object]) -> Callable[..., object]:
    def call(*arguments: object) -> None:
        method(*arguments)
        failing()

    return call


PLACES: dict[str, tuple[type, str, Callable[[Callable[..., object]], Callable[..., object]]]] = {
    "before its events": (Sender, "_apply", lambda _: failing),
    "before a record": (RecordRouter, "_accept", lambda _: failing),
    "behind a record": (RecordRouter, "_accept", failing_after),
    "while it counts a record": (DeliveryTracker, "accept", failing_after),
    "with its events done": (Sender, "_advance", lambda _: failing),
    "and again at the end": (Sender, "_fail_outstanding", lambda _: failing),
}


@pytest.mark.parametrize("place", PLACES)
def test_records_and_calls_of_a_producer_end_with_its_network_thread(
    cluster: SimCluster, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    errors: list[KafkaError | None] = []

    def note(future: SendFuture) -> None:
        errors.append(future.exception(0))

    def send(producer: Producer) -> list[SendFuture]:
        return [producer.send("t", b"%d" % number, callback=note) for number in range(COUNT)]

    def body() -> None:
        producer = cluster.producer()
        producer.send("t", b"x").result(60)
        if place == "and again at the end":
            monkeypatch.setattr(Sender, "_advance", failing)
        cls, name, make = PLACES[place]
        monkeypatch.setattr(cls, name, make(getattr(cls, name)))
        began_ms = cluster.hub.now_ms
        futures = send(producer)
        columns = None
        if place in ("before its events", "before a record"):
            columns = producer.send_columns("t", [b"a", b"b"])
        with suppress(UndeliveredError, IllegalStateError):  # no error if the callbacks have been given all of them
            producer.flush(60)
        for future in futures:
            with pytest.raises(IllegalStateError, match=BUG):
                future.result(60)
        if columns is not None:
            with pytest.raises((KafkaError, IllegalStateError), match=BUG):
                columns.result(60)
        assert cluster.hub.now_ms - began_ms <= MOST_MS
        if place not in ("while it counts a record", "and again at the end"):  # these fail at the end, too
            assert len(errors) == COUNT, "each callback runs once"

    cluster.run(body)


@pytest.mark.parametrize("name", ["_apply", "_handle", "_open_call", "_advance"])
def test_calls_of_a_consumer_end_with_its_network_thread(
    cluster: SimCluster, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    tp = TopicPartition("t", 0)

    def body() -> None:
        consumer = cluster.consumer()
        consumer.assign([tp])
        consumer.poll(0.1)
        monkeypatch.setattr(NetworkLoop, name, failing)
        began_ms = cluster.hub.now_ms
        with pytest.raises(IllegalStateError, match=BUG):
            consumer.end_offsets([tp], 60)
        with pytest.raises(IllegalStateError, match=BUG):
            consumer.poll(60)
        assert cluster.hub.now_ms - began_ms <= MOST_MS

    cluster.run(body)
