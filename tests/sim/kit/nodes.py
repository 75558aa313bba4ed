"""SimNodes: the nodes of a sandbox on a simulated network; what every simulated cluster is made of."""

from collections.abc import Callable

from kctl.sandbox import Fault, Sandbox
from tests.sim.virtual import Hub, SimNetwork, SimResolver


class SimNodes:
    """Nodes 1 ms away, with the addresses 10.0.0.1, 10.0.0.2, ..., or with names where there is a resolver."""

    def __init__(self, hub: Hub, sandbox: Sandbox, resolver: SimResolver | None = None) -> None:
        self.hub = hub
        self.network = SimNetwork(hub)
        self.sandbox = sandbox
        self.bootstrap = sandbox.attach(self.network, resolver)

    def at(self, ms: int, action: Callable[[], None]) -> None:
        """Do something to the nodes `ms` from now."""
        self.hub.call_later_ms(ms, "fault", action)

    def break_all(self, fault: Fault, ms: int = 0) -> None:
        """Start a fault on every node; `ms` is the delay of `Fault.DELAY`."""
        for node_id in self.sandbox.cluster.nodes:
            self.sandbox.start_fault(node_id, fault, ms=ms)
