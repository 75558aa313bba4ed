"""What could not be delivered is named, kept in a file, and sent again from it: then every record is there once."""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.broker_errors import ErrorCode
from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.server import ServedSandbox
from kctl.sandbox.triggers import MAX_FAILURES
from tests.cli.processes import BOUND_S, end, kctl, running

RECORDS = 300


def _numbers(served: ServedSandbox, topic: str) -> list[int]:
    return sorted(int(line) for line in kctl("consume", topic, "-b", served.bootstrap, "-e").stdout.split())


def test_undelivered_file_is_produced_after_the_fault(tmp_path: Path) -> None:
    file = tmp_path / "undelivered.jsonl"
    lines = b"".join(b"k%d:%d\n" % (i, i) for i in range(RECORDS))
    with Sandbox(nodes=3, topics={"t": 3}).serve() as served:
        served.sandbox.fail_requests("Produce", ErrorCode.NOT_ENOUGH_REPLICAS, times=MAX_FAILURES, node_id=2)
        sent = kctl(
            "produce", "t", "-b", served.bootstrap, "-K", ":", "-H", "h", "--delivery-timeout", "1500ms",
            "--undelivered", str(file), stdin=lines,
        )  # fmt: skip
        assert sent.code == ExitCode.UNDELIVERED
        kept = [json.loads(line) for line in file.read_bytes().splitlines()]
        there = _numbers(served, "t")
        assert 0 < len(kept) < RECORDS
        assert sorted([*there, *(int(record["value"]) for record in kept)]) == list(range(RECORDS))
        partitions = {record["partition"] for record in kept}
        assert len(partitions) == 1
        assert f"kctl produce: {len(kept)} records NOT delivered, the oldest failed after " in sent.stderr
        assert f"  t-{partitions.pop()}: {len(kept)}: " in sent.stderr
        assert "(--delivery-timeout" in sent.stderr
        assert "NOT_ENOUGH_REPLICAS" in sent.stderr
        assert (
            f"{len(kept)} records saved. Send the file with: kctl produce -i jsonl --topic-from-record" in sent.stderr
        )
        assert all(record["headers"] == [["h", None]] and record["cause"] for record in kept)
        served.sandbox.heal()
        again = kctl("produce", "-b", served.bootstrap, "-i", "jsonl", "--topic-from-record", str(file))
        assert again.stderr.startswith(f"kctl produce: {len(kept)} records delivered")
        assert _numbers(served, "t") == list(range(RECORDS))
        read = kctl("consume", "t", "-b", served.bootstrap, "-e", "--output", "jsonl").stdout.splitlines()
    found = {record["value"]: record for record in map(json.loads, read)}
    for record in kept:
        for name in ("timestamp", "key", "headers", "partition"):
            assert found[record["value"]][name] == record[name]


def test_nothing_left_leaves_no_file(bootstrap: str, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "undelivered.jsonl"
    sent = kctl("produce", topic, "-b", bootstrap, "--undelivered", str(file), stdin=b"x\n")
    assert (sent.code, sent.stderr.count("\n")) == (0, 1)
    assert not file.exists()


def test_the_record_that_was_not_even_taken_is_kept_too(refused: str, tmp_path: Path) -> None:
    file = tmp_path / "undelivered.jsonl"
    sent = kctl(
        "produce", "t", "-b", refused, "--api-timeout", "300ms", "--connect-timeout", "300ms", "--undelivered",
        str(file), stdin=b"one\ntwo\n",
    )  # fmt: skip
    assert sent.code == ExitCode.REFUSED
    assert "stdin line 1 (byte 0) and later records were NOT sent" in sent.stderr
    records = [json.loads(line) for line in file.read_bytes().splitlines()]
    assert [(each["topic"], each["value"], each["partition"]) for each in records] == [
        ("t", "one", None),
        ("t", "two", None),
    ]
    assert all("refused" in each["cause"] for each in records)
    assert file.stat().st_mode & 0o777 == 0o600


def test_undelivered_file_follows_no_symbolic_link(refused: str, tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "victim")
    link = str(tmp_path / "link.jsonl")
    sent = kctl("produce", "t", "-b", refused, "--api-timeout", "300ms", "--undelivered", link, stdin=b"one\n")
    assert sent.code == ExitCode.USAGE
    assert "symbolic links are not followed" in sent.stderr.replace("\n", " ")
    assert not (tmp_path / "victim").exists()


def test_a_full_memory_ends_it_and_both_are_told() -> None:
    with (
        Sandbox(nodes=1, topics={"t": 1}).serve() as served,
        running(
            "produce", "t", "-b", served.bootstrap, "-X", "buffer.memory=1000", "--api-timeout", "1s",
            "--delivery-timeout", "60s", "--connect-timeout", "1s", "--close-timeout", "300ms",
        ) as process,
    ):  # fmt: skip
        _feed(process, b"one\n")
        assert kctl("consume", "t", "-b", served.bootstrap, "-n", "1").stdout == b"one\n"
        served.sandbox.start_fault(1, Fault.FREEZE)
        _feed(process, b"x" * 600 + b"\n" + b"y" * 600 + b"\n")
        ended = end(process)
    assert ended.code == ExitCode.UNDELIVERED
    assert "1 record delivered" in ended.stderr
    assert "1 record NOT delivered" in ended.stderr
    assert "stdin line 3 (byte 605) and later records were NOT sent" in ended.stderr
    assert "(--api-timeout" in ended.stderr
    assert "bytes of buffer.memory (" in ended.stderr


def test_a_file_that_takes_no_more_does_not_hide_the_account(topic: str, cluster: ServedSandbox) -> None:
    cluster.sandbox.create_topic(f"{topic}-small", properties={"max.message.bytes": "100"})
    sent = kctl(
        "produce", f"{topic}-small", "-b", cluster.bootstrap, "--undelivered", "/dev/full", stdin=b"x" * 500 + b"\n"
    )
    assert sent.code == ExitCode.UNDELIVERED
    assert "only 0 records saved in --undelivered /dev/full" in sent.stderr
    assert "No space left on device" in sent.stderr


def _feed(process: "subprocess.Popen[bytes]", line: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(line)
    process.stdin.flush()


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGHUP, ExitCode.SIGHUP), (signal.SIGINT, ExitCode.SIGINT), (signal.SIGTERM, ExitCode.SIGTERM)],
    ids=["HUP", "INT", "TERM"],
)
def test_a_signal_ends_within_the_close_timeout_and_the_counts_are_told(
    tmp_path: Path, number: signal.Signals, code: ExitCode
) -> None:
    file = tmp_path / "undelivered.jsonl"
    with (
        Sandbox(nodes=1, topics={"t": 1}).serve() as served,
        running(
            "produce", "t", "-b", served.bootstrap, "--close-timeout", "500ms", "--undelivered", str(file)
        ) as process,
    ):
        _feed(process, b"one\n")
        assert kctl("consume", "t", "-b", served.bootstrap, "-n", "1").stdout == b"one\n"
        served.sandbox.start_fault(1, Fault.FREEZE)
        _feed(process, b"two\nthree\n")
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
        ended = end(process, number)
    lines = [line for line in ended.stderr.splitlines() if "Press Ctrl-C again" not in line]
    assert ended.code == code
    assert lines[0] == "kctl produce: 1 record delivered (t-0: 1)"
    assert (
        "kctl produce: 2 records NOT delivered, 2 of which may have been written, the oldest failed after "
        in ended.stderr
    )
    assert "(--close-timeout" in ended.stderr
    assert lines[-1] == f"kctl produce: {code.text}"
    kept = [json.loads(line) for line in file.read_bytes().splitlines()]
    assert [(record["value"], record["perhaps_written"]) for record in kept] == [("two", True), ("three", True)]


