"""OneUser: restricts a consumer to one thread at a time.

A listener, callback, or signal handler may call the consumer during a call on its thread. There is no lock, because a
KeyboardInterrupt could leave it held.
"""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from kctl.client.errors import ConcurrentModificationError
from kctl.client.lifetime import follow_forks, forked_error
from kctl.client.runtime import Driver

_USER = "user"


class OneUser:
    """Current user of the consumer.

    Source: Java's `KafkaConsumer.acquire`, which raises ConcurrentModificationException.
    """

    __slots__ = ("__weakref__", "caller", "held_by", "is_forked")

    def __init__(self, driver: Driver) -> None:
        self.caller: Callable[[], object] = driver.caller
        self.is_forked = False
        self.held_by: dict[str, object] = {}
        """User under one key, or empty. `dict.setdefault` atomically decides which thread becomes the user."""
        follow_forks(self)

    @property
    def user(self) -> object:
        return self.held_by.get(_USER)

    @user.setter
    def user(self, user: object) -> None:
        if user is None:
            self.held_by.clear()
        else:
            self.held_by[_USER] = user

    def _after_fork(self) -> None:
        """Let every guarded call in the forked process raise."""
        self.is_forked = True
        self.caller = self.refuse

    def refuse(self) -> object:
        raise forked_error("consumer")


class HasOneUser(Protocol):
    _one_user: OneUser


C = TypeVar("C", bound=HasOneUser)
P = ParamSpec("P")
R = TypeVar("R")


def for_one_user(method: Callable[Concatenate[C, P], R]) -> Callable[Concatenate[C, P], R]:
    """Let a method raise ConcurrentModificationError while another thread runs a guarded method."""

    @wraps(method)
    def guarded(self: C, /, *args: P.args, **kwargs: P.kwargs) -> R:
        one_user = self._one_user
        held_by = one_user.held_by
        me = one_user.caller()
        if held_by.get(_USER) == me:
            return method(self, *args, **kwargs)
        try:
            if held_by.setdefault(_USER, me) != me:
                call = method.__name__.lstrip("_")  # poll() guards only _poll()
                text = f"{call}() failed: another thread is using the consumer. Other threads can only call wakeup()"
                raise ConcurrentModificationError(text)
            return method(self, *args, **kwargs)
        finally:
            if held_by.get(_USER) == me:
                held_by.clear()

    return guarded
