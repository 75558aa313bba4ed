"""UnansweredRequests: requests to which no answer comes (Produce with acks=0), until the system has taken their bytes.

Without it a close right after a send would count records as delivered whose bytes never left the process. Pure.
Shown by tests/unit/network/test_unanswered.py.
"""

from collections.abc import Callable
from typing import NamedTuple

from kctl.client.network.connection import Connection
from kctl.client.network.in_flight import OnDone


class Unanswered(NamedTuple):
    """One such request."""

    node_id: int
    version: int
    on_done: OnDone


class UnansweredRequests:
    """Those of all connections, by channel."""

    def __init__(self, unsent_bytes: Callable[[int], int]) -> None:
        """`unsent_bytes`: how much of a channel's bytes the system has not taken yet."""
        self._unsent_bytes = unsent_bytes
        self._by_channel: dict[int, list[Unanswered]] = {}

    def add(self, connection: Connection, request: Unanswered) -> None:
        """Note a request whose bytes were handed to the selector."""
        self._by_channel.setdefault(connection.channel, []).append(request)

    def take_written(self) -> list[Unanswered]:
        """Remove and return those whose bytes were taken."""
        written = [channel for channel in self._by_channel if self._unsent_bytes(channel) == 0]
        return [request for channel in written for request in self._by_channel.pop(channel)]

    def take_of(self, connection: Connection) -> list[Unanswered]:
        """Remove and return those of a connection that is ending."""
        return self._by_channel.pop(connection.channel, [])
