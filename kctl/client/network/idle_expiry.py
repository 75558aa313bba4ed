"""IdleExpiryManager: finds channels whose setup or idle timeout has passed. No I/O; the caller closes the channels.

As in KIP-601, `lru_connecting` has the deadlines of channels that are not ready, and `lru_connected` the last uses of
ready channels. A heap orders the deadlines, including outdated ones.

Differs: each poll evicts all expired channels, Kafka's selector at most one; Kafka's poll does not wait for setup
    deadlines.
"""

from collections import OrderedDict
from heapq import heappop, heappush

from kctl.client.clock import FOREVER_MS


class IdleExpiryManager:
    """Deadlines of all channels of one client. Args: max_idle_ms: idle timeout; negative for none."""

    def __init__(self, max_idle_ms: int) -> None:
        self._max_idle_ms = max_idle_ms if max_idle_ms >= 0 else FOREVER_MS
        self.lru_connecting: dict[int, int] = {}
        """Setup deadline by channel."""
        self._deadlines: list[tuple[int, int]] = []
        """Heap of the deadlines in `lru_connecting`, each with its channel."""
        self.lru_connected: OrderedDict[int, int] = OrderedDict()
        """Time of the last use by channel, oldest first."""

    def connecting(self, channel: int, deadline_at_ms: int) -> None:
        self.lru_connecting[channel] = deadline_at_ms
        heappush(self._deadlines, (deadline_at_ms, channel))

    def connected(self, channel: int, now_ms: int) -> None:
        del self.lru_connecting[channel]
        self.lru_connected[channel] = now_ms

    def used(self, channel: int, now_ms: int) -> None:
        if channel in self.lru_connected:
            self.lru_connected[channel] = now_ms
            self.lru_connected.move_to_end(channel)

    def forget(self, channel: int) -> None:
        self.lru_connecting.pop(channel, None)
        self.lru_connected.pop(channel, None)

    def evict_connecting(self, now_ms: int) -> list[int]:
        expired = []
        while self._next_connecting_at_ms() <= now_ms:
            _, channel = heappop(self._deadlines)
            del self.lru_connecting[channel]
            expired.append(channel)
        return expired

    def _next_connecting_at_ms(self) -> int:
        deadlines = self._deadlines
        while deadlines and deadlines[0][1] not in self.lru_connecting:
            heappop(deadlines)
        return deadlines[0][0] if deadlines else FOREVER_MS

    def evict_idle(self, now_ms: int) -> list[int]:
        expired = []
        for channel, used_at_ms in self.lru_connected.items():
            if now_ms - used_at_ms < self._max_idle_ms:
                break
            expired.append(channel)
        for channel in expired:
            del self.lru_connected[channel]
        return expired

    def next_deadline_at_ms(self) -> int:
        nearest_ms = self._next_connecting_at_ms() if self._deadlines else FOREVER_MS
        for used_at_ms in self.lru_connected.values():
            return min(nearest_ms, used_at_ms + self._max_idle_ms)
        return nearest_ms
