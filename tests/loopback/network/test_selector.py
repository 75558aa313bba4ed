"""The selector on real sockets of the loopback interface; order and causes, no clock."""

import contextlib
import errno
import os
import selectors
import socket
import sys
from collections.abc import Iterator
from itertools import pairwise

import pytest

from kctl.client.clock import SystemClock
from kctl.client.network.selector import Selector
from kctl.client.runtime import Address, Connected, Disconnected, IoEvent, Received, SocketOptions
from tests.support.bounds import bound

PATIENCE_MS = bound(60_000)


@pytest.fixture
def selector() -> Iterator[Selector]:
    selector = Selector(SocketOptions(user_timeout_ms=30_000))
    yield selector
    selector.shutdown()


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE_MS / 1000)
        yield server


def within(ms: int) -> int:
    """Return the instant at which a poll of at most `ms` ends."""
    return SystemClock().now_ms() + ms


def address_of(server: socket.socket) -> Address:
    return Address("127.0.0.1", server.getsockname()[1])


def next_events(selector: Selector) -> list[IoEvent]:
    for _ in range(100):
        events = selector.poll(within(PATIENCE_MS))
        if events:
            return events
    raise AssertionError("nothing happened")


def connect(selector: Selector, server: socket.socket, channel: int = 1) -> socket.socket:
    selector.connect(channel, address_of(server))
    peer, _ = server.accept()
    assert isinstance(next_events(selector)[0], Connected)
    return peer


def read_all(selector: Selector, count: int) -> bytes:
    data = b""
    while len(data) < count:
        for event in next_events(selector):
            assert isinstance(event, Received)
            data += event.data
    return data


def test_bytes_go_both_ways(selector: Selector, server: socket.socket) -> None:
    with connect(selector, server) as peer:
        selector.send(1, b"hello")
        assert peer.recv(100) == b"hello"
        peer.sendall(b"world")
        assert read_all(selector, 5) == b"world"


def test_megabytes_go_through_a_peer_that_reads_late(
    selector: Selector, server: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = [bytes([number % 256]) * size for number, size in enumerate([1, 300_000, 7, 0, 1_000_003] * 20)]
    sent = b"".join(pieces)
    waited_for: list[int] = []
    modify = selector._selector.modify

    def modified(sock: socket.socket, events: int, data: object) -> selectors.SelectorKey:
        waited_for.append(events)
        return modify(sock, events, data)

    with connect(selector, server) as peer:
        monkeypatch.setattr(selector._selector, "modify", modified)
        selector.send(1, *pieces)
        selector.send(1, b"the end")
        assert selector.unsent_bytes(1) > 0
        peer.setblocking(False)
        got = bytearray()
        while len(got) < len(sent) + 7:
            selector.poll(0)
            try:
                got += peer.recv(1 << 20)
            except BlockingIOError:
                selector.poll(within(1))
        assert got == sent + b"the end"
        assert selector.unsent_bytes(1) == 0
        read, write = selectors.EVENT_READ, selectors.EVENT_WRITE
        assert waited_for == [read | write, read]  # room to write more is waited for once, and not when all is written


def test_large_answers_of_several_channels_arrive_whole(selector: Selector, server: socket.socket) -> None:
    peers = {channel: connect(selector, server, channel) for channel in (1, 2, 3, 4, 5, 6)}
    wanted = {channel: bytes([channel]) * 3_000_000 for channel in peers}
    got: dict[int, bytearray] = {channel: bytearray() for channel in peers}
    unsent = {channel: memoryview(data) for channel, data in wanted.items()}
    while any(len(got[channel]) < len(wanted[channel]) for channel in peers):
        for channel, peer in peers.items():
            if unsent[channel]:
                peer.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    unsent[channel] = unsent[channel][peer.send(unsent[channel]) :]
        for event in selector.poll(within(1)):
            assert isinstance(event, Received)
            got[event.channel] += event.data
    assert all(got[channel] == wanted[channel] for channel in peers)
    for peer in peers.values():
        peer.close()


def test_a_closed_port_is_refused(selector: Selector) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        selector.connect(1, address_of(unused))
        (event,) = next_events(selector)
    assert isinstance(event, Disconnected)
    assert event.error is not None
    assert event.error.errno == errno.ECONNREFUSED


def test_an_end_comes_after_the_bytes_before_it(selector: Selector, server: socket.socket) -> None:
    peer = connect(selector, server)
    peer.sendall(b"last words")
    peer.close()
    events = next_events(selector)
    while not isinstance(events[-1], Disconnected):
        events += next_events(selector)
    assert b"".join(bytes(event.data) for event in events if isinstance(event, Received)) == b"last words"
    assert events[-1] == Disconnected(1, None)


def test_last_words_are_read_although_our_own_write_failed(selector: Selector, server: socket.socket) -> None:
    peer = connect(selector, server)
    peer.sendall(b"last words")
    peer.shutdown(socket.SHUT_RDWR)
    peer.close()
    selector.send(1, b"x")
    selector.send(1, b"y")
    events = next_events(selector)
    assert isinstance(events[0], Received)


def test_a_reset_has_its_error(selector: Selector, server: socket.socket) -> None:
    peer = connect(selector, server)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    peer.close()
    (event,) = next_events(selector)
    assert isinstance(event, Disconnected)
    assert event.error is not None
    assert event.error.errno == errno.ECONNRESET


def test_a_reset_that_a_write_meets_first_is_still_a_reset(selector: Selector, server: socket.socket) -> None:
    peer = connect(selector, server)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    peer.close()
    selector.send(1, b"too late")
    (event,) = next_events(selector)
    assert isinstance(event, Disconnected)
    assert event.error is not None
    assert event.error.errno == errno.ECONNRESET


@pytest.mark.parametrize("is_polled", [False, True], ids=["before the poll", "after the poll"])
def test_bytes_of_a_failed_write_are_not_taken_for_written(
    selector: Selector, server: socket.socket, is_polled: bool
) -> None:
    peer = connect(selector, server)
    selector.send(1, bytes(32 << 20))
    unsent = selector.unsent_bytes(1)
    assert unsent > 0
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    peer.close()
    while is_polled and not any(isinstance(event, Disconnected) for event in selector.poll(within(PATIENCE_MS))):
        pass
    selector.send(1, b"more")
    assert selector.unsent_bytes(1) >= 4
    selector.close(1)
    assert selector.unsent_bytes(1) == 0


def test_a_closed_channel_says_nothing_more(selector: Selector, server: socket.socket) -> None:
    with connect(selector, server) as peer:
        peer.sendall(b"unheard")
        selector.close(1)
        selector.close(1)
        selector.send(1, b"into the void")
        selector.wakeup()
        assert selector.poll(within(PATIENCE_MS)) == []


@pytest.mark.parametrize(
    "address",
    [
        Address("127.0.0.1", 70_000),
        Address("127.0.0.1", -1),
        Address("127.0.0.1%lo", 9092),
        Address("fe80::1%nope", 9092, is_ipv6=True),
        Address("127.0.0.1\0", 9092),
    ],
    ids=str,
)
def test_address_that_cannot_be_dialled_is_an_end_of_its_channel(selector: Selector, address: Address) -> None:
    selector.connect(1, address)
    (event,) = selector.poll(within(1000))
    assert isinstance(event, Disconnected)
    assert event.channel == 1
    assert event.error is not None
    assert selector.poll(0) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="SO_RCVLOWAT wakes epoll")
