"""Everything a client takes from its surroundings, in virtual time: `sim_runtime`."""

from collections.abc import Callable

from kctl.client.runtime import Runtime, SocketOptions
from tests.sim.virtual.driver import SimDriver
from tests.sim.virtual.hub import Hub
from tests.sim.virtual.network import SimNetwork
from tests.sim.virtual.resolver import SimResolver
from tests.sim.virtual.schedule import MS, Entry
from tests.sim.virtual.selector import SimSelector


class HubClock:
    """The hub's time as a `Clock` of `process`. Looking and starting are equal whenever events fall on whole
    milliseconds.
    """

    __slots__ = ("_hub", "_process")

    def __init__(self, hub: Hub, process: str = "") -> None:
        self._hub = hub
        self._process = process

    def now_ms(self) -> int:
        return self._hub.now_us // MS

    def now_us(self) -> int:
        return self._hub.now_us

    def start_ms(self) -> int:
        return -(-self._hub.now_us // MS)

    def wall_ms(self) -> int:
        return self._hub.wall_ms(self._process)


class HubScheduler(HubClock):
    """The hub as the broker core's `Scheduler`, in the name of `owner`."""

    __slots__ = ("_owner",)

    def __init__(self, hub: Hub, owner: str) -> None:
        super().__init__(hub)
        self._owner = hub.unique(owner)

    def call_later(self, delay_ms: int, action: Callable[[], None]) -> Entry:
        """Call `action` once, `delay_ms` from now."""
        return self._hub.call_later_ms(delay_ms, self._owner, action)


class SimEntropy:
    """Bytes drawn from a named stream: equal in each run of a seed, and so never for real secrets."""

    __slots__ = ("_rng",)

    def __init__(self, hub: Hub, name: str) -> None:
        self._rng = hub.rng(f"entropy.{name}")

    def token_bytes(self, count: int) -> bytes:
        return self._rng.randbytes(count)


def sim_runtime(hub: Hub, name: str, network: SimNetwork, resolver: SimResolver | None = None) -> Runtime:
    """Return the runtime of one client.

    Args:
        hub: source of time.
        name: name of its actors, channels, and random streams; a stable word such as `c1`.
        network: network to dial in.
        resolver: known names; numeric addresses need none.
    """

    def make_selector(_: SocketOptions) -> SimSelector:
        return SimSelector(hub, network, name)

    return Runtime(
        clock=HubClock(hub, name),
        driver=SimDriver(hub, name),
        make_selector=make_selector,
        resolver=resolver or SimResolver(hub, f"{name}.resolver"),
        rng=hub.rng(f"chance.{name}"),
        entropy=SimEntropy(hub, name),
    )
