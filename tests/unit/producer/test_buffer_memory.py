from collections.abc import Callable

import pytest

from kctl.client.clock import ManualClock
from kctl.client.producer.buffer_memory import BufferMemory
from kctl.client.runtime import Waiter
from tests.sim.interrupts import Interrupted, each_boundary
from tests.unit.producer.records import Flag, NoDriver


class Claim:
    """Something that takes memory."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.holds_memory = False


class ActingDriver(NoDriver):
    """Does the next of some things each time that a sender waits."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.actions: list[Callable[[], object]] = []

    def wait(self, waiter: Waiter, deadline_at_ms: int) -> bool:
        if self.actions:
            self.actions.pop(0)()
        return super().wait(waiter, deadline_at_ms)


def full_memory(driver: NoDriver) -> BufferMemory:
    """A memory of 1000 bytes with 100 left."""
    memory = BufferMemory(1000, driver)
    assert memory.try_acquire(Claim(900))
    assert not memory.try_acquire(Claim(101))
    return memory


def test_take_waits_until_enough_is_given_back() -> None:
    clock = ManualClock()
    driver = ActingDriver(clock)
    memory = full_memory(driver)
    driver.actions = [lambda: memory.release(100), lambda: memory.release(800)]
    claim = Claim(800)
    assert memory.acquire(claim, 500, lambda: memory.is_awaited)
    assert claim.holds_memory
    assert (clock.now_ms(), memory.used_bytes, memory.is_awaited) == (0, 800, False)


def test_acquire_ends_at_its_deadline_and_withdraw_leaves_the_queue() -> None:
    clock = ManualClock()
    driver = ActingDriver(clock)
    memory = full_memory(driver)
    driver.actions = [lambda: memory.release(10)]
    claim = Claim(800)
    assert not memory.acquire(claim, 500, lambda: True)
    assert (clock.now_ms(), memory.used_bytes, memory.waiting) == (500, 890, 1)
    memory.withdraw(claim)
    assert (claim.holds_memory, memory.used_bytes, memory.waiting) == (False, 890, 0)


def test_take_does_not_wait_for_a_loop_that_has_ended() -> None:
    clock = ManualClock()
    memory = full_memory(NoDriver(clock))
    assert not memory.acquire(Claim(800), 500, lambda: False)
    assert clock.now_ms() == 0


def test_try_acquire_fails_while_a_larger_record_waits() -> None:
    driver = ActingDriver(ManualClock())
    memory = full_memory(driver)
    driver.actions = [lambda: refused.append(memory.try_acquire(Claim(1))), lambda: memory.release(700)]
    refused: list[bool] = []
    assert not memory.acquire(Claim(800), 500, lambda: True)
    assert refused == [False]


def test_senders_get_memory_in_the_order_in_which_they_asked() -> None:
    driver = ActingDriver(ManualClock())
    memory = full_memory(driver)
    small, large = Claim(200), Claim(700)
    order: list[Claim] = []

    def second() -> None:
        """While the large one waits, a small one comes, and more is given back than the small one needs."""
        memory.release(300)
        driver.present_caller = "another thread"
        assert not memory.acquire(small, 0, lambda: True)
        order.append(small)
        memory.release(600)

    driver.actions = [second, lambda: None]
    assert memory.acquire(large, 500, lambda: True)
    assert (small.holds_memory, large.holds_memory, memory.waiting) == (False, True, 1)


def test_release_wakes_the_first_and_withdraw_the_next() -> None:
    driver = NoDriver(ManualClock())
    memory = full_memory(driver)
    first, second = Claim(800), Claim(800)
    for claim in (first, second):
        driver.present_caller = claim
        memory.acquire(claim, 0, lambda: True)
    flags = [waiting.waiter for waiting in memory._queue]
    assert all(isinstance(flag, Flag) for flag in flags)
    memory.release(1)
    assert [getattr(flag, "count", None) for flag in flags] == [1, 0]
    memory.withdraw(first)
    assert [getattr(flag, "count", None) for flag in flags] == [1, 1]
    memory.wake_all()
    assert [getattr(flag, "count", None) for flag in flags] == [1, 2]


def test_withdraw_gives_back_what_is_held_and_only_once() -> None:
    memory = full_memory(NoDriver(ManualClock()))
    claim = Claim(100)
    assert memory.try_acquire(claim)
    memory.withdraw(claim)
    memory.withdraw(claim)
    assert memory.used_bytes == 900


def test_signal_handler_that_sends_takes_the_place_of_the_call_that_it_interrupts() -> None:
    driver = ActingDriver(ManualClock())
    memory = full_memory(driver)
    outer, other, inner = Claim(300), Claim(300), Claim(200)

    def another_thread_comes_then_a_signal() -> None:
        driver.present_caller = "another thread"
        assert not memory.acquire(other, 0, lambda: False)
        driver.present_caller = None
        driver.actions = [lambda: memory.release(200)]
        assert memory.acquire(inner, 400, lambda: True)
        assert (inner.holds_memory, outer.holds_memory) == (True, False)
        driver.actions = [lambda: memory.release(300)]

    driver.actions = [another_thread_comes_then_a_signal]
    assert memory.acquire(outer, 500, lambda: True)
    assert (inner.holds_memory, outer.holds_memory, other.holds_memory, memory.waiting) == (True, True, False, 1)


@pytest.mark.parametrize("name", ["try_acquire", "acquire", "withdraw"])
def test_signal_handlers_find_the_lock_free_at_every_point_where_they_may_run(name: str) -> None:
    locked: list[str | None] = []

    def scene(interrupted: Interrupted) -> None:
        driver = ActingDriver(ManualClock())
        memory = full_memory(driver)
        claim = Claim(100)
        calls: dict[str, Callable[[], object]] = {
            "try_acquire": lambda: memory.try_acquire(claim),
            "acquire": lambda: memory.acquire(claim, 500, lambda: True),
            "withdraw": lambda: memory.withdraw(claim),
        }
        interrupted.handler = lambda: locked.append(interrupted.at) if memory._lock.locked() else None
        interrupted(calls[name])

    assert each_boundary(scene) > 1
    assert locked == []
