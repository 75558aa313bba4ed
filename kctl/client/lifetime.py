"""Clients that outlive their use: what a fork() does to them, and the warning about one dropped without close().

A forked child has the parent's objects and descriptors but none of its threads. There every client refuses its calls,
and the selectors close their copies of the descriptors, which the parent and its brokers do not notice. Knows no
client.
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
    """A function of the application as its client has it; the client's threads have what `lend` returns."""

    __slots__ = ("__weakref__", "function")

    def __init__(self, function: Callable[[], R]) -> None:
        self.function = function

    def lend(self, name: str) -> Callable[[], R]:
        """Return a function that ends with this one: threads must not keep alive a client that it refers to.

        Args: name: of the function, for the IllegalStateError of a call after the client was dropped.
        """
        own = ref(self)

        def call() -> R:
            owned = own()
            if owned is None:
                raise IllegalStateError(f"{name} ended with its client, which was dropped without close()")
            return owned.function()

        return call


class NotCopied:
    """A client or a part of one: copy and pickle refuse it, because its sockets and its thread exist once."""

    __slots__ = ()

    def __reduce__(self) -> Never:
        """Raise: there is no second one."""
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled")


class Forkable(Protocol):
    """What takes part in a fork()."""

    def _after_fork(self) -> None:
        """Become unusable; called in the child, on its only thread. Must take no lock: its holder does not exist."""
        ...


_forkable: list[ref[Forkable]] = []
"""No WeakSet, which has a callback for each: Python prints a KeyboardInterrupt in one, and ends nothing."""


def follow_forks(forkable: Forkable) -> None:
    """Call `_after_fork` of the object in every child that this process forks while the object lives."""
    for dropped in [each for each in list(_forkable) if each() is None]:
        with suppress(ValueError):  # another thread was faster
            _forkable.remove(dropped)
    _forkable.append(ref(forkable))


def _after_fork_in_child() -> None:
    for each in list(_forkable):
        forkable = each()
        if forkable is not None:
            forkable._after_fork()


if hasattr(os, "register_at_fork"):  # Windows has no fork()
    os.register_at_fork(after_in_child=_after_fork_in_child)


def forked_error(client: str) -> IllegalStateError:
    """Return the error of every call in a forked child; `client` is producer, consumer or admin client."""
    return IllegalStateError(
        f"this {client} was created before fork() and belongs to the parent process; create one in this process"
    )


def is_normal_end(error: BaseException | None) -> bool:
    """Return whether a block that ends with this exception has done its work.

    That is sys.exit(0), the end of a generator, and `Exit(0)` of click or typer, which is known by its name.
    """
    if isinstance(error, SystemExit):
        return error.code is None or error.code == 0
    is_exit = any(each.__name__ == "Exit" for each in type(error).__mro__)
    return error is None or isinstance(error, GeneratorExit) or (is_exit and getattr(error, "exit_code", None) == 0)


def when_dropped(client: C, end: Callable[[], object], part: object, *, has_threads: bool) -> "finalize[..., C]":
    """Call `end` and warn if this process drops the client without close(), which detaches what is returned here.

    Not `__del__`, which runs for closed clients, too: Python prints a KeyboardInterrupt raised in it, and ends nothing.

    Args:
        end: must not keep the client alive.
        part: something the client made; `-X tracemalloc` shows where, as the client itself no longer exists.
        has_threads: whether loops run on when it is dropped; otherwise nothing is called.
    Source: ResourceWarning in the Python library reference.
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
