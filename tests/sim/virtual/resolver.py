"""SimResolver: names to addresses at an instant of virtual time.

It fits `kctl.client.runtime.Resolver` by shape. Numeric addresses resolve to themselves.
"""

import ipaddress
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kctl.client.runtime import Address
from tests.sim.virtual.hub import Hub


class _Name(NamedTuple):
    ips: tuple[str, ...]
    error: str | None
    delay_ms: int


class SimLookup:
    """One look-up under way."""

    __slots__ = ("addresses", "done", "error")

    def __init__(self) -> None:
        self.done = False
        self.addresses: list[Address] = []
        self.error: str | None = None


class SimResolver:
    """A table of names. A name that is not in it fails like an unknown one."""

    def __init__(self, hub: Hub, name: str = "resolver") -> None:
        self._hub = hub
        self._name = hub.unique(name)
        self._names: dict[str, _Name] = {}
        self._under_way: dict[SimLookup, Callable[[], None]] = {}
        self._holds_work = False
        self._held: list[Callable[[], None]] = []

    def add(self, host: str, ips: Sequence[str], *, delay_ms: int = 0) -> None:
        """Let `host` resolve to `ips`, in that order, after `delay_ms`; later look-ups only."""
        self._names[host] = _Name(tuple(ips), None, delay_ms)

    def fail(self, host: str, error: str = "Name or service not known", *, delay_ms: int = 0) -> None:
        """Let the look-up of `host` fail with `error` after `delay_ms`."""
        self._names[host] = _Name((), error, delay_ms)

    def lookup(self, host: str, port: int, on_done: Callable[[], None]) -> SimLookup:
        """Start a look-up; `on_done` is called once when it has ended, never inside this call."""
        entry = self._names.get(host) or self._default(host)
        lookup = SimLookup()

        def end() -> None:
            if self._under_way.pop(lookup, None) is None:
                return
            lookup.addresses = [Address(ip, port, ipaddress.ip_address(ip).version == 6) for ip in entry.ips]
            lookup.error = entry.error
            lookup.done = True
            self._hub.trace(self._name, f"{host}: {entry.error or ' '.join(entry.ips)}")
            on_done()

        self._under_way[lookup] = end
        self._hub.call_later_ms(entry.delay_ms, self._name, end)
        return lookup

    def run(self, work: Callable[[], None], on_done: Callable[[], None]) -> SimLookup:
        """Run what would block a network thread; it takes no virtual time, or after `hold_work` until `end_work`."""
        lookup = SimLookup()

        def end() -> None:
            work()
            lookup.done = True

        if not self._holds_work:
            end()
        else:
            self._held += [end, on_done]
        return lookup

    def hold_work(self) -> None:
        """Hold further work without an end, as with a silent token endpoint."""
        self._holds_work = True

    def end_work(self) -> None:
        """End the work that is held."""
        held, self._held = self._held, []
        for each in held:
            each()

    def answer_all(self) -> None:
        """End the look-ups that are under way now, as they would have ended: what held them up is over."""
        for end in self._under_way.values():
            self._hub.call_later_ms(0, self._name, end)

    def _default(self, host: str) -> _Name:
        try:
            return _Name((str(ipaddress.ip_address(host)),), None, 0)
        except ValueError:
            return _Name((), "Name or service not known", 0)
