"""Virtual time: the client and the sandbox in one OS thread, exact to the millisecond, equal in each run of a seed.

with Hub(seed=7) as hub:
    network = SimNetwork(hub)
    runtime = sim_runtime(hub, "app", network)     # what a client takes instead of sockets and threads
    hub.spawn("app", lambda: use_the_client(runtime))
    hub.run()
"""

from kctl.sandbox.sim.driver import SimDriver, SimTask, SimWaiter
from kctl.sandbox.sim.hub import Hub
from kctl.sandbox.sim.link_faults import LinkFault, LinkFaults
from kctl.sandbox.sim.network import LinkProfile, SimNetwork
from kctl.sandbox.sim.resolver import SimLookup, SimResolver
from kctl.sandbox.sim.runtime import HubClock, SimEntropy, sim_runtime
from kctl.sandbox.sim.schedule import SimulationStuck
from kctl.sandbox.sim.selector import SimSelector

__all__ = [
    "Hub",
    "HubClock",
    "LinkFault",
    "LinkFaults",
    "LinkProfile",
    "SimDriver",
    "SimEntropy",
    "SimLookup",
    "SimNetwork",
    "SimResolver",
    "SimSelector",
    "SimTask",
    "SimWaiter",
    "SimulationStuck",
    "sim_runtime",
]
