"""Faults of one link in virtual time: delays, pieces, no response, or a reset; no bytes are lost."""

import errno

from kctl.client.runtime import Address, Connected, Disconnected, IoEvent, Received
from tests.sim.hub.listeners import EchoListener
from tests.sim.virtual import Hub, LinkFault, SimDriver, SimNetwork, SimSelector

HERE = Address("10.0.0.1", 9092)
THERE = Address("10.0.0.2", 9092)


class EchoNetwork:
    """One client called c1 and two echoing nodes; the latency is 1 ms."""

    def __init__(self, seed: int = 0) -> None:
        self.hub = Hub(seed)
        self.network = SimNetwork(self.hub)
        self.faults = self.network.faults
        self.listener = EchoListener()
        for address in (HERE, THERE):
            self.network.listen(address.ip, address.port, self.listener)
        self.selector = SimSelector(self.hub, self.network, "c1")

    def connected(self, channel: int = 1, address: Address = HERE) -> None:
        self.selector.connect(channel, address)
        assert any(isinstance(event, Connected) for event in self.poll_until(self.hub.now_ms + 10))

    def poll_until(self, at_ms: int) -> list[IoEvent]:
        events: list[IoEvent] = []
        while self.hub.now_ms < at_ms:
            events += self.selector.poll(at_ms)
        return events

    def heard(self, at_ms: int) -> bytes:
        return b"".join(bytes(event.data) for event in self.poll_until(at_ms) if isinstance(event, Received))


def test_clogged_bytes_arrive_in_order_when_it_ends_and_others_are_not_held() -> None:
    for clog in (LinkFault.CLOG_REQUESTS, LinkFault.CLOG_RESPONSES):
        network = EchoNetwork(seed=3)
        network.connected(1)
        network.connected(2, THERE)
        number = network.faults.start(clog, client="c1", ip=HERE.ip)
        for each in range(50):
            network.selector.send(1, b"%03d" % each)
        network.selector.send(2, b"other")
        assert network.heard(1000) == b"other"
        network.faults.stop(number)
        assert network.heard(1005) == b"".join(b"%03d" % each for each in range(50))


def test_a_connect_into_a_clogged_link_is_late_and_into_a_black_hole_is_tried_again_by_the_kernel() -> None:
    network = EchoNetwork()
    clog = network.faults.start(LinkFault.CLOG_REQUESTS, ip=HERE.ip)
    network.selector.connect(1, HERE)
    assert network.poll_until(500) == []
    network.faults.stop(clog)
    assert isinstance(network.poll_until(510)[0], Connected)
    hole = network.faults.start(LinkFault.BLACKHOLE)
    network.selector.connect(2, THERE)
    begun_ms = network.hub.now_ms
    network.poll_until(begun_ms + 1500)
    network.faults.stop(hole)
    assert network.poll_until(begun_ms + 3002) == []
    assert isinstance(network.poll_until(begun_ms + 3010)[0], Connected)


def test_refused_on_one_link_only() -> None:
    network = EchoNetwork()
    network.faults.start(LinkFault.REFUSE, client="c2")
    network.connected()
    network.faults.start(LinkFault.REFUSE, client="c1")
    network.selector.connect(2, THERE)
    (event,) = network.poll_until(20)
    assert isinstance(event, Disconnected)
    assert event.error is not None
    assert event.error.errno == errno.ECONNREFUSED


def test_slow_links_and_rates_take_their_time() -> None:
    network = EchoNetwork()
    network.connected()
    slow = network.faults.start(LinkFault.SLOW, value=100)
    before_ms = network.hub.now_ms
    network.selector.send(1, b"x")
    assert network.heard(before_ms + 201) == b""
    assert network.heard(before_ms + 203) == b"x"
    network.faults.stop(slow)
    network.faults.start(LinkFault.RATE, value=10)
    before_ms = network.hub.now_ms
    network.selector.send(1, bytes(1000))
    assert network.heard(before_ms + 201) == b""
    assert len(network.heard(before_ms + 203)) == 1000


