"""Account of an input: after a run, `kctl produce` reads lines while brokers fail, temporarily or permanently.

Its output and files must state the result of each line, and the line from which to send the input again.
"""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.sandbox import Fault
from kctl.sandbox.triggers import MAX_FAILURES
from tests.sim.chaos.history import CLUSTER
from tests.sim.chaos.plan import NODES
from tests.sim.chaos_producer.producer_cluster import BOOTSTRAP, ProducerCluster
from tests.sim.virtual import LinkFault, sim_runtime
from tests.support.in_process import Ended, run_in_process

INPUT = "input"
PARTITIONS = 2
API_MS = 4000
SLACK_MS = 300
"""Time after a fault in which earlier sends may be delivered."""
BUFFER_BYTES = 20_000
LINES = (1, 40, 300, 900)
"""Up to several buffers; the first fill none."""
FAULTS = ("freeze", "refuse", "error")
_NOT_SENT = re.compile(r"line (\d+) (?:\(byte \d+\) )?and later records were NOT sent")
_NOT_READ = re.compile(r"no input after .*line (\d+) (?:\(byte \d+\) )?was (?:read|sent or saved)")
_DELIVERED = re.compile(r"(?m)^kctl produce: (\d+) records? delivered")
_FAILED = re.compile(r"(?m)^kctl produce: (\d+) records? NOT delivered")


def account(world: ProducerCluster) -> None:
    """Play one case, and record the result and the report of each line."""
    rng = world.hub.rng("input account")
    world.sandbox.cluster.create_topic(INPUT, PARTITIONS)
    count, is_file, is_json, keeps = rng.choice(LINES), rng.random() < 0.5, rng.random() < 0.3, rng.random() < 0.5
    rate = rng.choice(["", "200/s", "500/s"])
    fault, is_lasting = rng.choice(FAULTS), rng.random() < 0.7
    at_ms = rng.choice([0, 400, 1200] if rate else [0, 4, 8, 12])
    lines = b"".join(_line(number, is_json=is_json) for number in range(1, count + 1))
    began_ms = world.hub.now_ms
    world.hub.call_later_ms(at_ms, "story", lambda: _begin(world, fault))
    if not is_lasting:
        world.hub.call_later_ms(at_ms + rng.choice([300, 2000]), "story", lambda: _end(world))
    with TemporaryDirectory(prefix="kctl-account-") as folder:
        source, kept = Path(folder, "lines"), Path(folder, "kept")
        source.write_bytes(lines)
        words = ["produce", INPUT, *([str(source)] if is_file else []), "-b", BOOTSTRAP]
        words += ["--api-timeout", f"{API_MS}ms", "-X", f"buffer.memory={BUFFER_BYTES}", "-X", "batch.size=2000"]
        words += ["-i", "jsonl"] if is_json else []
        words += ["--rate", rate] if rate else []
        words += ["--undelivered", str(kept)] if keeps else []
        runtime = sim_runtime(world.hub, "produce", world.network, world.resolver)
        ended = run_in_process(*words, stdin=b"" if is_file else lines, runtime=runtime)
        in_file = kept.read_bytes().splitlines() if kept.exists() else []
    took_ms = world.hub.now_ms - began_ms
    _end(world)
    world.hub.sleep_ms(API_MS)  # what a frozen broker has of it is written now
    tps = [TopicPartition(INPUT, partition) for partition in range(PARTITIONS)]
    written = [int(name) for tp in tps for _, name in world.records(tp)]
    has_limit = is_lasting and not keeps
    world.history.event(
        CLUSTER,
        "accounted",
        {
            "lines": count,
            "written": sorted(written),
            "kept": [int(json.loads(line)["value"].split()[0]) for line in in_file] if keeps else None,
            "took_ms": took_ms,
            "limit_ms": at_ms + API_MS + SLACK_MS if has_limit else None,
            **_said(ended),
        },
    )


def _line(number: int, *, is_json: bool) -> bytes:
    value = f"{number} ".ljust(100, "x")
    return (json.dumps({"value": value}) if is_json else value).encode() + b"\n"


def _said(ended: Ended) -> dict[str, Any]:
    def number(pattern: re.Pattern[str]) -> int | None:
        found = pattern.search(ended.stderr)
        return int(found[1]) if found else None

    return {
        "code": int(ended.code),
        "delivered": number(_DELIVERED) or 0,
        "failed": number(_FAILED) or 0,
        "not_sent": number(_NOT_SENT),
        "read_to": number(_NOT_READ),
        "said": ended.stderr[-600:],
    }


def _begin(world: ProducerCluster, fault: str) -> None:
    for node in range(1, NODES + 1):
        if fault == "freeze":
            world.sandbox.start_fault(node, Fault.FREEZE)
        elif fault == "error":
            world.sandbox.fail_requests("Produce", ErrorCode.NOT_ENOUGH_REPLICAS, times=MAX_FAILURES, node_id=node)
    if fault == "refuse":
        for connection in world.network.connections_of():
            connection.cut()
        world.network.faults.start(LinkFault.REFUSE)


def _end(world: ProducerCluster) -> None:
    world.network.faults.heal()
    world.sandbox.heal()
