"""AwaitedSelector: selector of a client without a network thread; its wait is an await."""

import asyncio

from kctl.client.aio.bridge import await_in_bridge, is_bridged
from kctl.client.clock import Clock
from kctl.client.network.selector import Selector
from kctl.client.runtime import IoEvent, SocketOptions

_LONGEST_MS = 60 * 60 * 1000


class AwaitedSelector(Selector):
    """A selector on epoll or kqueue, whose descriptor an event loop can watch; it blocks outside of a bridge."""

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
        self._await_readable(left_ms)
        return super().poll(0)

    def _await_readable(self, most_ms: int) -> None:
        loop = asyncio.get_running_loop()
        ready = loop.create_future()

        def end() -> None:
            if not ready.done():
                ready.set_result(None)

        loop.add_reader(self.fd, end)
        timer = loop.call_later(min(most_ms, _LONGEST_MS) / 1000, end)
        try:
            await_in_bridge(ready)
        finally:
            timer.cancel()
            loop.remove_reader(self.fd)