def test_a_poll_waits_for_many_of_the_bytes_that_are_sure_to_come(selector: Selector, server: socket.socket) -> None:
    with connect(selector, server) as peer:
        selector.expect(1, 100_000)
        peer.sendall(bytes(99_999))
        assert selector.poll(within(20)) == []
        peer.sendall(b"!")
        assert read_all(selector, 100_000) == bytes(99_999) + b"!"
        selector.expect(1, 0)
        peer.sendall(b"few")
        assert read_all(selector, 3) == b"few"


def test_expected_bytes_are_read_by_themselves(selector: Selector, server: socket.socket) -> None:
    with connect(selector, server) as peer:
        selector.expect(1, 4)
        peer.sendall(b"sizewhole frame")
        assert next_events(selector) == [Received(1, b"size")]
        selector.expect(1, 5)
        [frame] = next_events(selector)
        assert frame == Received(1, b"whole")
        assert isinstance(frame, Received)
        assert type(frame.data) is bytes, "its owner may keep it"
        selector.expect(1, 0)
        assert read_all(selector, 6) == b" frame"


def test_expected_bytes_are_read_to_their_place(selector: Selector, server: socket.socket) -> None:
    with connect(selector, server) as peer:
        place = memoryview(bytearray(5))
        selector.expect(1, 5, place)
        peer.sendall(b"who")
        [first] = next_events(selector)
        assert first == Received(1, b"who")
        selector.expect(1, 2, place[3:])
        peer.sendall(b"le more")
        assert next_events(selector) == [Received(1, b"le")]
        assert bytes(place) == b"whole"
        selector.expect(1, 0)
        assert read_all(selector, 5) == b" more"
        assert bytes(place) == b"whole"


def test_end_is_seen_though_more_bytes_were_expected(selector: Selector, server: socket.socket) -> None:
    peer = connect(selector, server)
    selector.expect(1, 1 << 20)
    peer.sendall(b"the last")
    peer.close()
    events = [*next_events(selector), *next_events(selector)]
    assert [type(event) for event in events] == [Received, Disconnected]


