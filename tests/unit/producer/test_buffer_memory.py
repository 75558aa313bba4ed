from kctl.client.clock import ManualClock
from kctl.client.producer.buffer_memory import BufferMemory
from kctl.client.seams import Waiter
from tests.unit.producer.records import Flag, NoDriver


class GivingDriver(NoDriver):
    """Gives memory back while the sender waits."""

    def __init__(self, clock: ManualClock, give_bytes: int) -> None:
        super().__init__(clock)
        self.give_bytes = give_bytes
        self.memory: BufferMemory | None = None

    def wait(self, waiter: Waiter, deadline_at_ms: int) -> bool:
        assert self.memory is not None
        assert self.memory.is_awaited
        if self.give_bytes:
            self.memory.give(self.give_bytes)
            self.give_bytes = 0
        return super().wait(waiter, deadline_at_ms)


def full_memory(driver: NoDriver) -> BufferMemory:
    memory = BufferMemory(1000, driver)
    assert memory.try_take(900)
    assert not memory.try_take(101)
    return memory


def test_a_sender_gets_what_is_given_back() -> None:
    clock = ManualClock()
    driver = GivingDriver(clock, 900)
    memory = driver.memory = full_memory(driver)
    assert memory.take(800, 500, lambda: True)
    assert (clock.now_ms(), memory.used_bytes, memory.is_awaited) == (0, 800, False)


def test_a_sender_waits_no_longer_than_its_deadline() -> None:
    clock = ManualClock()
    driver = GivingDriver(clock, 10)
    memory = driver.memory = full_memory(driver)
    assert not memory.take(800, 500, lambda: True)
    assert (clock.now_ms(), memory.used_bytes, memory.is_awaited) == (500, 890, False)


def test_nobody_waits_for_a_loop_that_is_gone() -> None:
    clock = ManualClock()
    memory = full_memory(NoDriver(clock))
    assert not memory.take(800, 500, lambda: False)
    assert clock.now_ms() == 0


def test_all_who_wait_look_again() -> None:
    memory = full_memory(NoDriver(ManualClock()))
    flags = [Flag(), Flag()]
    memory._waiters.extend(flags)
    memory.give(1)
    assert [flag.count for flag in flags] == [1, 1]
