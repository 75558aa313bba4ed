"""Memory of produce: stdin is read no faster than brokers take records, and a large record is copied few times."""

import json
import os
import select
import signal
import subprocess
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import ClusterSettings, Fault, Sandbox
from tests.cli.processes import KCTL, end, environment, kctl, measure

BUFFER_BYTES = 4 * 1024 * 1024
RECORD = b"x" * 999 + b"\n"
QUIET_S = 2
"""A pipe that takes nothing for so long has a reader that waits."""
ENDLESS_BYTES = 256 * 1024 * 1024
"""Without back-pressure all of it would be taken."""
MOST_GROWTH_BYTES = 32 * 1024 * 1024


def _resident_bytes(process: "subprocess.Popen[bytes]") -> int:
    with open(f"/proc/{process.pid}/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _pour(descriptor: int) -> int:
    """Write records until nobody takes them any more; return how many bytes were taken."""
    os.set_blocking(descriptor, False)
    data = RECORD * 64
    taken = 0
    while taken < ENDLESS_BYTES and select.select([], [descriptor], [], QUIET_S)[1]:
        taken += os.write(descriptor, data[taken % len(data) :])
    return taken


def test_a_frozen_broker_and_an_endless_input() -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        process = subprocess.Popen(
            [
                *KCTL, "produce", "t", "-b", served.bootstrap,
                "-X", f"buffer.memory={BUFFER_BYTES}", "--close-timeout", "1s",
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
        )  # fmt: skip
        try:
            assert process.stdin is not None
            process.stdin.write(RECORD)
            process.stdin.flush()
            assert kctl("consume", "t", "-b", served.bootstrap, "-n", "1").stdout == RECORD
            before_bytes = _resident_bytes(process)
            served.sandbox.start_fault(1, Fault.FREEZE)
            taken = _pour(process.stdin.fileno())
            growth_bytes = _resident_bytes(process) - before_bytes
            os.set_blocking(process.stdin.fileno(), True)
            ended = end(process, signal.SIGINT)
        finally:
            process.kill()
            process.wait()
    assert BUFFER_BYTES * 0.8 < taken < BUFFER_BYTES * 2
    assert growth_bytes < MOST_GROWTH_BYTES
    assert ended.code == ExitCode.SIGINT
    assert "1 record delivered" in ended.stderr
    assert "records NOT delivered" in ended.stderr


LARGE_BYTES = 32 * 1024 * 1024


def _peak_bytes(*words: str, stdin: bytes = b"", to: Path) -> int:
    """Run a command that succeeds, with its output in a file; return its peak memory."""
    measured = measure(*words, "-q", stdin=stdin, to=to)
    assert measured.code == ExitCode.OK, measured.stderr
    return measured.peak_bytes


@pytest.mark.parametrize(
    ("unit", "most_copies"),
    [(b"some text", (2.2, 2.2)), (b'a \\"value\\" of JSON', (4.5, 2.2))],
    ids=["plain", "escaped"],
)
def test_large_record_is_copied_few_times_as_jsonl(
    tmp_path: Path, unit: bytes, most_copies: tuple[float, float]
) -> None:
    line = b'{"value":"%b"}\n' % (unit * (LARGE_BYTES // len(unit)))
    settings = ClusterSettings(message_max_bytes=2 * LARGE_BYTES)
    limits = ["-X", f"max.request.size={2 * LARGE_BYTES}", "-X", f"buffer.memory={2 * LARGE_BYTES}"]
    with Sandbox(nodes=1, topics={"small": 1, "large": 1}, settings=settings).serve() as served:

        def peaks(topic: str, stdin: bytes) -> tuple[int, int]:
            common = ["-b", served.bootstrap]
            out = tmp_path / "stdout"
            produced = _peak_bytes("produce", topic, "-i", "jsonl", *limits, *common, stdin=stdin, to=out)
            consumed = _peak_bytes("consume", topic, "-e", "--output", "jsonl", *common, to=out)
            assert json.loads(out.read_bytes())["value"] == json.loads(stdin)["value"]
            return produced, consumed

        small = peaks("small", b'{"value":"v"}\n')
        large = peaks("large", line)
    copies = [(peak - before) / len(line) for before, peak in zip(small, large, strict=True)]
    assert copies[0] <= most_copies[0], copies
    assert copies[1] <= most_copies[1], copies