def test_more_is_expected_than_the_system_holds(server: socket.socket) -> None:
    selector = Selector(SocketOptions(user_timeout_ms=30_000, receive_buffer_bytes=8192))
    with connect(selector, server) as peer:
        selector.expect(1, 1 << 20)
        peer.setblocking(False)
        sent = 0
        while sent < 1 << 20:
            with contextlib.suppress(BlockingIOError):
                sent += peer.send(bytes((1 << 20) - sent))
            selector.poll(within(PATIENCE_MS))
    selector.shutdown()


def test_four_busy_channels_do_not_starve_a_fifth(monkeypatch: pytest.MonkeyPatch, server: socket.socket) -> None:
    monkeypatch.setattr("kctl.client.network.selector._SCRATCH_BYTES", 4096)
    monkeypatch.setattr("kctl.client.network.selector._READ_BYTES", 1024)
    selector = Selector(SocketOptions(user_timeout_ms=1000))
    peers = [connect(selector, server, number) for number in range(1, 6)]
    for peer in peers:
        peer.sendall(bytes(20_000))
    rounds = [{event.channel for event in selector.poll(within(1000)) if isinstance(event, Received)} for _ in range(5)]
    assert [len(channels) for channels in rounds] == [4] * 5
    assert all({1, 2, 3, 4, 5} == earlier | later for earlier, later in pairwise(rounds))
    selector.shutdown()
    for peer in peers:
        peer.close()


def test_wakeups_before_and_during_a_poll_end_it(selector: Selector) -> None:
    for _ in range(3):
        selector.wakeup()
    assert selector.poll(within(PATIENCE_MS)) == []
    assert selector.poll(0) == []


def test_a_wakeup_beside_data_is_reported_with_it(selector: Selector, server: socket.socket) -> None:
    with connect(selector, server) as peer:
        selector.wakeup()
        peer.sendall(b"data")
        assert (next_events(selector), selector.was_woken) == ([Received(1, b"data")], True)
        peer.sendall(b"more")
        assert (next_events(selector), selector.was_woken) == ([Received(1, b"more")], False)


def test_wakeup_after_shutdown_is_harmless(selector: Selector) -> None:
    selector.shutdown()
    selector.wakeup()


class ClockAtTheEnd(SystemClock):
    """Says that only `rest_s` are left of whatever is waited for."""

    def __init__(self, rest_s: float) -> None:
        self.rest_s = rest_s

    def seconds_until(self, at_ms: int) -> float:
        return self.rest_s


@pytest.mark.parametrize("rest_s", [0.0, 0.0004])
def test_a_wait_lasts_until_an_instant_and_not_for_whole_milliseconds(
    monkeypatch: pytest.MonkeyPatch, rest_s: float
) -> None:
    waits = []

    def waited(_read: object, _write: object, _error: object, wait_s: float) -> None:
        waits.append(wait_s)

    monkeypatch.setattr("select.select", waited)
    selector = Selector(SocketOptions(user_timeout_ms=30_000), ClockAtTheEnd(rest_s))
    assert selector.poll(within(60_000)) == []
    assert waits == [rest_s][: rest_s > 0]
    selector.shutdown()


class PassingClock(SystemClock):
    """Time passes by what is waited for, and the system is late by a thousandth of it."""

    def __init__(self) -> None:
        self.now_s = 7.0004
        self.waits: list[float] = []

    def now_ms(self) -> int:
        return int(self.now_s * 1000)

    def seconds_until(self, at_ms: int) -> float:
        return max(0.0, at_ms / 1000 - self.now_s)

    def wait(self, wait_s: float) -> list[tuple[selectors.SelectorKey, int]]:
        self.waits.append(wait_s)
        self.now_s += wait_s * 1.001
        return []


@pytest.mark.parametrize("timeout_ms", [1, 2, 70, 1000, 60_000])
def test_a_long_wait_comes_in_pieces_so_that_the_lateness_of_the_system_does_not_add_up(
    monkeypatch: pytest.MonkeyPatch, timeout_ms: int
) -> None:
    clock = PassingClock()
    selector = Selector(SocketOptions(user_timeout_ms=30_000), clock)
    monkeypatch.setattr(selector._selector, "select", clock.wait)
    monkeypatch.setattr("select.select", lambda _read, _write, _error, wait_s: clock.wait(wait_s))
    assert selector.poll(clock.now_ms() + timeout_ms) == []
    assert 7 + timeout_ms / 1000 <= clock.now_s < 7 + timeout_ms / 1000 + 0.00001
    assert len(clock.waits) < 10
    selector.shutdown()


def test_with_a_thousand_descriptors_open_the_last_part_is_left_to_the_selector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = [os.dup(0) for _ in range(1024)]
    monkeypatch.setattr("select.select", lambda *_: pytest.fail("select() takes no such descriptor"))
    selector = Selector(SocketOptions(user_timeout_ms=30_000), ClockAtTheEnd(0.0004))
    assert selector.poll(within(60_000)) == []
    selector.shutdown()
    for fd in many:
        os.close(fd)
