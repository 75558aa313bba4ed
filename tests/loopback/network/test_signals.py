"""The flag that threads wait on may be raised by a signal handler, wherever its own thread is at that moment."""

import subprocess
import sys
import threading
from types import FrameType
from typing import Any

from kctl.client.clock import SystemClock
from kctl.client.network.system import ThreadDriver, ThreadWaiter
from tests.support.bounds import bound

PATIENCE_S = bound(60)
STRESS = """
import signal, sys
from kctl.client import Consumer
from kctl.client.errors import WakeupError

consumer = Consumer({"bootstrap.servers": "127.0.0.1:9", "auto.offset.reset": "earliest"})
consumer.assign([("t", 0)])

def handler(*_):
    consumer.wakeup()
    signal.setitimer(signal.ITIMER_REAL, 0.0002)

signal.signal(signal.SIGALRM, handler)
handler()
woken = 0
for _ in range(5000):
    try:
        consumer.poll(0.01)
    except WakeupError:
        woken += 1
signal.signal(signal.SIGALRM, signal.SIG_IGN)
consumer.close()
assert woken > 1000, woken
"""
"""The main thread polls and each signal wakes it; a poll ends in a moment, so that most of it is no waiting."""


def _ignore(_: object) -> None:
    pass


class Handler:
    """Raises the flag at the instruction of that number of a wait, as a signal handler would."""

    def __init__(self, waiter: ThreadWaiter, number: int) -> None:
        self._waiter = waiter
        self._left = number

    def __call__(self, frame: FrameType, event: str, _: Any) -> "Handler":
        frame.f_trace_opcodes = True
        if event == "opcode":
            self._left -= 1
            if self._left == 0:
                sys.settrace(None)
                self._waiter.notify()
        return self

    @property
    def was_called(self) -> bool:
        return self._left <= 0


def test_signal_handler_may_notify_at_every_point_of_a_wait() -> None:
    clock = SystemClock()
    driver = ThreadDriver(clock)
    waits: list[int] = []

    def wait_often() -> None:
        number = 0
        while True:
            number += 1
            waiter = driver.waiter()
            handler = Handler(waiter, number)
            sys.settrace(handler)
            driver.wait(waiter, clock.now_ms() + 2)
            sys.settrace(None)
            if not handler.was_called:
                return
            waits.append(number)

    thread = threading.Thread(target=wait_often, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive(), f"it waits for itself at instruction {len(waits) + 1}"
    assert len(waits) > 10


def test_interrupted_join_is_finished_by_the_next_one() -> None:
    driver = ThreadDriver(SystemClock())
    go = driver.waiter()
    task = driver.spawn(lambda: _ignore(driver.wait(go, 2**40)), "test-system")
    assert not driver.join(task, 0)
    go.notify()
    assert driver.wait(task.ended, 2**40)  # the flag is lowered, and then the join is interrupted
    assert driver.join(task, 2**40)
    assert driver.join(task, 0)


def test_wakeup_in_signal_handlers_never_blocks_the_poll_that_it_interrupts() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STRESS], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
