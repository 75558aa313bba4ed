"""A client that is dropped without close() warns, and its thread and descriptors go away."""

import gc
import os
import threading
import warnings
from collections.abc import Callable, Iterator

import pytest

from kctl.client import Admin, Consumer, Producer, TopicPartition
from kctl.client.consumer import RebalanceListener
from kctl.client.errors import ConfigError
from kctl.client.producer import SendFuture
from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.support.bounds import bound

PATIENCE_S = bound(60)
"""A thread that does not end fails the test after this time."""
COLLECTIONS = 100
NAMES = ("producer", "kctl-consumer-network")


@pytest.fixture
def served() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=3, topics={"t": 3}).serve() as served:
        yield served


def client_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name in NAMES]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def warned_of(drop: Callable[[], object]) -> list[str]:
    """Return what clients warn of while a call drops them and everything unreachable goes away.

    A socket of an admin client in a reference cycle may warn too: the collector finalizes a cycle in any order.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        drop()
        collect_dropped()
    texts = [str(warning.message) for warning in caught if warning.category is ResourceWarning]
    return [text for text in texts if not text.startswith("unclosed <socket")]


def collect_dropped() -> None:
    """Collect until the threads of dropped clients end: a thread that uses its client right now keeps it once."""
    gc.collect()
    for thread in client_threads():
        for _ in range(COLLECTIONS):
            thread.join(PATIENCE_S / COLLECTIONS)
            if not thread.is_alive():
                break
            gc.collect()


def wait_for_threads() -> None:
    collect_dropped()
    assert client_threads() == []


def make_and_drop(count: int, bootstrap: str) -> None:
    """Use clients, each in a reference cycle, and drop them."""
    kept: list[object] = []
    for _ in range(count):
        producer = Producer({"bootstrap.servers": bootstrap})
        producer.send("t", b"x").result(PATIENCE_S)
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g"})
        consumer.subscribe(["t"])
        consumer.poll(0)
        admin = Admin({"bootstrap.servers": bootstrap})
        admin.list_topics(timeout=PATIENCE_S)
        kept.append((producer, consumer, admin, kept))


def test_clients_dropped_without_close_warn_and_release_threads_and_descriptors(served: ServedSandbox) -> None:
    warned_of(lambda: make_and_drop(1, served.bootstrap))
    wait_for_threads()
    before = descriptors()
    warned = warned_of(lambda: make_and_drop(20, served.bootstrap))
    hint = "call close(), or use it in a with statement"
    kinds = [name for name in ("Admin", "Consumer", "Producer") for _ in range(20)]
    assert sorted(warned) == [f"unclosed {name}: {hint}" for name in kinds]
    wait_for_threads()
    served.stop()  # the nodes' ends of the connections are descriptors of this process, too
    assert descriptors() <= before


@pytest.mark.parametrize("kind", [Producer, Consumer])
def test_client_that_its_token_callback_refers_to_is_collected(
    served: ServedSandbox, kind: type[Producer] | type[Consumer]
) -> None:
    def make_and_drop_one() -> None:
        known: list[object] = []
        client = kind({"bootstrap.servers": served.bootstrap, "sasl.oauthbearer.token.callback": lambda: str(known)})
        known.append(client)

    assert len(warned_of(make_and_drop_one)) == 1
    wait_for_threads()


def test_dropped_consumer_leaves_its_group(served: ServedSandbox) -> None:
    members = []

    with Admin({"bootstrap.servers": served.bootstrap}) as admin:

        def count_members() -> int:
            return len(admin.describe_groups(["g"], timeout=PATIENCE_S).done["g"].members)

        def join_and_drop() -> None:
            consumer = Consumer({"bootstrap.servers": served.bootstrap, "group.id": "g"})
            consumer.subscribe(["t"])
            while not consumer.assignment:
                consumer.poll(0.1)
            members.append(count_members())

        assert len(warned_of(join_and_drop)) == 1
        wait_for_threads()
        assert [*members, count_members()] == [1, 0]


def test_dropped_producer_delivers_what_it_accepted(served: ServedSandbox) -> None:
    futures: list[SendFuture] = []

    def send_and_drop() -> None:
        producer = Producer({"bootstrap.servers": served.bootstrap, "linger.ms": 60_000})
        futures.extend(producer.send("t", b"%d" % number) for number in range(100))

    assert len(warned_of(send_and_drop)) == 1
    assert [future.exception(PATIENCE_S) for future in futures] == [None] * 100
    wait_for_threads()


def test_thread_of_a_dropped_producer_ends_though_no_broker_answers(served: ServedSandbox) -> None:
    limits = {"delivery.timeout.ms": 600, "request.timeout.ms": 300, "linger.ms": 0}
    futures: list[SendFuture] = []

    def send_and_drop() -> None:
        producer = Producer({"bootstrap.servers": served.bootstrap, **limits})
        producer.send("t", b"1").result(PATIENCE_S)
        for node_id in (1, 2, 3):
            served.sandbox.start_fault(node_id, Fault.FREEZE)
        futures.append(producer.send("t", b"2"))

    assert len(warned_of(send_and_drop)) == 1
    assert futures[0].exception(PATIENCE_S) is not None
    wait_for_threads()


class Service(RebalanceListener):
    """A service that has a client, and is what the client calls back."""

    def __init__(self, bootstrap: str, kind: str) -> None:
        settings: dict[str, object] = {"bootstrap.servers": bootstrap}
        if kind == "listener":
            consumer = Consumer({**settings, "group.id": "service"})
            consumer.subscribe(["t"], self)
            while not consumer.assignment:
                consumer.poll(0.1)
            self.client: object = consumer
        elif kind == "commit":
            consumer = Consumer({**settings, "group.id": "service"})
            consumer.commit_async({TopicPartition("t", 0): 1}, self.on_event)
            self.client = consumer
        elif kind == "delivery":
            producer = Producer(settings)
            producer.send("t", b"1", callback=self.on_event).result(PATIENCE_S)
            self.client = producer
        else:
            client = {"Producer": Producer, "Consumer": Consumer, "Admin": Admin}[kind]
            self.client = client(settings, events=self.on_event)

    def on_event(self, *_: object) -> None:
        """Take whatever is reported."""


@pytest.mark.parametrize("kind", ["listener", "commit", "delivery", "Producer", "Consumer", "Admin"])
def test_client_that_its_callbacks_refer_to_is_collected(served: ServedSandbox, kind: str) -> None:
    def make_and_drop() -> None:
        Service(served.bootstrap, kind)

    assert len(warned_of(make_and_drop)) == 1
    wait_for_threads()
    if kind == "listener":
        with Admin({"bootstrap.servers": served.bootstrap}) as admin:
            assert admin.describe_groups(["service"], timeout=PATIENCE_S).done["service"].members == ()


def test_closed_clients_do_not_warn(served: ServedSandbox) -> None:
    def use_and_close() -> None:
        settings = {"bootstrap.servers": served.bootstrap}
        with Producer(settings), Consumer(settings), Admin(settings):
            pass

    assert warned_of(use_and_close) == []


@pytest.mark.parametrize("kind", [Producer, Consumer, Admin])
def test_client_whose_construction_fails_does_not_warn(kind: type[Producer | Consumer | Admin]) -> None:
    def fail() -> None:
        with pytest.raises(ConfigError):
            kind({"bootstrap.servers": ""})

    assert warned_of(fail) == []
