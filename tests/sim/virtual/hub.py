"""The hub: one OS thread in which every actor of a simulation lives, and the waits between them.

An actor is a greenlet with a name; it runs until it waits (`Hub.pause`). Code outside any actor may wait too: the hub
then runs inline beneath it, which is exact as long as only one such caller exists. greenlet is imported only when an
actor is spawned. The hub knows nothing of bytes.
"""

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from kctl.client.clock import FOREVER_MS
from tests.sim.virtual.schedule import MS, Entry, Schedule, SimulationStuck

if TYPE_CHECKING:
    from greenlet import greenlet

_FOREVER_US = FOREVER_MS * MS
EPOCH_WALL_MS = 1_700_000_000_000
"""Wall-clock time of a simulation at instant 0, in ms."""


def _greenlet_class() -> "type[greenlet]":
    try:
        from greenlet import greenlet
    except ImportError as error:
        raise RuntimeError("actors in virtual time need greenlet: pip install greenlet (the extra `sim`)") from error
    return greenlet


class Pause:
    """One wait of one actor; ended by `wake`, or by its deadline."""

    __slots__ = ("_hub", "_resume", "_timer", "is_over", "is_woken", "owner", "why")

    def __init__(self, hub: "Hub", owner: str, why: str, resume: Callable[[], None]) -> None:
        self._hub = hub
        self._resume = resume
        self._timer: Entry | None = None
        self.owner = owner
        self.why = why
        self.is_woken = False
        self.is_over = False

    def end_at(self, at_us: int) -> None:
        """End the wait at `at_us` at the latest."""
        self._timer = self._hub.call_at(at_us, self.owner, self._expire)

    def wake(self) -> None:
        """End the wait at this instant, not inside this call. Idempotent."""
        if self.is_woken or self.is_over:
            return
        self.is_woken = True
        if self._timer is not None:
            self._timer.cancel()
        self._hub.call_at(self._hub.now_us, self.owner, self._end)

    def _expire(self) -> None:
        self._end()

    def _end(self) -> None:
        at_us = self._hub.stalled_until_us(self.owner)
        if at_us > self._hub.now_us:
            self._hub.call_at(at_us, self.owner, self._end)
            return
        if self.is_over:
            return  # woken and expired while the process was frozen: continue once
        self.is_over = True
        self._resume()


class Actor:
    """A named greenlet."""

    __slots__ = ("_body", "_done", "_greenlet", "_hub", "is_alive", "is_background", "name", "pause")

    def __init__(self, hub: "Hub", name: str, body: Callable[[], object], *, is_background: bool) -> None:
        self._hub = hub
        self._body = body
        self._greenlet = _greenlet_class()(self._run)
        self._done: list[Pause] = []
        self.name = name
        self.is_alive = True
        self.is_background = is_background
        self.pause: Pause | None = None

    def _run(self) -> None:
        try:
            self._body()
        finally:
            self.is_alive = False
            self._hub.ended(self)
            for pause in self._done:
                pause.wake()

    def resume(self) -> None:
        """Run the actor until it waits or ends; an exception of it comes out here, in the hub."""
        before = self._hub.current
        self._hub.current = self
        self._greenlet.parent = _greenlet_class().getcurrent()
        try:
            self._greenlet.switch()
        finally:
            self._hub.current = before

    def to_hub(self) -> None:
        """Give control back to the hub; returns when resumed."""
        parent = self._greenlet.parent
        if parent is not None:
            parent.switch()

    def wake_when_ended(self, pause: Pause) -> None:
        """End `pause` when this actor ends."""
        self._done.append(pause)

    def kill(self) -> None:
        """End the actor where it waits; its finally blocks run, and may not wait."""
        if self.is_alive:
            self._greenlet.throw()
            self.is_alive = False


