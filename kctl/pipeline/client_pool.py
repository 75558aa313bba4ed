"""Pool of idle clients, so that a Python worker connects once and not for each micro-batch.

Tasks return a client if they succeeded or stopped reading early.
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
"""Maximum number of idle clients. A task uses one, and a worker seldom uses more clusters."""
Key = tuple[tuple[str, str], ...]


class Client(Protocol):
    """A consumer or a producer."""

    def close(self, timeout: float | None = None) -> Any:
        """Close the client."""


C = TypeVar("C", bound=Client)


class ClientPool(Generic[C]):
    """Idle clients by their properties, for use by one thread."""

    def __init__(self) -> None:
        self._idle: OrderedDict[Key, C] = OrderedDict()
        self._pid = os.getpid()

    def acquire(self, properties: Properties, make: Callable[[], C]) -> C:
        if self._pid != os.getpid():  # a forked process must not use its parent's connections
            self._idle.clear()
            self._pid = os.getpid()
        return self._idle.pop(_key(properties), None) or make()

    def release(self, properties: Properties, client: C) -> None:
        """Store an idle client. A full pool closes its oldest client."""
        key = _key(properties)
        for extra in [self._idle.pop(key, None), self._oldest() if len(self._idle) >= MOST_IDLE else None]:
            if extra is not None:
                extra.close(0)
        self._idle[key] = client

    def _oldest(self) -> C:
        return self._idle.popitem(last=False)[1]

    def close(self) -> None:
        while self._idle:
            self._oldest().close(0)


def _key(properties: Properties) -> Key:
    return tuple(sorted((name, str(value)) for name, value in properties.items()))


TASK_CONSUMERS: "Final[ClientPool[Consumer]]" = ClientPool()
TASK_PRODUCERS: "Final[ClientPool[Producer]]" = ClientPool()
"""Idle producers of this worker."""
