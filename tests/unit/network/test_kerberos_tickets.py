"""KerberosTickets: one for each host, renewed in turn into two caches; the network thread never waits without limit."""

import threading
from typing import Any

import pytest

from kctl.client.clock import FOREVER_MS, ManualClock
from kctl.client.errors import AuthenticationError, ConnectionLost, LoginServerUnavailable
from kctl.client.kerberos import KerberosLogin, Ticket
from kctl.client.network.kerberos_tickets import KerberosTickets
from kctl.client.network.renewed import Renewed
from tests.support.bounds import bound
from tests.unit.network.test_fetched_tokens import Threads

LOGIN = KerberosLogin("kafka")


class Kdc:
    """Gives tickets whose context is their number; `error` is raised in place of one."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.error: Exception | None = None

    def __call__(self, login: KerberosLogin, host: str, cache: str) -> Ticket:
        assert login is LOGIN
        self.asked.append((host, cache))
        if self.error is not None:
            raise self.error
        return Numbered(len(self.asked))


class Numbered(Ticket):
    def __init__(self, number: int) -> None:
        super().__init__(None, None, 100_000)
        self._number = number

    def context(self) -> Any:
        return self._number


class Tickets(KerberosTickets):
    def number(self, host: str) -> object:
        """Return the number of the ticket that a context is made of."""
        return self.context(host)


def test_each_host_has_a_ticket_that_is_kept_until_it_expires() -> None:
    clock, kdc = ManualClock(), Kdc()
    tickets = Tickets(LOGIN, clock, kdc)
    for host in ("a", "b", "a"):
        tickets.get_for(host)
    assert [host for host, _ in kdc.asked] == ["a", "b"]
    assert (tickets.number("a"), tickets.number("b")) == (1, 2)
    clock.advance(100_000)
    with pytest.raises(AuthenticationError, match="cannot get a Kerberos ticket: the previous one has expired"):
        tickets.context("a")
    tickets.get_for("a")
    assert tickets.number("a") == 3


def test_ticket_is_renewed_in_a_helper_thread_into_the_other_cache() -> None:
    clock, kdc, threads = ManualClock(), Kdc(), Threads()
    tickets = Tickets(LOGIN, clock, kdc)
    assert tickets.next_deadline_at_ms() == FOREVER_MS
    tickets.refresh_with(threads)
    tickets.get_for("a")
    for number in (2, 3):
        assert tickets.next_deadline_at_ms() == clock.now_ms() + 80_000
        clock.advance(80_000)
        tickets.advance(clock.now_ms(), lambda: None)
        assert (tickets.number("a"), tickets.next_deadline_at_ms()) == (number - 1, FOREVER_MS)
        threads.finish()
        assert tickets.number("a") == number
    caches = [cache for _, cache in kdc.asked]
    assert caches[0] == caches[2] != caches[1]


def test_reason_is_kept_and_the_next_connection_asks_again() -> None:
    kdc = Kdc()
    tickets = Tickets(LOGIN, ManualClock(), kdc)
    kdc.error = AuthenticationError("the ticket has expired", hint="kinit")
    tickets.get_for("a")
    with pytest.raises(AuthenticationError, match="cannot get a Kerberos ticket: the ticket has expired") as caught:
        tickets.context("a")
    assert caught.value.hint == "kinit"
    kdc.error = ConnectionLost("Cannot contact any KDC", hint="see krb5.conf")
    tickets.get_for("a")
    with pytest.raises(LoginServerUnavailable, match="Cannot contact any KDC") as lost:
        tickets.context("a")
    assert (lost.value.cause, lost.value.hint) == (kdc.error, "see krb5.conf")
    kdc.error = None
    tickets.get_for("a")
    assert tickets.number("a") == 3


def test_threads_do_not_queue_up_for_a_server_that_does_not_respond() -> None:
    end, asked = threading.Event(), list[int]()
    came = {"first": threading.Event(), "second": threading.Event()}

    def silent() -> Ticket:
        asked.append(1)
        assert end.wait(timeout=bound(20))
        raise ConnectionLost("no response")

    class Watched(Renewed[Ticket]):
        def _is_valid(self) -> bool:
            if (event := came.get(threading.current_thread().name)) is not None:
                event.set()
            return super()._is_valid()

    ticket = Watched(silent, ManualClock())
    threads = [threading.Thread(target=ticket.get, name=name, daemon=True) for name in came]
    for thread in threads:
        thread.start()
    assert all(event.wait(timeout=bound(20)) for event in came.values())
    end.set()
    for thread in threads:
        thread.join(timeout=bound(20))
    assert asked == [1]
    ticket.get()  # the next connection asks again
    assert asked == [1, 1]
