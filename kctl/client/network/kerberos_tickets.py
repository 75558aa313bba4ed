"""KerberosTickets: the tickets of one client, one for each broker's host; renewed.py decides when to get them."""

import itertools
import os
import threading
from collections.abc import Callable
from functools import partial

from kctl.client.clock import FOREVER_MS, Clock
from kctl.client.config import ClientConfig
from kctl.client.kerberos import KerberosLogin, SecurityContext, Ticket, fetch_ticket
from kctl.client.network.renewed import Renewed
from kctl.client.runtime import Resolver

Fetch = Callable[[KerberosLogin, str, str], Ticket]
"""Function that gets a ticket for the login and host, into a memory cache of the given name; may block for any time."""

_numbers = itertools.count(1)


class KerberosTickets:
    def __init__(self, login: KerberosLogin, clock: Clock, fetch: Fetch = fetch_ticket) -> None:
        self._login = login
        self._clock = clock
        self._fetch = fetch
        self._lock = threading.Lock()
        self._by_host: dict[str, Renewed[Ticket]] = {}
        self._resolver: Resolver | None = None

    def get_for(self, host: str) -> None:
        self._of(host).get()

    def context(self, host: str) -> SecurityContext:
        """Return a security context of the current ticket.

        Raises:
            AuthenticationError: there is no valid ticket; the message has the reason.
            LoginServerUnavailable: the KDC did not respond; the next connection retries.
        """
        return self._of(host).at_hand("cannot get a Kerberos ticket").context()

    def refresh_with(self, resolver: Resolver) -> None:
        self._resolver = resolver

    def advance(self, now_ms: int, on_done: Callable[[], None]) -> None:
        for ticket in self._all():
            if self._resolver is not None:
                ticket.refresh_with(self._resolver)
            ticket.advance(now_ms, on_done)

    def next_deadline_at_ms(self) -> int:
        return min((each.next_deadline_at_ms() for each in self._all()), default=FOREVER_MS)

    def _all(self) -> list[Renewed[Ticket]]:
        with self._lock:
            return list(self._by_host.values())

    def _of(self, host: str) -> Renewed[Ticket]:
        with self._lock:
            if host not in self._by_host:
                # Two caches in turn: contexts use one while the other is filled.
                number = next(_numbers)
                caches = itertools.cycle(f"kctl-{os.getpid()}-{number}-{turn}" for turn in (0, 1))
                self._by_host[host] = Renewed(partial(self._fetch_next, host, caches), self._clock)
            return self._by_host[host]

    def _fetch_next(self, host: str, caches: "itertools.cycle[str]") -> Ticket:
        return self._fetch(self._login, host, next(caches))


def kerberos_tickets(config: ClientConfig, clock: Clock) -> KerberosTickets:
    """Return the tickets for a config with GSSAPI. Raises: ConfigError: the service name is missing."""
    from kctl.client.security.sasl.gssapi import login_from_config  # wanted for this login alone

    return KerberosTickets(login_from_config(config), clock)
