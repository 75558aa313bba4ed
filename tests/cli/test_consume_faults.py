"""What can happen to a member of a group, with the words and codes of the fault table (rows 39, 43, 44)."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.server import ServedSandbox
from kctl.sandbox.settings import ClusterSettings
from tests.cli.processes import end, kctl, running
from tests.cli.records import send

BOTH_PROTOCOLS = pytest.mark.parametrize("protocol", ["classic", "consumer"])


@pytest.fixture
def served() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as sandbox:
        yield sandbox


def _line(process: "subprocess.Popen[bytes]") -> bytes:
    assert process.stdout is not None
    return process.stdout.readline()


@BOTH_PROTOCOLS
def test_39_a_close_that_does_not_get_through(served: ServedSandbox, protocol: str) -> None:
    send(served.bootstrap, "t", 0, ["one", "two"])
    member = ("-g", "g", "-X", f"group.protocol={protocol}", "--close-timeout", "1s")
    rest = ("--idle-timeout", "2s", "-X", "fetch.max.wait.ms=10000")  # a broker may be silent for longer: no fault
    with running("consume", "t", "-b", served.bootstrap, *member, *rest) as process:
        assert [_line(process), _line(process)] == [b"one\n", b"two\n"]
        served.sandbox.start_fault(1, Fault.FREEZE)
        ended = end(process)
    assert ended.code == ExitCode.CLOSE_TIMEOUT
    assert "kctl consume: close timed out after " in ended.stderr
    assert "(--close-timeout) in phase " in ended.stderr
    assert "offsets committed: " in ended.stderr
    assert "the group removes this member " in ended.stderr


@BOTH_PROTOCOLS
def test_43_a_reader_that_is_too_slow(served: ServedSandbox, protocol: str) -> None:
    lines = [f"{at:04d} {'x' * 20_000}" for at in range(40)]
    send(served.bootstrap, "t", 0, lines)
    member = ("-g", "g", "-X", f"group.protocol={protocol}", "-X", "max.poll.interval.ms=1000")
    with running("consume", "t", "-b", served.bootstrap, *member) as process:
        assert process.stdout is not None
        first = os.read(process.stdout.fileno(), 5)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(4)  # the pipe is full, and nobody reads on
        ended = end(process)
    assert first == b"0000 "
    assert ended.code == ExitCode.UNAVAILABLE
    told = next(line for line in ended.stderr.splitlines() if "left the group: " in line)
    assert "s between polls exceeds max.poll.interval.ms (1s)" in told
    assert "max.poll.interval.ms" in ended.stderr
    assert "max.partition.fetch.bytes" in ended.stderr
    rest = kctl("consume", "t", "-b", served.bootstrap, "-g", "g", "-X", f"group.protocol={protocol}", "-e")
    assert set(lines) == set((first + ended.stdout + rest.stdout).decode().splitlines()), "nothing is lost"


@BOTH_PROTOCOLS
def test_44_another_process_with_the_same_static_name(served: ServedSandbox, protocol: str) -> None:
    send(served.bootstrap, "t", 0, ["one"])
    member = ("-g", "g", "-X", "group.instance.id=x", "-X", f"group.protocol={protocol}")
    often = ("-X", "heartbeat.interval.ms=200") if protocol == "classic" else ("--api-timeout", "3s")
    with (
        running("consume", "t", "-b", served.bootstrap, *member, *often) as first,
        running("consume", "t", "-b", served.bootstrap, *member, *often) as second,
    ):
        processes = [first, second]
        while all(process.poll() is None for process in processes):
            try:
                first.wait(0.2)
            except subprocess.TimeoutExpired:
                continue
        fenced = first if first.poll() is not None else second
        ended = end(fenced)
        end(second if fenced is first else first, signal.SIGTERM)
    assert ended.code == ExitCode.AUTHENTICATION
    assert "another process uses group.instance.id=x" in ended.stderr
    assert "hint: give each process its own group.instance.id" in ended.stderr
    assert ("Killed members keep their ID" in ended.stderr) == (protocol == "consumer")


def test_a_static_member_that_was_killed_comes_back_when_its_session_ends() -> None:
    settings = ClusterSettings(group_consumer_session_timeout_ms=9000, group_consumer_heartbeat_interval_ms=500)
    with Sandbox(nodes=1, topics={"t": 1}, settings=settings).serve() as served:
        send(served.bootstrap, "t", 0, ["one"])
        member = ("-g", "g", "-X", "group.instance.id=x", "-X", "group.protocol=consumer")
        with running("consume", "t", "-b", served.bootstrap, *member) as first:
            assert _line(first) == b"one\n"
            first.kill()
            first.wait()
        send(served.bootstrap, "t", 0, ["two"])
        ended = kctl(
            "consume", "t", "-b", served.bootstrap, *member, "--idle-timeout", "10s", "-n", "1", shows_waits=True
        )
    assert (ended.code, ended.stdout.splitlines()[:1]) in ((0, [b"one"]), (0, [b"two"]))
    assert "kctl consume: waiting: group.instance.id=x is in use" in ended.stderr
