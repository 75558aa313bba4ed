"""AddressRace: in which order and when the addresses of one name are dialled.

The first at once, each further one after a delay while the earlier are still under way, or at once when all of those
have failed. Families are interleaved, so that a dead IPv6 never hides a live IPv4. Pure: takes `now_ms`, does no I/O.
Shown by tests/unit/network/test_address_race.py.

Source: RFC 8305 sections 4 and 5. Differs: no preference is remembered between races.
"""

from collections import deque
from collections.abc import Sequence

from kctl.client.clock import FOREVER_MS
from kctl.client.seams import Address


def interleave(addresses: Sequence[Address]) -> list[Address]:
    """Return the addresses with the families taking turns, the resolver's first family first; no address twice."""
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
    """The addresses of one node that were not dialled yet."""

    def __init__(self, addresses: Sequence[Address], delay_ms: int, now_ms: int) -> None:
        self._waiting = deque(interleave(addresses))
        self._delay_ms = delay_ms
        self._next_at_ms = now_ms

    @property
    def is_exhausted(self) -> bool:
        """Whether every address was dialled."""
        return not self._waiting

    def take_due(self, now_ms: int) -> Address | None:
        """Return the address to dial now, if one is due."""
        if not self._waiting or now_ms < self._next_at_ms:
            return None
        self._next_at_ms = now_ms + self._delay_ms
        return self._waiting.popleft()

    def all_failed(self, now_ms: int) -> None:
        """Note that no attempt is under way any more: the next address need not wait."""
        self._next_at_ms = now_ms

    def next_deadline_ms(self) -> int:
        return self._next_at_ms if self._waiting else FOREVER_MS
