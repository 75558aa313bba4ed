"""AwaitedSelector: selector of a client without a network thread, which awaits instead of blocking."""

import asyncio

from kctl.client.aio.bridge import is_bridged
from kctl.client.aio.waits import await_descriptor
from kctl.client.clock import Clock
from kctl.client.network.selector import Selector
from kctl.client.runtime import IoEvent, SocketOptions


class AwaitedSelector(Selector):
    """A selector on epoll or kqueue, whose descriptor an event loop can watch. Outside of a bridge, it blocks."""

    def __init__(self, options: SocketOptions, clock: Clock) -> None:
        super().__init__(options)
        self._now_ms = clock.now_ms

    def poll(self, until_ms: int) -> list[IoEvent]:
        if not is_bridged():
            return super().poll(until_ms)
        events = super().poll(0)
        left_ms = until_ms - self._now_ms()
        if events or self.was_woken or left_ms <= 0:
            return events
        await_descriptor(self.fd, asyncio.get_running_loop().time() + left_ms / 1000)
        return super().poll(0)
