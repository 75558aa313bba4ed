"""One simulated run over actors, links and pieces; prints its trace hash. Started by test_replay.py."""

import sys

from kctl.client.runtime import Address, Received
from kctl.sandbox.faults import Fault
from tests.sim.hub.listeners import EchoListener
from tests.sim.virtual import Hub, LinkProfile, SimDriver, SimNetwork, SimSelector


def _client(hub: Hub, network: SimNetwork, name: str, address: Address) -> None:
    selector = SimSelector(hub, network, name)
    rng = hub.rng(f"app.{name}")
    selector.connect(1, address)
    heard = 0
    while hub.now_ms < 500:
        selector.send(1, rng.randbytes(rng.randint(1, 50)))
        hub.sleep_ms(rng.randint(1, 15))
        for event in selector.poll(hub.now_ms + rng.randint(0, 5)):
            heard += len(event.data) if isinstance(event, Received) else 0
    hub.trace(name, f"heard {heard}")
    selector.shutdown()


def trace_hash(seed: int) -> str:
    """Return the trace hash of the run of `seed`."""
    with Hub(seed) as hub:
        network = SimNetwork(hub, LinkProfile(latency_ms=1, jitter_ms=5, segment_bytes=20))
        listeners = {f"10.0.0.{number}": EchoListener() for number in range(1, 4)}
        for ip, listener in listeners.items():
            network.listen(ip, 9092, listener)
        driver = SimDriver(hub, "background")
        driver.spawn(lambda: hub.sleep_ms(300), "loop")
        hub.call_later_ms(100, "plan", lambda: listeners["10.0.0.2"].faults.start(Fault.RESET))
        for number, ip in enumerate(listeners):
            hub.spawn(f"c{number}", lambda number=number, ip=ip: _client(hub, network, f"c{number}", Address(ip, 9092)))  # type: ignore[misc]  # bound defaults
        hub.run()
        return hub.trace_hash


if __name__ == "__main__":
    sys.stdout.write(trace_hash(int(sys.argv[1])))
