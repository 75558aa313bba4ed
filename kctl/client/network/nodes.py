"""NodeEntry: one node of a client with its connection. NodeAttempt: one attempt to connect to a node.

An attempt includes the name lookup and all addresses of the name, with one deadline.
"""

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import Node
from kctl.client.errors import KafkaError
from kctl.client.network.connection import Connection
from kctl.client.network.races import SHORTEST_SILENCE_MS, AddressRace
from kctl.client.runtime import Address, Lookup


class NodeAttempt:
    def __init__(
        self,
        lookup: Lookup,
        reading: Lookup | None,
        *,
        number: int,
        started_at_ms: int,
        deadline_at_ms: int,
        limit_ms: int,
        delay_ms: int,
        longest_delay_ms: int,
    ) -> None:
        """Args:
        reading: task that gets certificates or a token, if any; it must also end.
        delay_ms: time after which the next address is tried; also the first wait for a silent node.
        longest_delay_ms: maximum wait between two further connections to a silent node.
        """
        self.number = number
        self.limit_ms = limit_ms
        self.started_at_ms = started_at_ms
        self.deadline_at_ms = deadline_at_ms
        self.connecting: dict[int, Connection] = {}
        """Running connections by channel."""
        self.last_error: KafkaError | None = None
        self._delay_ms = delay_ms
        self._longest_delay_ms = longest_delay_ms
        self._second: Connection | None = None
        """Connection that was opened because all others are silent."""
        self._lookup: Lookup | None = lookup
        self._reading = reading
        self._race: AddressRace | None = None

    @property
    def is_resolving(self) -> bool:
        return self._race is None

    @property
    def is_reading(self) -> bool:
        """Whether the lookup has ended, but certificates or a token are still missing."""
        return self._lookup is not None and self._lookup.done and self._reading is not None and not self._reading.done

    def ended_lookup(self) -> Lookup | None:
        """Return the lookup once, after it has ended and certificates or the token are read. Return None before and
        later.
        """
        if self._lookup is None or not self._lookup.done or not (self._reading is None or self._reading.done):
            return None
        lookup, self._lookup = self._lookup, None
        return lookup

    def resolved(self, addresses: list[Address], now_ms: int) -> None:
        self._race = AddressRace(addresses, self._delay_ms, now_ms, longest_ms=self._longest_delay_ms)

    def pop_due(self, now_ms: int) -> Address | None:
        return None if self._race is None else self._race.pop_due(now_ms)

    def _again_at_ms(self) -> int:
        """Return when to open another connection: after a while without a byte or a connection by TCP."""
        progress = [connection.progress for connection in self.connecting.values()]
        if self._race is None or not progress or any(each.has_heard for each in progress):
            return FOREVER_MS
        silent_since_ms = max(each.phase_started_at_ms for each in progress)
        return max(self._race.again_at_ms, silent_since_ms + max(self._delay_ms, SHORTEST_SILENCE_MS))

    def pop_again(self, now_ms: int) -> Address | None:
        return None if self._race is None or now_ms < self._again_at_ms() else self._race.pop_again(now_ms)

    def replace_second(self, connection: Connection) -> Connection | None:
        """Store the further connection to a silent node; return the connection that it replaces, if any."""
        replaced, self._second = self._second, connection
        return None if replaced is None else self.connecting.pop(replaced.channel, None)

    def failed(self, channel: int, error: KafkaError, now_ms: int) -> bool:
        """Record the failure of an address; return whether the whole attempt has failed."""
        ended = self.connecting.pop(channel, None)
        self.last_error = error
        if not error.retriable or now_ms >= self.deadline_at_ms:
            return True
        if ended is self._second or self._race is None or any(c is not self._second for c in self.connecting.values()):
            return False
        self._race.all_failed(now_ms)
        return self._race.is_exhausted

    def next_deadline_at_ms(self) -> int:
        """Return the next time with work other than I/O."""
        if self._race is None:
            return self.deadline_at_ms
        requests = [connection.next_deadline_at_ms() for connection in self.connecting.values()]
        end_at_ms = FOREVER_MS if requests else self.deadline_at_ms
        return min(self._race.next_deadline_at_ms(), self._again_at_ms(), end_at_ms, *requests)


class NodeEntry:
    __slots__ = (
        "attempt",
        "connection",
        "heard_at_ms",
        "is_dedicated",
        "is_member",
        "is_wanted",
        "node",
        "throttled_until_ms",
        "timer_at_ms",
    )

    def __init__(self, node: Node, *, is_dedicated: bool = False) -> None:
        self.node = node
        self.attempt: NodeAttempt | None = None
        self.connection: Connection | None = None
        """The ready connection, if any."""
        self.is_dedicated = is_dedicated
        """Whether the node is a separate connection for one purpose: not in the list, and never chosen for other
        requests.
        """
        self.is_member = not is_dedicated
        """Whether the node is in the list; if not, it is dropped after its last response."""
        self.is_wanted = False
        """Whether a caller needs this node, so its attempt continues after another node is ready."""
        self.heard_at_ms = -1
        """Time of the last received bytes of a ready connection, including the bytes that made it ready."""
        self.throttled_until_ms = 0
        self.timer_at_ms = FOREVER_MS
        """Time of its timer; see `NodeTimers`."""

    def due_at_ms(self, now_ms: int) -> int:
        nearest_ms = FOREVER_MS
        if self.connection is not None:
            nearest_ms = self.connection.next_deadline_at_ms()
            if now_ms < self.throttled_until_ms < nearest_ms:
                nearest_ms = self.throttled_until_ms
        if self.attempt is not None:
            nearest_ms = min(nearest_ms, self.attempt.next_deadline_at_ms())
        return nearest_ms
