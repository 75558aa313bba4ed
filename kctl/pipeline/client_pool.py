"""Idle clients of this process, for its next task: connecting, TLS and SASL are done once, not for each micro-batch.

Spark uses a Python worker for many tasks, one after the other, and ends it after a minute without any; its clients end
with it. Only a client whose task succeeded, or stopped reading early, is kept.
"""

import os
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from kctl.pipeline.ranges import Properties

if TYPE_CHECKING:
    from kctl.client.consumer import Consumer
    from kctl.client.producer import Producer

MOST_IDLE: Final = 4
"""Clients kept: a task uses one, and a worker seldom uses more clusters."""
Key = tuple[tuple[str, str], ...]


class Client(Protocol):
    """A consumer or a producer."""

    def close(self, timeout: float | None = None) -> Any:
        """End it."""


C = TypeVar("C", bound=Client)


class ClientPool(Generic[C]):
    """Clients by their properties; for one thread, as a task is."""

    def __init__(self) -> None:
        self._idle: OrderedDict[Key, C] = OrderedDict()
        self._pid = os.getpid()

    def acquire(self, properties: Properties, make: Callable[[], C]) -> C:
        """Return an idle client with these properties, or what `make` returns."""
        if self._pid != os.getpid():  # a fork has none of its parent's connections
            self._idle.clear()
            self._pid = os.getpid()
        return self._idle.pop(_key(properties), None) or make()

    def release(self, properties: Properties, client: C) -> None:
        """Keep a client that has nothing under way; where they are many, the one that was idle longest is closed."""
        key = _key(properties)
        for extra in [self._idle.pop(key, None), self._oldest() if len(self._idle) >= MOST_IDLE else None]:
            if extra is not None:
                extra.close(0)
        self._idle[key] = client

    def _oldest(self) -> C:
        return self._idle.popitem(last=False)[1]

    def close(self) -> None:
        """Close what is idle."""
        while self._idle:
            self._oldest().close(0)


def _key(properties: Properties) -> Key:
    return tuple(sorted((name, str(value)) for name, value in properties.items()))


TASK_CONSUMERS: "Final[ClientPool[Consumer]]" = ClientPool()
TASK_PRODUCERS: "Final[ClientPool[Producer]]" = ClientPool()
"""Of the tasks of this worker."""