def test_a_signal_while_the_last_records_are_waited_for(tmp_path: Path) -> None:
    with (
        Sandbox(nodes=1, topics={"t": 1}).serve() as served,
        running("produce", "t", "-b", served.bootstrap, "--close-timeout", "5s") as process,
    ):
        _feed(process, b"one\n")
        assert kctl("consume", "t", "-b", served.bootstrap, "-n", "1").stdout == b"one\n"
        served.sandbox.start_fault(1, Fault.FREEZE)
        _feed(process, b"two\n")
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        process.send_signal(signal.SIGINT)  # what is left of the one budget since the end of the input
        assert process.wait(BOUND_S) == ExitCode.SIGINT
        assert process.stderr is not None
        told = process.stderr.read().decode()
    assert "1 record delivered" in told
    assert "1 record NOT delivered" in told
    assert "(--close-timeout" in told


@pytest.mark.parametrize(
    "options",
    [(), ("--rate", "1000/s"), ("-i", "jsonl"), ("-i", "jsonl", "--rate", "1000/s")],
    ids=["blocks", "paced", "jsonl", "paced-jsonl"],
)
def test_whoever_follows_the_account_loses_no_line_of_a_pipe(
    tmp_path: Path, refused: str, options: tuple[str, ...]
) -> None:
    """All up to the line of the account is delivered or in the file."""
    file = tmp_path / "undelivered.jsonl"
    lines = [b"%d" % number for number in range(8)]
    shape = b'{"value":"%s"}\n' if "jsonl" in options else b"%s\n"
    with running(
        "produce", "t", "-b", refused, "--api-timeout", "1s", "--undelivered", str(file), *options
    ) as process:  # fmt: skip
        _feed(process, b"".join(shape % line for line in lines[:5]))
        assert process.wait(BOUND_S) != 0
        assert process.stderr is not None
        said = process.stderr.read().decode()
    found = re.search(r"no input after stdin line (\d+) \(byte \d+\) was (read|sent or saved)", said)
    assert found is not None, said
    kept = [json.loads(line)["value"].encode() for line in file.read_bytes().splitlines()]
    assert kept + lines[int(found[1]) :] == lines


def test_without_a_file_for_them_no_more_is_read_once_records_fail() -> None:
    with (
        Sandbox(nodes=1, topics={"t": 1}).serve() as served,
        running("produce", "t", "-b", served.bootstrap, "--api-timeout", "1s", "--close-timeout", "1s") as process,
    ):
        _feed(process, b"one\n")
        assert kctl("consume", "t", "-b", served.bootstrap, "-n", "1").stdout == b"one\n"
        served.sandbox.start_fault(1, Fault.FREEZE)
        _feed(process, b"two\n")
        assert process.stderr is not None
        assert b"not delivered" in process.stderr.readline()
        _feed(process, b"three\n")
        assert process.wait(BOUND_S) == ExitCode.UNDELIVERED  # its stdin is open still
        said = process.stderr.read().decode()
    assert "stdin line 3 (byte 8) and later records were NOT sent" in said
    assert "no input after stdin line 3 (byte 8) was read" in said
