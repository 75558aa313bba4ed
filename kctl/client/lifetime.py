"""Lifetime of clients: effects of fork(), and the warning about clients dropped without close().

A forked child has no network threads. Clients reject calls in it, and selectors close their copies of descriptors,
without effect on the parent.
"""

import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, Never, Protocol, TypeVar
from weakref import finalize, ref

from kctl.client.errors import IllegalStateError

C = TypeVar("C")
R = TypeVar("R")


class Owned(Generic[R]):
    __slots__ = ("__weakref__", "function")

    def __init__(self, function: Callable[[], R]) -> None:
        self.function = function

    def lend(self, name: str) -> Callable[[], R]:
        """Return a function that works only while this object lives.

        The owned function may refer to its client, which threads must not keep alive.

        Args: name: name of the function in the IllegalStateError after the client was dropped.
        """
        own = ref(self)

        def call() -> R:
            owned = own()
            if owned is None:
                raise IllegalStateError(f"cannot call {name}: its client was dropped without close()")
            return owned.function()

        return call


class NotCopied:
    """Base class of clients and their parts. copy and pickle raise TypeError: sockets and threads exist once."""

    __slots__ = ()

    def __reduce__(self) -> Never:
        raise TypeError(f"{type(self).__name__} objects cannot be copied or pickled")


class Forkable(Protocol):
    def _after_fork(self) -> None:
        """Become unusable. It runs on the child's only thread and takes no locks, whose holders do not exist there."""
        ...


_forkable: list[ref[Forkable]] = []
"""A list and not a WeakSet, because Python ignores a KeyboardInterrupt in the callbacks of a WeakSet."""


def follow_forks(forkable: Forkable) -> None:
    """Call `_after_fork` in every forked child, while the object lives."""
    for dropped in [each for each in list(_forkable) if each() is None]:
        with suppress(ValueError):  # another thread was faster
            _forkable.remove(dropped)
    _forkable.append(ref(forkable))


def _after_fork_in_child() -> None:
    for each in list(_forkable):
        forkable = each()
        if forkable is not None:
            forkable._after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork_in_child)


def forked_error(client: str) -> IllegalStateError:
    return IllegalStateError(
        f"the {client} was created before fork() and belongs to the parent process: create another in this process"
    )


def is_normal_end(error: BaseException | None) -> bool:
    """Return whether a block that ended with this exception has completed its work.

    True for None, sys.exit(0), the end of a generator, and `Exit(0)` of click or typer.
    """
    if isinstance(error, SystemExit):
        return error.code is None or error.code == 0
    is_exit = any(each.__name__ == "Exit" for each in type(error).__mro__)
    return error is None or isinstance(error, GeneratorExit) or (is_exit and getattr(error, "exit_code", None) == 0)


def when_dropped(client: C, end: Callable[[], object], part: object, *, has_threads: bool) -> "finalize[..., C]":
    """Call `end` and log a warning if this process drops the client without close().

    close() detaches the returned finalizer. A `__del__` would not do: Python ignores a KeyboardInterrupt in it, and it
    also runs for closed clients.

    Args:
        end: function that must not keep the client alive.
        part: an object of the client; `-X tracemalloc` shows its origin.
        has_threads: if false, `end` is never called.
    """
    finalizer = finalize(client, _end_dropped, type(client).__name__.lstrip("_"), end, part, os.getpid())
    finalizer.atexit = False
    if not has_threads:
        finalizer.detach()
    return finalizer


def _end_dropped(name: str, end: Callable[[], object], part: object, made_in: int) -> None:
    if os.getpid() != made_in:
        return
    end()
    text = f"unclosed {name}: call close(), or use it in a with statement"
    warnings.warn(text, ResourceWarning, stacklevel=3, source=part)
