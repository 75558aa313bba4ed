"""Time and memory of one probe round over 1,000 loopback addresses, every second one blackholed, on real sockets.

Each living address is asked all that a probe asks. Held to: the connect limit plus one second, and 150 MB for the
whole process. The soft limit of descriptors is lowered to 256 first, as shells have it, and raised by the probe.
The living addresses are one sandbox in a process of its own, on the same machine.
"""

import argparse
import contextlib
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kctl.cli.probe.descriptors import allow_descriptors
from kctl.client.cluster import Node
from kctl.client.config import AdminConfig
from kctl.client.errors import ConnectTimeout
from kctl.client.events import Event
from kctl.client.network.system import system_runtime
from kctl.client.probe.prober import Prober

TARGETS = Path(__file__).with_name("probe_targets.py")
SLACK_S = 1.0
MOST_MB = 150
FEW_DESCRIPTORS = 256


@contextlib.contextmanager
def targets() -> Iterator[tuple[int, int]]:
    """Yield the living and the dead port."""
    command = [sys.executable, str(TARGETS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        living, dead = process.stdout.readline().split()
        yield int(living), int(dead)
        process.stdin.close()


def addresses(count: int, living: int, dead: int) -> list[Node]:
    """Return as many nodes, each at a loopback address of its own."""
    return [
        Node(-1 - i, f"127.{1 + i // 62_500}.{i // 250 % 250}.{1 + i % 250}", dead if i % 2 else living)
        for i in range(count)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--addresses", type=int, default=1000)
    parser.add_argument("--limit-ms", type=int, default=2000)
    parser.add_argument("--check", action="store_true", help="fail when the bounds are missed")
    options = parser.parse_args()
    events: Counter[str] = Counter()

    def count(event: Event) -> None:
        events[type(event).__name__] += 1

    config = AdminConfig.parse(
        {
            "bootstrap.servers": "127.0.0.1:9092",
            "socket.connection.setup.timeout.ms": options.limit_ms,
            "socket.connection.setup.timeout.max.ms": options.limit_ms,
        }
    )
    with targets() as (living, dead):
        nodes = addresses(options.addresses, living, dead)
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (FEW_DESCRIPTORS, hard))
        start = time.perf_counter()
        allow_descriptors(len(nodes))
        prober = Prober(config, system_runtime(), nodes, events=count)
        while not prober.is_done:
            prober.poll(50)
        prober.close()
        elapsed = time.perf_counter() - start
    usage = resource.getrusage(resource.RUSAGE_SELF)
    peak_mb = usage.ru_maxrss / 1024 if sys.platform != "darwin" else usage.ru_maxrss / 1024**2
    ready = sum(report.is_ready and report.view is not None for report in prober.reports)
    expired = sum(isinstance(report.error, ConnectTimeout) for report in prober.reports)
    bound = options.limit_ms / 1000 + SLACK_S
    others = len(prober.reports) - ready - expired
    print(
        f"{len(nodes)} addresses: {ready} ready, {expired} expired, {others} other ends; "
        f"{sum(events.values())} events; load average {os.getloadavg()[0]:.1f}"
    )
    print(
        f"{elapsed:.3f} s (must: under {bound:.1f} s), {usage.ru_utime + usage.ru_stime:.2f} s of them at work; "
        f"peak {peak_mb:.0f} MB (must: under {MOST_MB} MB)"
    )
    is_missed = elapsed >= bound or peak_mb >= MOST_MB or expired != len(nodes) // 2
    print("missed" if is_missed else "nothing missed")
    return 1 if options.check and is_missed else 0


if __name__ == "__main__":
    sys.exit(main())
