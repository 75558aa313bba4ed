"""IdleExpiryManager: which channels have outstayed their timeout, those still connecting and those idle.

Two maps in order of use, as KIP-601 has them: `lru_connecting` holds each channel until it is ready, under its own
deadline; then it moves to `lru_connected`, ordered by last use. Each poll evicts *every* expired one of both. No I/O;
the caller closes what is returned.

Differs: Kafka's selector closes at most one idle connection a poll, and its connect deadlines live elsewhere and are
not part of the poll's wait.
"""

from collections import OrderedDict

from kctl.client.clock import FOREVER_MS


class IdleExpiryManager:
    """Deadlines of all channels of one client."""

    def __init__(self, max_idle_ms: int) -> None:
        """`max_idle_ms`: connections.max.idle.ms; negative means that idle channels stay."""
        self._max_idle_ms = max_idle_ms if max_idle_ms >= 0 else FOREVER_MS
        self.lru_connecting: OrderedDict[int, int] = OrderedDict()
        """Channel to the instant by which it has to be ready."""
        self.lru_connected: OrderedDict[int, int] = OrderedDict()
        """Channel to the instant of its last use, least recent first."""

    def connecting(self, channel: int, deadline_at_ms: int) -> None:
        """Watch a channel that starts to connect."""
        self.lru_connecting[channel] = deadline_at_ms

    def connected(self, channel: int, now_ms: int) -> None:
        """Move a channel that became ready to the other map."""
        del self.lru_connecting[channel]
        self.lru_connected[channel] = now_ms

    def used(self, channel: int, now_ms: int) -> None:
        """Note traffic on a connected channel."""
        if channel in self.lru_connected:
            self.lru_connected[channel] = now_ms
            self.lru_connected.move_to_end(channel)

    def forget(self, channel: int) -> None:
        """Stop watching a channel that is gone."""
        self.lru_connecting.pop(channel, None)
        self.lru_connected.pop(channel, None)

    def evict_connecting(self, now_ms: int) -> list[int]:
        """Remove and return every channel that is not ready by its deadline."""
        expired = [channel for channel, deadline in self.lru_connecting.items() if now_ms >= deadline]
        for channel in expired:
            del self.lru_connecting[channel]
        return expired

    def evict_idle(self, now_ms: int) -> list[int]:
        """Remove and return every connected channel that was not used for connections.max.idle.ms."""
        expired = []
        for channel, used_at_ms in self.lru_connected.items():
            if now_ms - used_at_ms < self._max_idle_ms:
                break
            expired.append(channel)
        for channel in expired:
            del self.lru_connected[channel]
        return expired

    def next_deadline_at_ms(self) -> int:
        """Return the instant at which the first channel of either map expires."""
        nearest = min(self.lru_connecting.values(), default=FOREVER_MS)
        for used_at_ms in self.lru_connected.values():
            return min(nearest, used_at_ms + self._max_idle_ms)
        return nearest
