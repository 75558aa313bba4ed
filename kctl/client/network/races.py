"""Races: connections to several nodes (CandidateRace) or addresses of one node (AddressRace), started one by one. No
I/O.
"""

from collections import deque
from collections.abc import Sequence

from kctl.client.clock import FOREVER_MS
from kctl.client.runtime import Address

SHORTEST_SILENCE_MS = 100
"""Minimum time without bytes from a node before another connection to it is opened."""


class CandidateRace:
    def __init__(self, delay_ms: int) -> None:
        self._delay_ms = delay_ms
        self._next_at_ms = 0
        self.is_running = False
        """Whether a caller waits for any node and none is ready."""

    def is_due(self, now_ms: int, *, connecting: int) -> bool:
        """Return whether to connect to another candidate. Args: connecting: number of running attempts."""
        return connecting == 0 or now_ms >= self._next_at_ms

    def started(self, now_ms: int) -> None:
        self._next_at_ms = now_ms + self._delay_ms

    def next_deadline_at_ms(self, *, may_start: bool) -> int:
        """Return when to check again. Args: may_start: whether a candidate is neither running nor in backoff."""
        return self._next_at_ms if self.is_running and may_start else FOREVER_MS


def interleave(addresses: Sequence[Address]) -> list[Address]:
    """Return the addresses without duplicates, alternating between IPv4 and IPv6; the first address stays first."""
    unique = list(dict.fromkeys(addresses))
    if not unique:
        return []
    first = [a for a in unique if a.is_ipv6 == unique[0].is_ipv6]
    second = [a for a in unique if a.is_ipv6 != unique[0].is_ipv6]
    mixed: list[Address] = []
    for position in range(max(len(first), len(second))):
        mixed += first[position : position + 1] + second[position : position + 1]
    return mixed


class AddressRace:
    """Addresses of one node to try; after the last, the next address to try again.

    A connection that was opened during a network fault may stay dead. While all connections are silent, another one is
    opened, which a further one replaces later. The waits double, up to `longest_ms`.
    """

    def __init__(self, addresses: Sequence[Address], delay_ms: int, now_ms: int, *, longest_ms: int) -> None:
        self._waiting = deque(interleave(addresses))
        self._dialled: deque[Address] = deque()
        self._delay_ms = delay_ms
        self._again_ms = max(delay_ms, SHORTEST_SILENCE_MS)
        self._longest_ms = longest_ms
        self._next_at_ms = now_ms

    @property
    def is_exhausted(self) -> bool:
        return not self._waiting

    def pop_due(self, now_ms: int) -> Address | None:
        if not self._waiting or now_ms < self._next_at_ms:
            return None
        self._next_at_ms = now_ms + (self._delay_ms if len(self._waiting) > 1 else self._again_ms)
        self._dialled.append(self._waiting.popleft())
        return self._dialled[-1]

    @property
    def again_at_ms(self) -> int:
        return FOREVER_MS if self._waiting or not self._dialled else self._next_at_ms

    def pop_again(self, now_ms: int) -> Address:
        """Return the address for another connection now; the addresses alternate."""
        self._again_ms = max(self._again_ms, min(self._again_ms * 2, self._longest_ms))
        self._next_at_ms = now_ms + self._again_ms
        self._dialled.rotate(-1)
        return self._dialled[-1]

    def all_failed(self, now_ms: int) -> None:
        self._next_at_ms = now_ms

    def next_deadline_at_ms(self) -> int:
        return self._next_at_ms if self._waiting else FOREVER_MS
