"""Killed, terminated and cut off in the middle: every record reaches whoever reads the output at least once."""

import os
import select
import signal
from collections.abc import Iterator

import pytest

from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import BOUND_S, kctl, running

RECORDS = 6000
KILLS = 3


@pytest.fixture
def served() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=1, topics={"t": 2}).serve() as sandbox:
        for partition in (0, 1):  # half of them each: what -o 0:389 asks for is in both
            lines = b"".join(b"%06d %b\n" % (at, b"x" * 100) for at in range(partition, RECORDS, 2))
            assert kctl("produce", "t", "-p", str(partition), "-b", sandbox.bootstrap, "-q", stdin=lines).code == 0
        yield sandbox


def _numbers(output: bytes) -> list[int]:
    """Return what has come as whole lines: the last may be cut."""
    return [int(line[:6]) for line in output.split(b"\n")[:-1]]


def _rest(descriptor: int) -> bytes:
    """Return all that comes until the end of the output."""
    output = b""
    while select.select([descriptor], [], [], BOUND_S)[0]:
        piece = os.read(descriptor, 65536)
        if not piece:
            return output
        output += piece
    raise AssertionError("it was told to end, and does not")


def _committed(served: ServedSandbox) -> int:
    return sum(each.offset for each in served.sandbox.cluster.groups.offsets.get("g", {}).values())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, None], ids=str)
def test_every_record_at_least_once(served: ServedSandbox, number: signal.Signals | None) -> None:
    member = ("consume", "t", "-b", served.bootstrap, "-g", "g", "-X", "group.instance.id=x")
    seen: list[int] = []
    for kill in range(1, KILLS + 1):
        with running(*member, "-X", "max.partition.fetch.bytes=20000") as process:
            assert process.stdout is not None
            output = b""
            before = _committed(served)
            enough = min(350 * kill, RECORDS - before)  # one who was told to end may have written everything first
            while output.count(b"\n") < enough or (kill == 2 and before == _committed(served) < RECORDS):
                if select.select([process.stdout], [], [], 0.05)[0]:
                    piece = os.read(process.stdout.fileno(), 3000)
                    assert piece, "it has ended by itself"
                    output += piece
            if number is None:
                process.stdout.close()  # what lies in the pipe is lost for its reader, as with every pipe
                process.wait(BOUND_S)
            else:
                process.send_signal(number)
                output += _rest(process.stdout.fileno())
            seen += _numbers(output)
    rest = kctl(*member, "-e")
    assert rest.code == 0
    seen += _numbers(rest.stdout)
    missing = sorted(set(range(RECORDS)) - set(seen))
    if number is None:  # what the pipe had taken already, per cut: not more than its size
        assert len(missing) * 108 <= KILLS * 65536 * 2
    else:
        assert missing == []
    assert len(rest.stdout) < RECORDS * 108, "what was read before was committed, at least in part"


@pytest.mark.parametrize("ending", [("-n", "777"), ("-o", "0:389"), ("--idle-timeout", "2s")], ids=" ".join)
def test_each_end_commits_exactly_what_it_wrote(served: ServedSandbox, ending: tuple[str, ...]) -> None:
    ended = kctl("consume", "t", "-b", served.bootstrap, "-g", "g", *ending)
    assert ended.code == 0
    written = _numbers(ended.stdout)
    assert _committed(served) == len(written) > 0
    rest = kctl("consume", "t", "-b", served.bootstrap, "-g", "g", "-e")
    assert sorted(written + _numbers(rest.stdout)) == list(range(RECORDS)), "each exactly once"
