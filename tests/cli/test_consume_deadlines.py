"""Consume while some brokers do not serve: what can be read is printed, the rest is named, and the end is in time.

Whole processes against wide bounds on real time.
"""

import os
import select
import signal
import subprocess
from collections.abc import Iterator

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import BOUND_S, end, kctl, running
from tests.cli.records import send

FROZEN = "t-0: no response from broker "


@pytest.fixture
def served() -> Iterator[ServedSandbox]:
    """Three nodes and a topic whose three partitions have a leader each, with a record in each."""
    with Sandbox(nodes=3, topics={"t": 3}).serve() as sandbox:
        for partition in range(3):
            send(sandbox.bootstrap, "t", partition, [f"p{partition}"])
        yield sandbox


def _leader(served: ServedSandbox, partition: int) -> int:
    return served.sandbox.cluster.topics["t"].partitions[partition].leader_id


def _bootstrap(served: ServedSandbox, without: int) -> str:
    """Return the addresses of the nodes but one, so that the metadata is found at once."""
    return ",".join(address for node, address in enumerate(served.bootstrap.split(","), start=1) if node != without)


def _read_until(words: str, process: "subprocess.Popen[bytes]") -> str:
    """Return what is on stderr up to these words."""
    assert process.stderr is not None
    seen = b""
    while words.encode() not in seen:
        assert select.select([process.stderr], [], [], BOUND_S)[0], f"no {words!r} in {seen!r}"
        seen += (piece := os.read(process.stderr.fileno(), 4096))
        assert piece, f"it ended before {words!r}: {seen!r}"
    return seen.decode()


def _lines(process: "subprocess.Popen[bytes]", count: int) -> list[str]:
    assert process.stdout is not None
    return sorted(process.stdout.readline().decode().strip() for _ in range(count))


# --- a leader that freezes while it is read ---------------------------------------------------------------------------


@pytest.mark.parametrize("goal", [("-n", "99"), ("--idle-timeout", "25s"), ("-o", ":99")], ids=" ".join)
def test_leader_frozen_while_reading_ends_a_goal_by_the_api_timeout(
    served: ServedSandbox, goal: tuple[str, ...]
) -> None:
    frozen = _leader(served, 0)
    options = ("-b", served.bootstrap, "--api-timeout", "3s", "--close-timeout", "1s", *goal)
    with running("consume", "t", *options) as process:
        assert _lines(process, 3) == ["p0", "p1", "p2"]
        served.sandbox.start_fault(frozen, Fault.FREEZE)
        ended = end(process)  # well before the request timeout of 30 s
    assert ended.code in (ExitCode.REQUEST_TIMEOUT, ExitCode.API_TIMEOUT)
    assert f"no response from broker {frozen} for " in ended.stderr
    assert "at the end of the partition" not in ended.stderr


def test_following_reports_a_frozen_leader_and_reads_the_others(served: ServedSandbox) -> None:
    frozen = _leader(served, 0)
    with running("consume", "t", "-b", served.bootstrap, "--api-timeout", "1s", "--close-timeout", "1s") as process:
        assert _lines(process, 3) == ["p0", "p1", "p2"]
        served.sandbox.start_fault(frozen, Fault.FREEZE)
        _read_until(f"kctl consume: waiting: {FROZEN}{frozen} for ", process)
        other = next(partition for partition in (1, 2) if _leader(served, partition) != frozen)
        send(_bootstrap(served, frozen), "t", other, ["more"])
        assert _lines(process, 1) == ["more"]
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(3)  # --api-timeout ends no following
        served.sandbox.stop_fault(frozen, Fault.FREEZE)
        send(served.bootstrap, "t", 0, ["again"])
        assert _lines(process, 1) == ["again"]
        assert end(process, signal.SIGTERM).code == ExitCode.SIGTERM


# --- a leader that does not serve from the start ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "group",
    [(), ("-g", "g", "-o", "start"), ("-g", "g", "-o", "0")],
    ids=["alone", "group", "group that starts at an offset"],
)
@pytest.mark.parametrize("way", [("-e",), ("-n", "99"), ("-o", "@2020-01-01:end"), ("--tail", "9")], ids=" ".join)
def test_frozen_leader_at_the_start_hides_no_other_partition(
    served: ServedSandbox, way: tuple[str, ...], group: tuple[str, ...]
) -> None:
    if group and way[0] in ("--tail", "-o"):
        pytest.skip("a group decides where to start")
    frozen = _coordinatorless(served)
    served.sandbox.start_fault(frozen, Fault.FREEZE)
    healthy = [f"p{partition}" for partition in range(3) if _leader(served, partition) != frozen]
    options = ("--api-timeout", "8s", "--close-timeout", "1s", "--connect-timeout", "1s")
    ended = kctl("consume", "t", "-b", _bootstrap(served, frozen), *way, *group, *options)
    assert sorted(ended.stdout.decode().split()) == healthy
    assert ended.code == ExitCode.ADVERTISED_ADDRESS  # the others can be reached, the address of this one cannot
    missing = next(partition for partition in range(3) if _leader(served, partition) == frozen)
    assert f"t-{missing}: " in ended.stderr


def _coordinatorless(served: ServedSandbox) -> int:
    """Return a node that leads a partition and does not coordinate group g."""
    coordinator = served.sandbox.cluster.groups.node_of("g").node_id
    return next(node for node in range(1, 4) if node != coordinator)
