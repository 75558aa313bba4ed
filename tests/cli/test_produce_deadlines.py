"""How long produce takes to end when a broker freezes: whole processes against wide bounds on real time."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.grammar.durations import parse_duration_ms
from kctl.sandbox import Fault, Sandbox
from tests.cli.processes import end, kctl, line_with, running
from tests.support.bounds import bound


@contextmanager
def _frozen_with_one_outstanding(*options: str) -> "Iterator[subprocess.Popen[bytes]]":
    """Run a produce that has one record delivered and one outstanding at a frozen broker."""
    with (
        Sandbox(nodes=1, topics={"t": 1}).serve() as served,
        running("produce", "t", "-b", served.bootstrap, *options) as process,
    ):
        assert process.stdin is not None
        process.stdin.write(b"one\n")
        process.stdin.flush()
        assert kctl("consume", "t", "-b", served.bootstrap, "-n", "1").stdout == b"one\n"
        served.sandbox.start_fault(1, Fault.FREEZE)
        process.stdin.write(b"two\n")
        process.stdin.flush()
        yield process


def test_ctrl_c_with_records_outstanding_names_the_wait_and_the_second_one_ends_it() -> None:
    with _frozen_with_one_outstanding() as process:
        with pytest.raises(subprocess.TimeoutExpired):  # it reads the record meanwhile
            process.wait(timeout=bound(1))
        process.send_signal(signal.SIGINT)
        line = line_with(process, "Press Ctrl-C again")
        assert re.fullmatch(
            r"kctl produce: waiting for up to (29|30)s \(--close-timeout\) for brokers to acknowledge 1 record. "
            r"Press Ctrl-C again to exit immediately",
            line,
        ), line
        process.send_signal(signal.SIGINT)
        assert process.wait(bound(10)) == ExitCode.SIGINT


def _end_input(process: "subprocess.Popen[bytes]") -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.stdin = None


@pytest.mark.parametrize("limit", ["--close-timeout", "--api-timeout"])
def test_end_of_input_with_a_frozen_broker_ends_by_the_given_timeout(limit: str) -> None:
    with _frozen_with_one_outstanding(limit, "2s") as process:
        ended = end(process)  # closes stdin; the delivery timeout of 120 s is far beyond the bound
    assert ended.code == ExitCode.UNDELIVERED
    assert "1 record delivered" in ended.stderr
    assert "1 record NOT delivered" in ended.stderr
    if limit == "--close-timeout":
        figures = re.search(r"timed out after (\S+) \(--close-timeout ?(\S*)\) while", ended.stderr)
        assert figures is not None, ended.stderr
        given_ms = parse_duration_ms(figures[2] or figures[1])
        assert 1900 <= given_ms <= parse_duration_ms(figures[1]), "the message reports the time that the user gave"


def test_delivery_timeout_wins_over_api_timeout_for_outstanding_records() -> None:
    with _frozen_with_one_outstanding("--api-timeout", "1s", "--delivery-timeout", "60s") as process:
        _end_input(process)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(4)


def test_signal_during_close_still_ends_by_the_close_timeout() -> None:
    """That the timeout does not start again is shown in virtual time, by tests/unit/cli/produce/test_run.py."""
    with _frozen_with_one_outstanding("--close-timeout", "5s") as process:
        _end_input(process)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        process.send_signal(signal.SIGINT)
        assert process.wait(bound(30)) == ExitCode.SIGINT


def test_every_line_of_a_block_that_memory_accepts_in_part_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "undelivered.jsonl"
    lines = [b"%0100d" % number for number in range(400)]
    with _frozen_with_one_outstanding(
        "-X", "buffer.memory=20000", "--api-timeout", "2s", "--delivery-timeout", "60s", "--close-timeout", "100ms",
        "--undelivered", str(file),
    ) as process:  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(b"\n".join(lines) + b"\n")
        process.stdin.flush()
        assert process.wait(bound(30)) == ExitCode.UNDELIVERED
        assert process.stderr is not None
        told = process.stderr.read().decode()
    assert "and later records were NOT sent" in told
    kept = [json.loads(line)["value"].encode() for line in file.read_bytes().splitlines()]
    assert sorted(kept) == sorted([b"two", *lines])


@pytest.mark.parametrize("options", [(), ("--input", "jsonl")])
def test_delivery_timeout_bounds_the_wait_for_metadata(tmp_path: Path, options: tuple[str, ...]) -> None:
    file = tmp_path / "undelivered.jsonl"
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        served.sandbox.start_fault(1, Fault.FREEZE)
        sent = kctl(
            "produce", "t", "-b", served.bootstrap, "--delivery-timeout", "1s", "--request-timeout", "900ms",
            "--api-timeout", "1h", "--undelivered", str(file), *options, stdin=b'{"value":"a"}\n{"value":"b"}\n',
        )  # fmt: skip
    assert sent.code == ExitCode.UNDELIVERED
    assert "(--delivery-timeout" in sent.stderr
    assert "stdin line 1 (byte 0) and later records were NOT sent" in sent.stderr
    kept = [json.loads(line)["value"] for line in file.read_bytes().splitlines()]
    assert kept == (["a", "b"] if options else ['{"value":"a"}', '{"value":"b"}'])