class Hub(Schedule):
    """A schedule with actors."""

    def __init__(
        self, seed: int = 0, *, keep_trace: bool = False, max_steps: int = 20_000_000, max_steps_at_once: int = 100_000
    ) -> None:
        super().__init__(seed, keep_trace=keep_trace, max_steps=max_steps, max_steps_at_once=max_steps_at_once)
        self.current: Actor | None = None
        self.wall_offset_ms = EPOCH_WALL_MS
        self._wall_jumps_ms: dict[str, int] = {}
        self._actors: list[Actor] = []
        self._names: dict[str, int] = {}
        self._stalled_until_us: dict[str, int] = {}
        self._is_inside_step = False
        self._is_closed = False

    # --- clocks -----------------------------------------------------------------------------------------------------

    @property
    def now_ms(self) -> int:
        """The present in milliseconds, rounded down."""
        return self.now_us // MS

    def jump_wall(self, ms: int, process: str = "") -> None:
        """Move the wall clock alone, as an operator or NTP does: of all machines, or of the one of that process."""
        if process:
            self._wall_jumps_ms[process] = self._wall_jumps_ms.get(process, 0) + ms
        else:
            self.wall_offset_ms += ms

    def wall_ms(self, process: str = "") -> int:
        """Return what the wall clock of that process shows."""
        return self.now_ms + self.wall_offset_ms + self._wall_jumps_ms.get(process, 0)

    # --- frozen processes ---------------------------------------------------------------------------------------------

    def stall(self, process: str, ms: int) -> None:
        """Let no wait of that process end for so long; its actors are `process` and `process.something`."""
        self._stalled_until_us[process] = max(self.now_us + ms * MS, self._stalled_until_us.get(process, 0))

    def stalled_until_us(self, owner: str) -> int:
        """Return the time until which the process of an actor is frozen; a past time means that it is not."""
        if not self._stalled_until_us:
            return 0
        process = owner.split(".")[0].split("#")[0]
        return self._stalled_until_us.get(process, 0)

    # --- actors -----------------------------------------------------------------------------------------------------

    def unique(self, name: str) -> str:
        """Return `name`, with a number behind it from its second use on."""
        count = self._names[name] = self._names.get(name, 0) + 1
        return name if count == 1 else f"{name}#{count}"

    def spawn(self, name: str, body: Callable[[], object], *, is_background: bool = False) -> Actor:
        """Start an actor at this instant, not inside this call; `run` does not wait for background ones.

        Raises:
            RuntimeError: greenlet is not installed.
        """
        actor = Actor(self, self.unique(name), body, is_background=is_background)
        self._actors.append(actor)
        self.call_at(self.now_us, actor.name, actor.resume)
        return actor

    def ended(self, actor: Actor) -> None:
        """Take note that `actor` has ended."""
        self._actors.remove(actor)

    @property
    def live_actors(self) -> tuple[str, ...]:
        """The names of all actors that have not ended, background ones too."""
        return tuple(actor.name for actor in self._actors)

    # --- waiting ----------------------------------------------------------------------------------------------------

    def pause(self, why: str, at_us: int, start: Callable[[Pause], None]) -> bool:
        """Wait until the pause is woken or the instant `at_us` has come. Return whether it was woken.

        Args:
            why: reason, shown if nothing can happen any more.
            at_us: deadline; the present first runs everything that is due at this instant.
            start: gets the pause before the wait, to pass it to the code that wakes it.
        Raises:
            SimulationStuck: nothing is left that could end the wait.
        """
        if self._is_closed:
            raise SimulationStuck(f"the simulation is over; nobody can wait for {why} any more")
        actor = self.current
        if actor is None:
            return self._pause_inline(why, at_us, start)
        pause = Pause(self, actor.name, why, actor.resume)
        self._begin(pause, at_us, start)
        actor.pause = pause
        actor.to_hub()
        actor.pause = None
        return pause.is_woken

    def _begin(self, pause: Pause, at_us: int, start: Callable[[Pause], None]) -> None:
        if at_us < _FOREVER_US:
            pause.end_at(at_us)
        start(pause)

    def _pause_inline(self, why: str, at_us: int, start: Callable[[Pause], None]) -> bool:
        if self._is_inside_step:
            raise RuntimeError(f"a callback of the simulation must not wait ({why}); spawn an actor")
        pause = Pause(self, "main", why, _nothing)
        self._begin(pause, at_us, start)
        while not pause.is_over:
            if not self.step():
                raise SimulationStuck(f"main waits for {why} at {self.now_us} us{self._who_waits()}")
        return pause.is_woken

    def sleep_ms(self, ms: int) -> None:
        """Let `ms` milliseconds of virtual time pass for the caller."""
        self.pause(f"{ms} ms to pass", self.now_us + ms * MS, _ignore)

    # --- running ----------------------------------------------------------------------------------------------------

    def step(self) -> bool:
        self._is_inside_step = True
        try:
            return super().step()
        finally:
            self._is_inside_step = False

    def run(self, until_ms: int | None = None) -> None:
        """Run until every foreground actor has ended; without any, until nothing is left to happen.

        Args:
            until_ms: stop at this instant instead, after everything due then.
        Raises:
            SimulationStuck: actors wait for something that can never happen.
            Exception: any exception of an actor.
        """
        if self._is_inside_step:
            raise RuntimeError("run() inside the simulation: only the code outside of it can run it")
        had_actors = self._has_foreground()
        while until_ms is not None or not had_actors or self._has_foreground():
            at_us = self.next_at_us()
            if until_ms is not None and (at_us is None or at_us > until_ms * MS):
                self.now_us = max(self.now_us, until_ms * MS)
                return
            if not self.step():
                break
        if self._has_foreground():
            raise SimulationStuck(f"nothing is left to happen at {self.now_us} us{self._who_waits()}")

    def _has_foreground(self) -> bool:
        return any(not actor.is_background for actor in self._actors)

    def _who_waits(self) -> str:
        waits = [f"{actor.name} waits for {actor.pause.why}" for actor in self._actors if actor.pause is not None]
        return f" ({'; '.join(waits)})" if waits else ""

    def close(self) -> None:
        """End every actor that still lives. Idempotent."""
        self._is_closed = True
        for actor in list(self._actors):
            actor.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _nothing() -> None:
    """Resume an inline wait: its loop looks at the pause itself."""


def _ignore(_: Pause) -> None:
    """Wake a pause by nothing but its deadline."""
