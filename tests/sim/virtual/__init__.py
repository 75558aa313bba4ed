"""Virtual time: the client and the sandbox in one OS thread, exact to the millisecond, equal in each run of a seed.

with Hub(seed=7) as hub:
    network = SimNetwork(hub)
    runtime = sim_runtime(hub, "app", network)     # what a client takes instead of sockets and threads
    hub.spawn("app", lambda: use_the_client(runtime))
    hub.run()
"""

from tests.sim.virtual.driver import SimDriver, SimTask, SimWaiter
from tests.sim.virtual.hub import Hub
from tests.sim.virtual.link_faults import LinkFault, LinkFaults
from tests.sim.virtual.network import LinkProfile, SimNetwork
from tests.sim.virtual.resolver import SimLookup, SimResolver
from tests.sim.virtual.runtime import HubClock, SimEntropy, sim_runtime
from tests.sim.virtual.schedule import SimulationStuck
from tests.sim.virtual.selector import SimSelector

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
