"""Time to the first metadata when M of M + 1 bootstrap nodes are dead, on real sockets.

kctl: M = 1 to 7, the living node always the last whose turn comes, so each figure is the worst that chance can bring.
Held to: under 0.1 s x (M + 1) + 0.2 s. With --peers: 3 dead of 4, the living node at each place of the list, next to
kafka-python and confluent-kafka where they are installed. The living node is a sandbox node, so the broker's own time
is small.
"""

import argparse
import contextlib
import importlib.util
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from kctl.client.admin import Admin
from kctl.client.network.system import system_runtime
from kctl.client.security.tls import server_context
from kctl.sandbox import ListenerSecurity, Sandbox
from tests.support.faults import peers
from tests.support.kafka.certificates import make_certificates

MOST_DEAD = 7
RUNS = 3
PEER_RUNS = 8
PATIENCE_S = 30
STAGGER_S, SLACK_S = 0.1, 0.2


class Living(NamedTuple):
    """The node that works, and what a client needs to know of it."""

    address: str
    properties: dict[str, object]


class Dead(NamedTuple):
    name: str
    peer: peers.Peer
    uses_tls: bool = False


DEAD = (
    Dead("blackholed", peers.blackhole),
    Dead("refused", peers.refused),
    Dead("silent", peers.silent),
    Dead("TLS-silent", peers.silent, uses_tls=True),
)


class InOrder(Random):
    """Chance that always begins with the first node."""

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:  # noqa: ARG002 - as Random has it
        return 0


@contextlib.contextmanager
def living(*, uses_tls: bool) -> Iterator[Living]:
    if not uses_tls:
        with Sandbox(nodes=1).serve() as served:
            yield Living(served.bootstrap, {})
        return
    with tempfile.TemporaryDirectory() as folder:
        certificates = make_certificates(Path(folder))
        trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(certificates.ca)}
        security = ListenerSecurity(tls=server_context(certificates.broker.read_text()))
        with Sandbox(nodes=1, security=security).serve() as served:
            yield Living(served.bootstrap, {"security.protocol": "SSL", **trust})


def ask_kctl(servers: str, properties: dict[str, object]) -> object:
    runtime = system_runtime()._replace(rng=InOrder())
    with Admin({"bootstrap.servers": servers, **properties}, runtime) as admin:
        return admin.list_topics(timeout=PATIENCE_S)


def ask_kafka_python(servers: str, _: dict[str, object]) -> object:
    from kafka import KafkaAdminClient

    return KafkaAdminClient(bootstrap_servers=servers.split(","), bootstrap_timeout_ms=PATIENCE_S * 1000).list_topics()


def ask_confluent(servers: str, _: dict[str, object]) -> object:
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": servers, "log_level": 0}).list_topics(timeout=PATIENCE_S)


Ask = Callable[[str, dict[str, object]], object]
PEERS: dict[str, tuple[str, Ask]] = {
    "kafka-python": ("kafka", ask_kafka_python),
    "confluent": ("confluent_kafka", ask_confluent),
}


def first_metadata_s(ask: Ask, dead: peers.Peer, count: int, place: int, alive: Living) -> float:
    """Return how long the first answer takes; infinity when the client fails."""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(dead()) for _ in range(count)]
        servers.insert(place, alive.address)
        start = time.perf_counter()
        try:
            ask(",".join(servers), alive.properties)
        except Exception as error:  # noqa: BLE001 - a peer's failure is a result here
            print(f"    failed after {time.perf_counter() - start:.1f} s: {type(error).__name__}")
            return float("inf")
        return time.perf_counter() - start


def worst_cases() -> list[str]:
    """Print the table of kctl; return what it misses."""
    missed = []
    heads = "".join(f"{f'M = {count}':>9}" for count in range(1, MOST_DEAD + 1))
    print(f"first metadata in s, the longest of {RUNS} runs\n{'':14}{heads}")
    for dead in DEAD:
        row = f"{dead.name:14}"
        with living(uses_tls=dead.uses_tls) as alive:
            for count in range(1, MOST_DEAD + 1):
                longest = max(first_metadata_s(ask_kctl, dead.peer, count, count, alive) for _ in range(RUNS))
                row += f"{longest:9.3f}"
                if longest >= bound_s(count):
                    missed.append(f"{dead.name}, M = {count}: {longest:.3f} s, the bound is {bound_s(count):.1f} s")
        print(row)
    print(f"{'must be under':14}" + "".join(f"{bound_s(count):9.1f}" for count in range(1, MOST_DEAD + 1)))
    return missed


def bound_s(dead_count: int) -> float:
    return STAGGER_S * (dead_count + 1) + SLACK_S


def compare() -> None:
    """Print what 3 dead nodes of 4 cost each client."""
    clients: dict[str, Ask] = {"kctl": ask_kctl}
    for name, (module, ask) in PEERS.items():
        if importlib.util.find_spec(module) is None:
            print(f"{name} is not installed and left out")
        else:
            clients[name] = ask
    print(f"\nfirst metadata in s with 3 of 4 dead, {PEER_RUNS} runs\n{'':32}{'median':>9}{'max':>9}")
    for dead in DEAD:
        if dead.uses_tls:
            continue
        with living(uses_tls=False) as alive:
            for name, ask in clients.items():
                took = [first_metadata_s(ask, dead.peer, 3, run % 4, alive) for run in range(PEER_RUNS)]
                print(f"{dead.name:16}{name:16}{statistics.median(took):9.3f}{max(took):9.3f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peers", action="store_true", help="compare with other clients")
    parser.add_argument("--check", action="store_true", help="fail when kctl misses the bound")
    options = parser.parse_args()
    missed = worst_cases()
    print("\n".join(f"missed: {what}" for what in missed) if missed else "nothing missed")
    if options.peers:
        compare()
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
