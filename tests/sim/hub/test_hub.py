"""Actors: waits exact to the millisecond, errors that surface, runs that end, callers outside of any actor."""

import builtins
from typing import Any

import pytest

from tests.sim.virtual import Hub, SimulationStuck
from tests.sim.virtual.hub import Pause


def test_actors_sleep_exactly_and_together() -> None:
    log: list[tuple[int, str]] = []
    with Hub() as hub:

        def body(name: str, ms: int) -> None:
            for _ in range(3):
                hub.sleep_ms(ms)
                log.append((hub.now_ms, name))

        hub.spawn("a", lambda: body("a", 10))
        hub.spawn("b", lambda: body("b", 15))
        hub.run()
    assert log == [(10, "a"), (15, "b"), (20, "a"), (30, "b"), (30, "a"), (45, "b")]


def test_an_error_of_an_actor_comes_out_of_run() -> None:
    with Hub() as hub:

        def fail() -> None:
            hub.sleep_ms(5)
            raise LookupError("from the actor")

        hub.spawn("a", fail)
        hub.spawn("b", lambda: hub.sleep_ms(50))
        with pytest.raises(LookupError, match="from the actor"):
            hub.run()
        assert hub.now_ms == 5
        assert list(hub.live_actors) == ["b"]


def test_run_does_not_wait_for_background_actors() -> None:
    with Hub() as hub:
        hub.spawn("loop", lambda: hub.sleep_ms(1_000_000), is_background=True)
        hub.spawn("app", lambda: hub.sleep_ms(20))
        hub.run()
        assert hub.now_ms == 20
        assert list(hub.live_actors) == ["loop"]
    assert not hub.live_actors


def test_run_until_stops_at_that_instant_exactly() -> None:
    seen: list[int] = []
    hub = Hub()
    for at_ms in (10, 20, 21):
        hub.call_later_ms(at_ms, "x", lambda: seen.append(hub.now_ms))
    hub.run(until_ms=20)
    assert seen == [10, 20]
    hub.run(until_ms=20)
    assert hub.now_ms == 20
    hub.run()
    assert seen == [10, 20, 21]


def test_waiting_for_what_can_never_happen_is_named() -> None:
    with Hub() as hub:
        hub.spawn("app", lambda: hub.pause("Godot", 2**80, lambda _: None))
        with pytest.raises(SimulationStuck, match="app waits for Godot"):
            hub.run()


def test_code_outside_of_any_actor_waits_inline() -> None:
    hub = Hub()
    ran: list[int] = []
    hub.call_later_ms(30, "x", lambda: ran.append(hub.now_ms))
    hub.sleep_ms(40)
    assert (hub.now_ms, ran) == (40, [30])
    with pytest.raises(SimulationStuck, match="main waits for news"):
        hub.pause("news", 2**80, lambda _: None)


def test_a_wake_ends_a_pause_at_once_and_its_deadline_no_longer_counts() -> None:
    with Hub() as hub:
        kept: list[Pause] = []
        ends: list[tuple[int, bool]] = []

        def wake_all(pauses: list[Pause]) -> None:
            for pause in pauses:
                pause.wake()

        def wait() -> None:
            ends.append((hub.now_ms, hub.pause("a wake", 90_000, kept.append)))
            ends.append((hub.now_ms, hub.pause("a deadline", 90_000, kept.append)))

        hub.spawn("waiter", wait)
        hub.call_later_ms(30, "waker", lambda: wake_all(kept * 2))
        hub.run()
        assert ends == [(0, True), (30, False)]
        assert hub.now_ms == 90
        assert hub.next_at_us() is None


def test_a_callback_must_not_wait() -> None:
    hub = Hub()
    hub.call_later_ms(1, "x", lambda: hub.sleep_ms(1))
    with pytest.raises(RuntimeError, match="must not wait"):
        hub.run()


def test_closing_runs_finally_blocks() -> None:
    ended: list[str] = []
    with Hub() as hub:

        def body() -> None:
            try:
                hub.sleep_ms(1_000)
            finally:
                ended.append("finally")

        hub.spawn("a", body, is_background=True)
        hub.run(until_ms=1)
    assert ended == ["finally"]


def test_names_are_never_used_twice() -> None:
    hub = Hub()
    assert [hub.unique("c"), hub.unique("c"), hub.unique("d")] == ["c", "c#2", "d"]


def test_without_greenlet_spawn_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def no_greenlet(name: str, *rest: Any) -> Any:
        if name == "greenlet":
            raise ImportError(name)
        return real_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", no_greenlet)
    hub = Hub()
    with pytest.raises(RuntimeError, match="pip install greenlet"):
        hub.spawn("a", lambda: None)
    hub.sleep_ms(5)
    assert hub.now_ms == 5


def test_the_wall_clock_jumps_alone() -> None:
    hub = Hub()
    before = hub.wall_offset_ms
    hub.jump_wall(-60_000)
    assert hub.wall_offset_ms == before - 60_000
    assert hub.now_ms == 0
