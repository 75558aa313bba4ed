"""kctl.client.aio beside aiokafka on one real broker: records a second, and the longest stall of the event loop.

    python benchmarks/bench_aio.py [--rounds N] [--records N] [--uvloop] [--check]

Both clients take turns on topics of one broker with three partitions and values of 100 bytes, each as a process; a
first round is not counted. aiokafka is that of the environment of peers (`make bench-peers` makes it).

Held to: medians of 3 times aiokafka's records a second in consuming, 1.5 times in producing; stalls of 5 ms.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.lateness import ROOT
from benchmarks.peers.aio_clients import MODES
from kctl.client import Producer
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.toolchain import NEWEST_KAFKA, cache_dir

PROGRAM = ROOT / "benchmarks" / "peers" / "aio_clients.py"
BARS = {"consume": 3.0, "produce": 1.5}
MOST_STALL_MS = 5.0


def measure(
    python: Path, name: str, mode: str, servers: str, topic: str, count: int, *, is_uvloop: bool
) -> dict[str, float]:
    command = [str(python), str(PROGRAM), name, mode, servers, topic, str(count), *["uvloop"] * is_uvloop]
    environment = {**os.environ, "PYTHONPATH": str(ROOT) if name == "kctl" else ""}
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600, env=environment)
    found: dict[str, float] = json.loads(ended.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--uvloop", action="store_true", help="run kctl on uvloop")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    given = parser.parse_args()
    pythons = {
        "kctl": Path(sys.executable),
        "aiokafka": Path(os.environ.get("KCTL_PEERS", cache_dir() / "peers")) / "bin" / "python",
    }
    is_missed = False
    with KafkaCluster(NEWEST_KAFKA) as kafka:
        servers, full = kafka.bootstrap(), kafka.create_topic(partitions=3)
        with Producer({"bootstrap.servers": servers}) as producer:
            for _ in range(0, given.records, 10_000):
                producer.send_columns(full, [b"x" * 100] * 10_000)
        for mode in given.modes.split(","):
            rounds: dict[str, list[dict[str, float]]] = {name: [] for name in pythons}
            for number in range(given.rounds + 1):
                for name, python in pythons.items():
                    topic = full if mode.startswith("consume") else kafka.create_topic(partitions=3)
                    is_uvloop = given.uvloop and name == "kctl"
                    found = measure(python, name, mode, servers, topic, given.records, is_uvloop=is_uvloop)
                    if number:
                        rounds[name].append(found)
            is_missed |= show(mode, rounds)
    return int(is_missed and given.check)


def show(mode: str, rounds: dict[str, list[dict[str, float]]]) -> bool:
    """Print the medians of a mode; return whether a bar is missed."""
    rates = {}
    for name, found in rounds.items():
        rates[name] = statistics.median(one["per_s"] for one in found)
        line = f"{mode:13} {name:9} {rates[name]:>9,.0f}/s"
        line += f" ({min(one['per_s'] for one in found):,.0f} to {max(one['per_s'] for one in found):,.0f})"
        line += f"  {statistics.median(one['cpu_us'] for one in found):5.1f} us of CPU a record"
        if "stall_max_ms" in found[0]:
            worst = [one["stall_max_ms"] for one in found]
            line += f"  stall {statistics.median(worst):.1f} ms ({min(worst):.1f} to {max(worst):.1f})"
            line += f", p99.9 {statistics.median(one['stall_p999_ms'] for one in found):.1f} ms"
            slices = [one["slice_max_ms"] for one in found]
            line += f"; CPU between turns {statistics.median(slices):.1f} ms ({min(slices):.1f} to {max(slices):.1f})"
            line += f", p99.9 {statistics.median(one['slice_p999_ms'] for one in found):.1f} ms"
        print(line, flush=True)
    ratio = rates["kctl"] / rates["aiokafka"]
    print(f"{mode:13} {ratio:.2f} x aiokafka", flush=True)
    stalls = [one.get("stall_max_ms", 0) for one in rounds["kctl"]]
    return ratio < BARS.get(mode, 0) or statistics.median(stalls) > MOST_STALL_MS


if __name__ == "__main__":
    sys.exit(main())
