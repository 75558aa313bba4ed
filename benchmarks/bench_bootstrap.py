"""Time to the first metadata when 3 of 4 bootstrap nodes are dead, on real sockets: kctl, kafka-python, confluent.

Each run orders the list differently, the living node at each place. Peers that are not installed are left out, and
peers are stopped after `PATIENCE_S`. The living node is a sandbox node, so the broker's own time is small.
"""

import contextlib
import statistics
import sys
import time
from collections.abc import Callable

from kctl.client.admin import Admin
from kctl.sandbox import Sandbox
from tests.faults import peers

RUNS = 8
PATIENCE_S = 30
DEAD: dict[str, peers.Peer] = {"blackholed": peers.blackhole, "silent": peers.silent, "refused": peers.refused}
Ask = Callable[[str], object]


def ask_kctl(servers: str) -> object:
    with Admin({"bootstrap.servers": servers}) as admin:
        return admin.list_topics(timeout=PATIENCE_S)


def ask_kafka_python(servers: str) -> object:
    from kafka import KafkaAdminClient

    return KafkaAdminClient(bootstrap_servers=servers.split(","), bootstrap_timeout_ms=PATIENCE_S * 1000).list_topics()


def ask_confluent(servers: str) -> object:
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": servers, "log_level": 0}).list_topics(timeout=PATIENCE_S)


ASKS: dict[str, Ask] = {"kctl": ask_kctl, "kafka-python": ask_kafka_python, "confluent": ask_confluent}


def measure(ask: Ask, dead: peers.Peer, living: str) -> list[float]:
    elapsed = []
    for run in range(RUNS):
        with contextlib.ExitStack() as stack:
            servers = [stack.enter_context(dead()) for _ in range(3)]
            servers.insert(run % 4, living)
            start = time.perf_counter()
            try:
                ask(",".join(servers))
                elapsed.append(time.perf_counter() - start)
            except Exception as error:  # noqa: BLE001 - a peer's failure is a result here
                print(f"    failed after {time.perf_counter() - start:.1f} s: {type(error).__name__}")
                elapsed.append(float("inf"))
    return elapsed


def main() -> None:
    names = sys.argv[1:] or ["kctl"]
    with Sandbox(nodes=1).serve() as served:
        for fault, dead in DEAD.items():
            for name in names:
                elapsed = measure(ASKS[name], dead, served.bootstrap)
                print(
                    f"first metadata, 3 of 4 {fault}: {name} median {statistics.median(elapsed):.3f} s, "
                    f"max {max(elapsed):.3f} s over {RUNS} runs (must: kctl max under 0.5 s)"
                )


if __name__ == "__main__":
    main()
