"""Clients that outlive their use: what a fork() does to them, and the warning about one dropped without close().

A forked child has the parent's objects and descriptors but none of its threads. There every client refuses its calls,
and the selectors close their copies of the descriptors, which the parent and its brokers do not notice. Knows no
client. Shown by tests/loopback/test_fork.py and tests/loopback/test_dropped_clients.py.
"""

import os
import warnings
from typing import Protocol
from weakref import WeakSet

from kctl.client.errors import IllegalStateError


class Forkable(Protocol):
    """What takes part in a fork()."""

    def _after_fork(self) -> None:
        """Become unusable; called in the child, on its only thread. Must take no lock: its holder does not exist."""
        ...


_forkable: WeakSet[Forkable] = WeakSet()


def follow_forks(forkable: Forkable) -> None:
    """Call `_after_fork` of the object in every child that this process forks while the object lives."""
    _forkable.add(forkable)


def _after_fork_in_child() -> None:
    for each in list(_forkable):
        each._after_fork()


if hasattr(os, "register_at_fork"):  # Windows has no fork()
    os.register_at_fork(after_in_child=_after_fork_in_child)


def forked_error(client: str) -> IllegalStateError:
    """Return the error of every call in a forked child; `client` is producer, consumer or admin client."""
    return IllegalStateError(
        f"this {client} was created before fork() and belongs to the parent process; create one in this process"
    )


def warn_unclosed(client: object) -> None:
    """Warn that a client was dropped without close(), as sockets and files do; `-X tracemalloc` shows where it is from.

    Source: ResourceWarning in the Python library reference.
    """
    text = f"unclosed {type(client).__name__}: call close(), or use it in a with statement"
    warnings.warn(text, ResourceWarning, stacklevel=2, source=client)
