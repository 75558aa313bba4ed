"""The client's waits and loops in virtual time."""

import pytest

from kctl.client.runtime import Driver
from tests.sim.virtual import Hub, SimDriver


def _fits(driver: SimDriver) -> Driver:
    return driver


def test_a_wait_ends_with_the_notification_or_at_the_deadline_exactly() -> None:
    with Hub() as hub:
        driver = _fits(SimDriver(hub, "c"))
        waiter = driver.waiter()
        ends: list[tuple[int, bool]] = []

        def app() -> None:
            for deadline_at_ms in (100, 150, 150):
                ends.append((driver.wait(waiter, deadline_at_ms), hub.now_ms)[::-1])

        hub.spawn("app", app)
        hub.call_later_ms(40, "loop", waiter.notify)
        hub.run()
        assert ends == [(40, True), (150, False), (150, False)]


def test_a_flag_raised_before_the_wait_is_not_lost() -> None:
    hub = Hub()
    driver = SimDriver(hub, "c")
    waiter = driver.waiter()
    waiter.notify()
    assert driver.wait(waiter, 100)
    assert hub.now_ms == 0
    assert not driver.wait(waiter, 100)
    assert hub.now_ms == 100


def test_a_flag_raised_at_the_very_deadline_counts() -> None:
    hub = Hub()
    driver = SimDriver(hub, "c")
    waiter = driver.waiter()
    hub.call_later_ms(100, "loop", waiter.notify)
    assert driver.wait(waiter, 100)


def test_spawn_and_join() -> None:
    with Hub() as hub:
        driver = SimDriver(hub, "c")
        inside: list[bool] = []

        def loop() -> None:
            inside.append(driver.is_current(task))
            hub.sleep_ms(50)

        task = driver.spawn(loop, "network")
        assert task.is_alive
        assert not driver.join(task, 20)
        assert hub.now_ms == 20
        assert driver.join(task, 90)
        assert (hub.now_ms, inside, task.is_alive) == (50, [True], False)
        assert driver.join(task, 90)
        assert not driver.is_current(task)


def test_two_actors_on_one_waiter_are_refused() -> None:
    with Hub() as hub:
        driver = SimDriver(hub, "c")
        waiter = driver.waiter()
        hub.spawn("a", lambda: driver.wait(waiter, 100))
        hub.spawn("b", lambda: driver.wait(waiter, 100))
        with pytest.raises(RuntimeError, match="two actors wait on one waiter"):
            hub.run()
