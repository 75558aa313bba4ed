"""Channels in virtual time: outcomes of connects, bytes in order, ends, wake-ups, exact waits."""

import errno

import pytest

from kctl.client.runtime import Address, Connected, Disconnected, IoEvent, Received, Selectable
from kctl.sandbox.faults import Fault
from tests.sim.hub.listeners import EchoListener
from tests.sim.virtual import Hub, LinkProfile, SimNetwork, SimSelector, SimulationStuck

_HERE = Address("10.0.0.1", 9092)


def _world(seed: int = 0, profile: LinkProfile | None = None) -> tuple[Hub, SimNetwork, EchoListener, Selectable]:
    hub = Hub(seed)
    network = SimNetwork(hub, profile)
    listener = EchoListener()
    network.listen(_HERE.ip, _HERE.port, listener)
    return hub, network, listener, SimSelector(hub, network, "c")


def _collect(hub: Hub, selector: Selectable, until: type[IoEvent], limit: int = 100) -> list[IoEvent]:
    events: list[IoEvent] = []
    for _ in range(limit):
        events += selector.poll(hub.now_ms + 1_000)
        if any(isinstance(event, until) for event in events):
            return events
    raise AssertionError(f"no {until.__name__} in {events}")


def _joined(events: list[IoEvent]) -> bytes:
    return b"".join(bytes(event.data) for event in events if isinstance(event, Received))


def test_connect_send_and_receive_take_the_latency() -> None:
    hub, _, _, selector = _world(profile=LinkProfile(latency_ms=5))
    selector.connect(1, _HERE)
    assert isinstance(selector.poll(hub.now_ms + 100)[0], Connected)
    assert hub.now_ms == 10
    selector.send(1, b"hello")
    assert selector.poll(hub.now_ms + 100) == [Received(1, b"hello")]
    assert hub.now_ms == 20


def test_poll_waits_exactly_until_its_instant_and_never_for_one_that_has_passed() -> None:
    hub, _, _, selector = _world()
    assert selector.poll(hub.now_ms + 250) == []
    assert hub.now_ms == 250
    assert selector.poll(0) == []
    assert hub.now_ms == 250


def test_a_wakeup_ends_the_present_or_the_next_poll() -> None:
    hub, _, _, selector = _world()
    hub.call_later_ms(30, "other", selector.wakeup)
    assert selector.poll(hub.now_ms + 250) == []
    assert hub.now_ms == 30
    selector.wakeup()
    assert selector.poll(hub.now_ms + 250) == []
    assert hub.now_ms == 30
    assert selector.poll(hub.now_ms + 250) == []
    assert hub.now_ms == 280


@pytest.mark.parametrize(
    ("fault", "number"), [(Fault.REFUSE, errno.ECONNREFUSED), (Fault.RESET, errno.ECONNRESET)], ids=lambda v: str(v)
)
def test_a_connect_that_fails_says_why(fault: Fault, number: int) -> None:
    hub, _, listener, selector = _world()
    listener.faults.start(fault)
    selector.connect(1, _HERE)
    end = _collect(hub, selector, Disconnected)[-1]
    assert isinstance(end, Disconnected)
    assert end.error is not None
    assert end.error.errno == number


def test_nobody_listens() -> None:
    hub, _, _, selector = _world()
    selector.connect(1, Address("10.9.9.9", 1))
    end = _collect(hub, selector, Disconnected)[-1]
    assert isinstance(end, Disconnected)
    assert end.error is not None
    assert end.error.errno == errno.ECONNREFUSED


def test_a_blackhole_never_answers() -> None:
    hub, network, listener, selector = _world()
    listener.faults.start(Fault.BLACKHOLE)
    selector.connect(1, _HERE)
    assert selector.poll(hub.now_ms + 500_000) == []
    assert hub.now_ms == 500_000
    selector.close(1)
    assert network.open_connections == 0


def test_bytes_before_the_end_are_delivered_and_those_before_a_reset_are_lost() -> None:
    hub, _, listener, selector = _world()
    for channel in (1, 2):
        selector.connect(channel, _HERE)
        _collect(hub, selector, Connected)
    listener.wires[0].write(b"last words")
    listener.wires[0].close()
    listener.wires[1].write(b"lost words")
    listener.wires[1].reset()
    events = [event for _ in range(3) for event in selector.poll(hub.now_ms + 10)]
    assert [event for event in events if event.channel == 1] == [Received(1, b"last words"), Disconnected(1, None)]
    (end,) = (event for event in events if event.channel == 2)
    assert isinstance(end, Disconnected)
    assert end.error is not None


@pytest.mark.parametrize("seed", range(6))
def test_pieces_and_jitter_never_reorder_a_channel(seed: int) -> None:
    hub, _, _, selector = _world(seed, LinkProfile(latency_ms=1, jitter_ms=20, segment_bytes=7))
    selector.connect(1, _HERE)
    _collect(hub, selector, Connected)
    sent = b"".join(b"message %d;" % number for number in range(100))
    for number in range(100):
        selector.send(1, b"message %d;" % number)
    events: list[IoEvent] = []
    while len(_joined(events)) < len(sent):
        events += selector.poll(hub.now_ms + 100)
    assert _joined(events) == sent
    assert max(len(event.data) for event in events if isinstance(event, Received)) <= 7


def test_a_closed_channel_is_silent_and_the_broker_learns_of_it() -> None:
    hub, network, listener, selector = _world()
    selector.connect(1, _HERE)
    _collect(hub, selector, Connected)
    selector.send(1, b"hello")
    selector.close(1)
    selector.close(1)
    selector.send(1, b"nobody")
    assert selector.poll(hub.now_ms + 100) == []
    assert (listener.gone, network.open_connections) == (1, 0)


def test_bytes_that_arrived_before_a_close_are_not_returned_after_it() -> None:
    hub, _, listener, selector = _world()
    for channel in (1, 2):
        selector.connect(channel, _HERE)
        _collect(hub, selector, Connected)
        listener.wires[channel - 1].write(b"news")
    hub.run(until_ms=hub.now_ms + 50)
    selector.close(1)
    assert selector.poll(hub.now_ms + 100) == [Received(2, b"news")]


def test_shutdown_leaves_nothing_and_refuses_more() -> None:
    hub, network, _, selector = _world()
    selector.connect(1, _HERE)
    _collect(hub, selector, Connected)
    selector.connect(2, _HERE)
    selector.shutdown()
    selector.shutdown()
    hub.run()
    assert network.open_connections == 0
    with pytest.raises(RuntimeError, match="after shutdown"):
        selector.connect(3, _HERE)
    with pytest.raises(RuntimeError, match="after shutdown"):
        selector.poll(0)


def test_polls_of_zero_that_never_end_are_stopped() -> None:
    _, _, _, selector = _world()

    def spin() -> None:
        while True:
            selector.poll(0)

    with pytest.raises(SimulationStuck, match="without time moving"):
        spin()


def test_a_poll_waits_inside_an_actor_while_others_run() -> None:
    with Hub() as hub:
        network = SimNetwork(hub)
        ends: list[int] = []
        for name, timeout_ms in (("a", 30), ("b", 20)):
            selector = SimSelector(hub, network, name)

            def wait(selector: SimSelector = selector, timeout_ms: int = timeout_ms) -> None:
                selector.poll(timeout_ms)
                ends.append(hub.now_ms)

            hub.spawn(name, wait)
        hub.run()
        assert ends == [20, 30]
