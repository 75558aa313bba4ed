"""SimDriver: the client's loops as actors, its waits as pauses of the hub.

It fits `kctl.client.runtime.Driver` by shape. No lock and no thread: exactly one actor runs at a time, so clear, look,
wait is atomic here as it is with a condition variable.
"""

from collections.abc import Callable

from kctl.client.runtime import Task, Waiter
from tests.sim.virtual.hub import Actor, Hub, Pause
from tests.sim.virtual.schedule import MS


class SimWaiter:
    """A flag that one actor waits on and others raise."""

    __slots__ = ("is_up", "pause")

    def __init__(self) -> None:
        self.is_up = False
        self.pause: Pause | None = None

    def notify(self) -> None:
        """Raise the flag."""
        self.is_up = True
        if self.pause is not None:
            self.pause.wake()


class SimTask:
    """A spawned loop."""

    __slots__ = ("actor",)

    def __init__(self, actor: Actor) -> None:
        self.actor = actor

    @property
    def is_alive(self) -> bool:
        return self.actor.is_alive


class SimDriver:
    """Driver that runs loops in parallel to the application, one at a time."""

    def __init__(self, hub: Hub, name: str) -> None:
        self._hub = hub
        self._name = name

    def waiter(self) -> SimWaiter:
        """Return a new flag, lowered."""
        return SimWaiter()

    def wait(self, waiter: Waiter, deadline_at_ms: int) -> bool:
        """Wait until the flag is up or the deadline; lower it and return whether it was up."""
        if not isinstance(waiter, SimWaiter):
            raise TypeError(f"{waiter!r} is not a waiter of this driver")
        if not waiter.is_up and deadline_at_ms * MS > self._hub.now_us:
            if waiter.pause is not None:
                raise RuntimeError("two actors wait on one waiter")

            def begin(pause: Pause) -> None:
                waiter.pause = pause

            try:
                self._hub.pause("a notification", deadline_at_ms * MS, begin)
            finally:
                waiter.pause = None
        was_up = waiter.is_up
        waiter.is_up = False
        return was_up

    def spawn(self, loop: Callable[[], None], name: str) -> SimTask:
        """Run `loop` to its end in parallel to the caller.

        Raises:
            RuntimeError: greenlet is not installed.
        """
        return SimTask(self._hub.spawn(f"{self._name}.{name}", loop, is_background=True))

    def join(self, task: Task, deadline_at_ms: int) -> bool:
        """Wait until the task has ended or the deadline; return whether it has ended."""
        if not isinstance(task, SimTask):
            raise TypeError(f"{task!r} is not a task of this driver")
        if task.is_alive and deadline_at_ms * MS > self._hub.now_us:
            self._hub.pause(f"the end of {task.actor.name}", deadline_at_ms * MS, task.actor.wake_when_ended)
        return not task.is_alive

    def is_current(self, task: Task) -> bool:
        """Return whether the caller is running inside that task."""
        return isinstance(task, SimTask) and self._hub.current is task.actor

    def caller(self) -> object:
        """Return the actor that runs, which is None outside of the hub."""
        return self._hub.current
