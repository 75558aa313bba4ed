"""The sandbox's own loop: functions from other threads, timers that are never early, mistakes that are kept."""

import select
import selectors
import socket
import threading

import pytest

from kctl.client.clock import SystemClock
from kctl.sandbox.socket_loop import SocketLoop, SocketLoopError
from kctl.sandbox.socket_wire import SocketWire
from tests.support.bounds import bound

PATIENCE_S = bound(60)


def test_functions_are_carried_out_in_the_thread_and_errors_come_back() -> None:
    loop = SocketLoop("test-loop")
    loop.start()
    names: list[str] = []

    def fail() -> None:
        raise LookupError("inside")

    loop.carry_out(lambda: names.append(threading.current_thread().name))
    loop.carry_out(lambda: loop.carry_out(lambda: names.append("nested")))
    with pytest.raises(LookupError, match="inside"):
        loop.carry_out(fail)
    loop.stop()
    loop.stop()
    assert names == ["test-loop", "nested"]
    assert loop.failures == []
    with pytest.raises(SocketLoopError):
        loop.carry_out(fail)


def test_timers_run_in_order_never_early_and_not_when_cancelled() -> None:
    loop = SocketLoop("test-loop")
    clock = SystemClock()
    ran: list[tuple[str, int]] = []
    done = threading.Event()

    def start() -> None:
        begin_ms = clock.start_ms()
        for name, delay_ms in (("b", 60), ("a", 20), ("cancelled", 30)):
            timer = loop.call_later(delay_ms, lambda name=name: ran.append((name, clock.start_ms() - begin_ms)))  # type: ignore[misc]  # a bound default
        timer.cancel()
        loop.call_later(70, done.set)

    loop.start()
    loop.carry_out(start)
    assert done.wait(PATIENCE_S)
    loop.stop()
    assert [name for name, _ in ran] == ["a", "b"]
    assert all(after_ms >= limit_ms for (_, after_ms), limit_ms in zip(ran, (20, 60), strict=True))


def test_a_mistake_is_kept_and_the_loop_goes_on() -> None:
    loop = SocketLoop("test-loop")
    done = threading.Event()

    def divide() -> None:
        _ = 1 / 0

    def start() -> None:
        loop.call_later(0, divide)
        loop.call_later(1, done.set)

    loop.start()
    loop.carry_out(start)
    assert done.wait(PATIENCE_S)
    loop.stop()
    assert [type(failure) for failure in loop.failures] == [ZeroDivisionError]


def test_a_loop_that_never_started_can_be_stopped() -> None:
    loop = SocketLoop("test-loop")
    loop.stop()
    with pytest.raises(SocketLoopError):
        loop.carry_out(lambda: None)


def test_loop_goes_on_beside_a_timer_that_is_years_ahead() -> None:
    loop = SocketLoop("test-loop")
    ran: list[str] = []

    def start() -> None:
        loop.call_later(2**53, lambda: ran.append("years later"))

    loop.start()
    loop.carry_out(start)
    loop.carry_out(lambda: ran.append("now"))
    loop.stop()
    assert ran == ["now"]


class ClockByHand(SystemClock):
    """Stands still."""

    at_ms = 0

    def now_ms(self) -> int:
        return self.at_ms

    def start_ms(self) -> int:
        return self.at_ms


def test_timer_that_is_due_runs_before_what_has_arrived_since() -> None:
    clock = ClockByHand()
    loop = SocketLoop("test-loop", clock)
    near, far = socket.socketpair()
    ran: list[str] = []
    done = threading.Event()

    def arrived(_: int) -> None:
        ran.append("arrived")
        near.recv(1)
        done.set()

    def start() -> None:
        loop.watch(near, selectors.EVENT_READ, arrived)
        loop.call_later(10, lambda: ran.append("timer"))
        clock.at_ms = 20
        far.send(b"x")

    loop.start()
    loop.carry_out(start)
    assert done.wait(PATIENCE_S)
    loop.carry_out(lambda: loop.watch(near, 0, arrived))
    loop.stop()
    near.close()
    far.close()
    assert ran == ["timer", "arrived"]


def test_client_is_gone_once_it_has_closed_and_all_its_bytes_are_read() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
    loop = SocketLoop("test-loop")
    wire = SocketWire(loop, accepted, lambda _wire: None)

    def is_gone() -> bool:
        return wire.is_gone

    assert not is_gone()
    client.send(b"request")
    client.close()
    assert select.select([accepted], [], [], PATIENCE_S)[0]
    assert not is_gone()
    assert accepted.recv(100) == b"request"
    assert select.select([accepted], [], [], PATIENCE_S)[0]
    assert is_gone()
    accepted.close()
    assert is_gone()
    loop.stop()
