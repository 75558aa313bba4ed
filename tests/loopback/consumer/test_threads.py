"""The consumer on real threads and sockets: who may call, and what is left behind; no times."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import ConcurrentModificationError, WakeupError
from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.support.bounds import bound

PATIENCE_S = bound(60)
T0 = TopicPartition("t", 0)


@pytest.fixture
def served() -> Iterator[ServedSandbox]:
    before = set(threading.enumerate())
    with Sandbox(nodes=3, topics={"t": 3}).serve() as served:
        yield served
    left = [thread.name for thread in threading.enumerate() if thread not in before]
    assert left == []


def consumer_of(served: ServedSandbox, **properties: object) -> Consumer:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return Consumer({"bootstrap.servers": served.bootstrap, "auto.offset.reset": "earliest", **given})


def descriptors() -> set[str]:
    """What this process has open, by number and kind."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{number} {os.readlink(f'/proc/self/fd/{number}')}")
        except OSError:  # the one that lists
            continue
    return found


class Polling:
    """A thread inside of `poll`, until it is woken."""

    def __init__(self, consumer: Consumer) -> None:
        self.errors: list[BaseException] = []
        self._consumer = consumer
        self._thread = threading.Thread(target=self._poll)
        self._thread.start()

    def _poll(self) -> None:
        try:
            self._consumer.poll(PATIENCE_S)
        except WakeupError as error:
            self.errors.append(error)

    def end(self) -> None:
        self._consumer.wakeup()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


def test_a_second_thread_is_refused_until_the_first_has_left_its_call(served: ServedSandbox) -> None:
    consumer = consumer_of(served)
    consumer.assign([T0])
    polling = Polling(consumer)
    for _ in range(10_000_000):
        try:
            assert consumer.paused == []  # the thread is not inside of poll yet
        except ConcurrentModificationError:
            break
    else:
        pytest.fail("the second thread was never refused")
    with pytest.raises(ConcurrentModificationError):
        consumer.close()
    polling.end()
    assert isinstance(polling.errors[0], WakeupError)
    assert consumer.end_offsets([T0], PATIENCE_S) == {T0: 0}
    consumer.close()


@pytest.mark.parametrize("fault", [None, Fault.FREEZE, Fault.RESET_ON_REQUEST])
@pytest.mark.parametrize("timeout", [0.0, 0.3, PATIENCE_S])
def test_after_close_no_thread_and_no_socket_is_left(
    served: ServedSandbox, fault: Fault | None, timeout: float
) -> None:
    threads, open_before = threading.active_count(), descriptors()
    consumer = consumer_of(served, group_id="g", request_timeout_ms=400, fetch_max_wait_ms=100)
    consumer.subscribe(["t"])
    while not consumer.assignment:
        consumer.poll(0.1)
    if fault is not None:
        for node_id in (1, 2, 3):
            served.sandbox.start_fault(node_id, fault)
    consumer.commit_async({T0: 1})
    consumer.close(timeout)
    if timeout == 0:  # not waited for: the thread ends on its own
        for thread in threading.enumerate():
            if thread.name == "kctl-consumer-network":
                thread.join(PATIENCE_S)
    assert threading.active_count() == threads
    served.sandbox.heal()
    own = {each for each in descriptors() - open_before if "socket" not in each}
    assert own == set(), "the selector and its pipe are gone"
    assert not [each for each in descriptors() - open_before if is_client_socket(each, served)]


def is_client_socket(descriptor: str, served: ServedSandbox) -> bool:
    """Return whether an open descriptor is a socket that is connected to a node: the nodes' own ends are not."""
    import socket
    from stat import S_ISSOCK

    number = int(descriptor.split()[0])
    try:
        if not S_ISSOCK(os.fstat(number).st_mode):  # the copy would stay open
            return False
        with socket.socket(fileno=os.dup(number)) as twin:
            return twin.getpeername()[1] in {node.port for node in served.sandbox.cluster.nodes.values()}
    except OSError:
        return False


def test_a_keyboard_interrupt_in_a_wait_leaves_the_consumer_usable_and_closable(served: ServedSandbox) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with consumer_of(served) as consumer:
            consumer.assign([T0])
            consumer.poll(0.2)
            for call in (lambda: consumer.poll(PATIENCE_S), lambda: consumer.end_offsets([T0], PATIENCE_S)):
                served.sandbox.start_fault(served.sandbox.cluster.topics["t"].partitions[0].leader_id, Fault.FREEZE)
                killer = threading.Timer(
                    0.2, lambda: signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
                )
                killer.start()
                with pytest.raises(KeyboardInterrupt):
                    call()
                killer.join()
                served.sandbox.heal()
            assert consumer.end_offsets([T0], PATIENCE_S) == {T0: 0}
    finally:
        signal.signal(signal.SIGUSR1, before)
