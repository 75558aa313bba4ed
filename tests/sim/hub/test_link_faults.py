"""Faults of one link in virtual time: late, in pieces, never answered, or ended by a reset; nothing gets lost."""

import errno

from kctl.client.runtime import Address, Connected, Disconnected, IoEvent, Received
from tests.sim.hub.listeners import EchoListener
from tests.sim.virtual import Hub, LinkFault, SimDriver, SimNetwork, SimSelector

HERE = Address("10.0.0.1", 9092)
THERE = Address("10.0.0.2", 9092)


class World:
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
        world = World(seed=3)
        world.connected(1)
        world.connected(2, THERE)
        number = world.faults.start(clog, client="c1", ip=HERE.ip)
        for each in range(50):
            world.selector.send(1, b"%03d" % each)
        world.selector.send(2, b"other")
        assert world.heard(1000) == b"other"
        world.faults.stop(number)
        assert world.heard(1005) == b"".join(b"%03d" % each for each in range(50))


def test_a_connect_into_a_clogged_link_is_late_and_into_a_black_hole_is_tried_again_by_the_kernel() -> None:
    world = World()
    clog = world.faults.start(LinkFault.CLOG_REQUESTS, ip=HERE.ip)
    world.selector.connect(1, HERE)
    assert world.poll_until(500) == []
    world.faults.stop(clog)
    assert isinstance(world.poll_until(510)[0], Connected)
    hole = world.faults.start(LinkFault.BLACKHOLE)
    world.selector.connect(2, THERE)
    begun_ms = world.hub.now_ms
    world.poll_until(begun_ms + 1500)
    world.faults.stop(hole)
    assert world.poll_until(begun_ms + 3002) == []
    assert isinstance(world.poll_until(begun_ms + 3010)[0], Connected)


def test_refused_on_one_link_only() -> None:
    world = World()
    world.faults.start(LinkFault.REFUSE, client="c2")
    world.connected()
    world.faults.start(LinkFault.REFUSE, client="c1")
    world.selector.connect(2, THERE)
    (event,) = world.poll_until(20)
    assert isinstance(event, Disconnected)
    assert event.error is not None
    assert event.error.errno == errno.ECONNREFUSED


def test_slow_links_and_rates_take_their_time() -> None:
    world = World()
    world.connected()
    slow = world.faults.start(LinkFault.SLOW, value=100)
    before_ms = world.hub.now_ms
    world.selector.send(1, b"x")
    assert world.heard(before_ms + 201) == b""
    assert world.heard(before_ms + 203) == b"x"
    world.faults.stop(slow)
    world.faults.start(LinkFault.RATE, value=10)
    before_ms = world.hub.now_ms
    world.selector.send(1, bytes(1000))
    assert world.heard(before_ms + 201) == b""
    assert len(world.heard(before_ms + 203)) == 1000


def test_pieces_are_small() -> None:
    world = World()
    world.connected()
    world.faults.start(LinkFault.SEGMENTS, value=3)
    world.selector.send(1, bytes(range(100)))
    events = world.poll_until(100)
    assert all(isinstance(event, Received) and len(event.data) <= 3 for event in events)
    assert b"".join(bytes(event.data) for event in events if isinstance(event, Received)) == bytes(range(100))


def test_a_full_send_buffer_keeps_the_rest_unsent_and_loses_nothing() -> None:
    world = World()
    world.connected()
    world.faults.start(LinkFault.WINDOW, value=10)
    world.selector.send(1, bytes(range(100)))
    assert world.selector.unsent_bytes(1) == 90
    assert world.heard(world.hub.now_ms + 30) == bytes(range(100))
    assert world.selector.unsent_bytes(1) == 0


def test_a_cut_ends_both_sides_and_what_was_under_way() -> None:
    world = World()
    world.connected()
    world.selector.send(1, b"lost")
    for connection in world.network.connections_of("c1", HERE.ip):
        connection.cut()
    (event,) = world.poll_until(100)
    assert isinstance(event, Disconnected)
    assert world.listener.gone == 1
    assert world.network.open_connections == 0


def test_a_half_closed_connection_ends_after_what_the_broker_wrote() -> None:
    world = World()
    world.connected()
    world.selector.send(1, b"x")
    world.hub.run(until_ms=world.hub.now_ms + 1)
    world.network.connections_of("c1")[0].half_close()
    events = world.poll_until(50)
    assert [type(event) for event in events] == [Received, Disconnected]
    assert world.network.open_connections == 0


def test_a_forgotten_connection_gives_no_answer_and_no_end() -> None:
    world = World()
    world.connected()
    world.network.connections_of("c1")[0].forget_broker()
    world.selector.send(1, b"x")
    assert world.poll_until(10_000) == []
    assert world.network.open_connections == 0


def test_an_orphan_is_executed_after_the_client_saw_a_reset() -> None:
    world = World()
    world.connected()
    taken: list[bytes] = []
    connection = world.network.connections_of("c1")[0]
    world.listener.wires[0].write = taken.append  # type: ignore[assignment,method-assign]  # what is written is gathered
    world.selector.send(1, b"late")
    connection.orphan(500)
    (event,) = world.poll_until(300)
    assert isinstance(event, Disconnected)
    assert (taken, world.listener.gone) == ([], 0)
    world.poll_until(600)
    assert (taken, world.listener.gone) == ([b"late"], 1)
    assert world.network.open_connections == 0


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