def test_pieces_are_small() -> None:
    network = EchoNetwork()
    network.connected()
    network.faults.start(LinkFault.SEGMENTS, value=3)
    network.selector.send(1, bytes(range(100)))
    events = network.poll_until(100)
    assert all(isinstance(event, Received) and len(event.data) <= 3 for event in events)
    assert b"".join(bytes(event.data) for event in events if isinstance(event, Received)) == bytes(range(100))


def test_a_full_send_buffer_keeps_the_rest_unsent_and_loses_nothing() -> None:
    network = EchoNetwork()
    network.connected()
    network.faults.start(LinkFault.WINDOW, value=10)
    network.selector.send(1, bytes(range(100)))
    assert network.selector.unsent_bytes(1) == 90
    assert network.heard(network.hub.now_ms + 30) == bytes(range(100))
    assert network.selector.unsent_bytes(1) == 0


def test_a_cut_ends_both_sides_and_what_was_under_way() -> None:
    network = EchoNetwork()
    network.connected()
    network.selector.send(1, b"lost")
    for connection in network.network.connections_of("c1", HERE.ip):
        connection.cut()
    (event,) = network.poll_until(100)
    assert isinstance(event, Disconnected)
    assert network.listener.gone == 1
    assert network.network.open_connections == 0


def test_a_half_closed_connection_ends_after_what_the_broker_wrote() -> None:
    network = EchoNetwork()
    network.connected()
    network.selector.send(1, b"x")
    network.hub.run(until_ms=network.hub.now_ms + 1)
    network.network.connections_of("c1")[0].half_close()
    events = network.poll_until(50)
    assert [type(event) for event in events] == [Received, Disconnected]
    assert network.network.open_connections == 0


def test_a_forgotten_connection_gives_no_answer_and_no_end() -> None:
    network = EchoNetwork()
    network.connected()
    network.network.connections_of("c1")[0].forget_broker()
    network.selector.send(1, b"x")
    assert network.poll_until(10_000) == []
    assert network.network.open_connections == 0


def test_an_orphan_is_executed_after_the_client_saw_a_reset() -> None:
    network = EchoNetwork()
    network.connected()
    taken: list[bytes] = []
    connection = network.network.connections_of("c1")[0]
    network.listener.wires[0].write = taken.append  # type: ignore[assignment,method-assign]  # what is written is gathered
    network.selector.send(1, b"late")
    connection.orphan(500)
    (event,) = network.poll_until(300)
    assert isinstance(event, Disconnected)
    assert (taken, network.listener.gone) == ([], 0)
    network.poll_until(600)
    assert (taken, network.listener.gone) == ([b"late"], 1)
    assert network.network.open_connections == 0


def test_a_process_that_stands_still_waits_no_shorter() -> None:
    with Hub() as hub:
        ends: dict[str, int] = {}

        def wait(name: str) -> None:
            waiter = SimDriver(hub, name).waiter()
            SimDriver(hub, name).wait(waiter, 100)
            ends[name] = hub.now_ms

        for name in ("c1", "c2"):
            hub.spawn(name, lambda name=name: wait(name))  # type: ignore[misc]  # a bound default
        hub.call_later_ms(50, "plan", lambda: hub.stall("c1", 200))
        hub.run()
        assert ends == {"c1": 250, "c2": 100}


def test_a_wait_that_is_woken_and_expires_in_a_stall_ends_once() -> None:
    with Hub() as hub:
        driver = SimDriver(hub, "c1")
        waiter = driver.waiter()
        ends: list[int] = []

        def wait() -> None:
            for deadline_ms in (100, 1000):
                driver.wait(waiter, deadline_ms)
                ends.append(hub.now_ms)
                waiter.is_up = False

        hub.spawn("c1", wait)
        hub.call_later_ms(50, "plan", lambda: hub.stall("c1", 200))
        hub.call_later_ms(120, "plan", waiter.notify)
        hub.run()
        assert ends == [250, 1000]
