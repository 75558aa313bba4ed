"""IdleExpiryManager: channels whose connect or idle timeout has passed.

It has two maps in order of use, as in KIP-601: `lru_connecting` has the channels that are not ready, each with a
deadline; `lru_connected` has the ready ones, by last use. Each poll evicts all expired channels of both. Does no I/O;
the caller closes the channels.

Differs: Kafka's selector closes at most one idle connection per poll, and its poll does not wait for connect deadlines.
"""

from collections import OrderedDict

from kctl.client.clock import FOREVER_MS


class IdleExpiryManager:
    """Deadlines of all channels of one client."""

    def __init__(self, max_idle_ms: int) -> None:
        """Args: max_idle_ms: connections.max.idle.ms; negative: idle channels stay open."""
        self._max_idle_ms = max_idle_ms if max_idle_ms >= 0 else FOREVER_MS
        self.lru_connecting: OrderedDict[int, int] = OrderedDict()
        """Deadline by channel."""
        self.lru_connected: OrderedDict[int, int] = OrderedDict()
        """Instant of the last use by channel, oldest first."""

    def connecting(self, channel: int, deadline_at_ms: int) -> None:
        """Add a channel that starts to connect."""
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
        """Remove a closed channel."""
        self.lru_connecting.pop(channel, None)
        self.lru_connected.pop(channel, None)

    def evict_connecting(self, now_ms: int) -> list[int]:
        """Remove and return the channels that are not ready by their deadline."""
        expired = [channel for channel, deadline in self.lru_connecting.items() if now_ms >= deadline]
        for channel in expired:
            del self.lru_connecting[channel]
        return expired

    def evict_idle(self, now_ms: int) -> list[int]:
        """Remove and return the connected channels that were not used for connections.max.idle.ms."""
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
