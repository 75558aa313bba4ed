"""Idle consumers of this process, for its next task: connecting, TLS and SASL are done once, not for each micro-batch.

Spark uses a Python worker for many tasks, one after the other, and ends it after a minute without any; its consumers
end with it. Only what has read its range well is kept.
Shown by tests/sim/pipeline/test_consumer_pool.py.
"""

import os
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from kctl.client.consumer.consumer import Consumer
from kctl.pipeline.ranges import Properties

MOST_IDLE: Final = 4
"""Consumers kept: a task uses one, and a worker seldom reads from more clusters."""
Key = tuple[tuple[str, str], ...]


class ConsumerPool:
    """Consumers by their properties; for one thread, as a task is."""

    def __init__(self) -> None:
        self._idle: OrderedDict[Key, Consumer] = OrderedDict()
        self._pid = os.getpid()

    def acquire(self, properties: Properties, make: Callable[[], Consumer]) -> Consumer:
        """Return an idle consumer with these properties, or what `make` returns."""
        if self._pid != os.getpid():  # a fork has none of its parent's connections
            self._idle.clear()
            self._pid = os.getpid()
        return self._idle.pop(_key(properties), None) or make()

    def release(self, properties: Properties, consumer: Consumer) -> None:
        """Keep a consumer that reads nothing any more; the one that was idle longest is closed where they are many."""
        consumer.assign([])
        key = _key(properties)
        for extra in [self._idle.pop(key, None), self._oldest() if len(self._idle) >= MOST_IDLE else None]:
            if extra is not None:
                extra.close(0)
        self._idle[key] = consumer

    def _oldest(self) -> Consumer:
        return self._idle.popitem(last=False)[1]

    def close(self) -> None:
        """Close what is idle."""
        while self._idle:
            self._oldest().close(0)


def _key(properties: Properties) -> Key:
    return tuple(sorted((name, str(value)) for name, value in properties.items()))


TASK_CONSUMERS: Final = ConsumerPool()
"""Of the tasks of this worker."""
