"""When nothing comes, stderr says why: each reason from the situation itself. Bounds on real time are wide."""

import os
import select
import signal
import subprocess
from collections.abc import Iterator

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.broker_errors import ErrorCode
from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import BOUND_S, end, kctl, running
from tests.cli.records import send
from tests.sim.chaos.replies import Replies


def _until_said(words: str, *processes: "subprocess.Popen[bytes]") -> str:
    """Return what one of them has said on stderr when it says these words."""
    said = {process.stderr: b"" for process in processes if process.stderr is not None}
    while True:
        ready, _, _ = select.select(list(said), [], [], BOUND_S)
        assert ready, f"nobody says {words!r}, but {list(said.values())}"
        for stream in ready:
            said[stream] += (piece := os.read(stream.fileno(), 4096))
            assert piece, f"it ended before it said {words!r}: {said[stream]!r}"
            if words.encode() in said[stream]:
                return said[stream].decode()


def _written(process: "subprocess.Popen[bytes]") -> bytes:
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.fixture
def served() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as sandbox:
        yield sandbox


def test_at_the_end(served: ServedSandbox) -> None:
    with running("consume", "t", "--close-timeout", "1s", "-b", served.bootstrap) as process:
        assert _until_said("at the end", process) == "kctl consume: waiting: at the end of the partition\n"
        send(served.bootstrap, "t", 0, ["one"])
        assert _written(process) == b"one\n"


@pytest.mark.parametrize("group", [(), ("-g", "g")], ids=["alone", "group"])
def test_the_leader_is_gone(served: ServedSandbox, group: tuple[str, ...]) -> None:
    send(served.bootstrap, "t", 0, ["one"])
    with running("consume", "t", "--close-timeout", "1s", "-b", served.bootstrap, *group) as process:
        assert _written(process) == b"one\n"
        served.stop()
        _until_said("kctl consume: waiting: t-0: 127.0.0.1:", process)
        assert end(process, signal.SIGTERM).code == ExitCode.SIGTERM


def test_assigned_partitions_are_read_without_a_coordinator(served: ServedSandbox) -> None:
    with running("consume", "t", "--close-timeout", "1s", "-b", served.bootstrap, "-g", "g") as process:
        _until_said("at the end of the partition", process)
        served.sandbox.trouble_coordinator("g", ErrorCode.NOT_COORDINATOR)
        send(served.bootstrap, "t", 0, ["one"])
        assert _written(process) == b"one\n"


def test_no_share_for_one_of_two_members(served: ServedSandbox) -> None:
    member = ("consume", "t", "--close-timeout", "1s", "-b", served.bootstrap, "-g", "g")
    with running(*member) as first, running(*member) as second:
        said = _until_said("no partition for this member", first, second)
        assert said.count("no partition for this member") == 1, "told once"


def test_offsets_that_are_gone_are_told(served: ServedSandbox) -> None:
    send(served.bootstrap, "t", 0, [str(i) for i in range(10)])
    assert kctl("consume", "t", "-b", served.bootstrap, "-g", "g", "-n", "3").stdout == b"0\n1\n2\n"
    served.sandbox.delete_records("t", 0, 7)
    ended = kctl("consume", "t", "-b", served.bootstrap, "-g", "g", "-n", "3")
    assert (ended.code, ended.stdout) == (0, b"7\n8\n9\n")
    assert "offset 3 of t-0 no longer exists: continuing at offset 7, 4 offsets were lost\n" in ended.stderr


@pytest.mark.parametrize("goal", [("-n", "5"), ("-o", "0:5")], ids=" ".join)
def test_a_goal_that_a_dead_broker_keeps_away_ends_with_its_cause(served: ServedSandbox, goal: tuple[str, ...]) -> None:
    send(served.bootstrap, "t", 0, ["one"])
    with running("consume", "t", "--close-timeout", "1s", "-b", served.bootstrap, *goal, "--api-timeout", "3s", "-X",
                 "socket.connection.setup.timeout.ms=1000") as process:  # fmt: skip
        assert _written(process) == b"one\n"
        served.stop()
        ended = end(process)
    assert ended.code == ExitCode.REFUSED
    assert ") while waiting for records: t-0: " in ended.stderr


def test_a_frozen_leader_is_a_request_timeout(served: ServedSandbox) -> None:
    send(served.bootstrap, "t", 0, ["one"])
    limits = ("--api-timeout", "4s", "--request-timeout", "1s", "--connect-timeout", "1s")
    with running("consume", "t", "--close-timeout", "1s", "-b", served.bootstrap, "-n", "5", *limits) as process:
        assert _written(process) == b"one\n"
        served.sandbox.start_fault(1, Fault.FREEZE)
        ended = end(process)
    assert ended.code in (ExitCode.REQUEST_TIMEOUT, ExitCode.CONNECT_TIMEOUT)


@pytest.mark.parametrize("verbose", [(), ("-v",)], ids=["quiet", "verbose"])
@pytest.mark.parametrize("goal", [("-e",), ("-g", "g", "-n", "1")], ids=" ".join)
def test_leader_that_never_responds_to_list_offsets_is_named(
    served: ServedSandbox, goal: tuple[str, ...], verbose: tuple[str, ...]
) -> None:
    replies = Replies()
    replies.unanswered.add("ListOffsets")
    limits = ("--api-timeout", "2s", "--request-timeout", "600ms")
    with replies.installed():
        ended = kctl("consume", "t", "-b", served.bootstrap, *goal, *limits, *verbose)
    assert ended.code == ExitCode.REQUEST_TIMEOUT
    assert "while waiting for records: t-0: " in ended.stderr
    assert f"while waiting for the ListOffsets response from {served.bootstrap}" in ended.stderr
    lines = [line for line in ended.stderr.splitlines() if line]
    assert all(line.startswith(("kctl consume: ", "hint: ", "  ")) for line in lines), ended.stderr
