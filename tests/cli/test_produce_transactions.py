"""`kctl produce --transactional`: all or nothing, as a read_committed consumer sees it."""

import json
import signal
import subprocess

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.broker_errors import ErrorCode
from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.server import ServedSandbox
from kctl.sandbox.triggers import MAX_FAILURES
from tests.cli.processes import end, kctl, line_with, running
from tests.support.bounds import bound


def _seen(bootstrap: str, topic: str, isolation: str = "read_committed") -> list[bytes]:
    read = kctl("consume", topic, "-b", bootstrap, "-e", "--isolation-level", isolation)
    assert read.code == 0
    return sorted(read.stdout.split())


def test_all(bootstrap: str, topic: str) -> None:
    sent = kctl("produce", topic, "-b", bootstrap, "--transactional", stdin=b"a\nb\nc\n")
    assert sent.code == 0
    assert sent.stderr.startswith("kctl produce: 3 records delivered (")
    assert _seen(bootstrap, topic) == [b"a", b"b", b"c"]
    assert kctl("produce", topic, "-b", bootstrap, "-q", "--transactional-id", f"{topic}-id", stdin=b"d\n").code == 0
    assert kctl("produce", topic, "-b", bootstrap, "-q", "--transactional-id", f"{topic}-id", stdin=b"e\n").code == 0
    assert len(_seen(bootstrap, topic)) == 5


def test_nothing_to_send(bootstrap: str, topic: str) -> None:
    assert kctl("produce", topic, "-b", bootstrap, "--transactional").stderr == "kctl produce: 0 records delivered\n"


def test_nothing_after_bad_input(bootstrap: str, topic: str) -> None:
    sent = kctl(
        "produce", topic, "-b", bootstrap, "--transactional", "-i", "jsonl", stdin=b'{"value":"a"}\n' * 50 + b"oops\n"
    )
    assert sent.code == ExitCode.DATA
    assert "kctl produce: transaction aborted: 0 of 50 records delivered" in sent.stderr
    assert "kctl produce: stdin line 51 (byte 700), column 1" in sent.stderr
    assert "NOT delivered" not in sent.stderr
    assert _seen(bootstrap, topic) == []


@pytest.mark.parametrize("options", [(), ("--tombstones",), ("--key-separator", ":"), ("--header", "a=b")])
def test_record_that_is_too_large_is_the_one_that_is_named(
    bootstrap: str, topic: str, options: tuple[str, ...]
) -> None:
    sent = kctl(
        "produce", topic, "-b", bootstrap, "--transactional", "-X", "max.request.size=1000", *options,
        stdin=b"a\nb\nc\n" + b"x" * 950 + b"\nd\n" + b"y" * 990 + b"\n",
    )  # fmt: skip
    assert sent.code == ExitCode.DATA
    assert "delivered" in sent.stderr
    assert "kctl produce: stdin line 4 (byte 6): cannot send a record of up to 10" in sent.stderr
    assert "max.request.size is 1000" in sent.stderr
    assert "line 1" not in sent.stderr
    assert "line 2" not in sent.stderr
    assert _seen(bootstrap, topic) == []


def test_nothing_when_a_broker_refuses_one(topic: str, cluster: ServedSandbox) -> None:
    small = f"{topic}-small"
    cluster.sandbox.create_topic(small, properties={"max.message.bytes": "200"})
    sent = kctl(
        "produce", small, "-b", cluster.bootstrap, "--transactional", "-X", "batch.size=1", "-p", "0",
        stdin=b"fits\n" * 5 + b"x" * 500 + b"\n" + b"fits\n" * 5,
    )  # fmt: skip
    assert sent.code == ExitCode.UNDELIVERED
    assert "transaction aborted: 0 of 11 records delivered" in sent.stderr
    assert "MESSAGE_TOO_LARGE" in sent.stderr
    assert _seen(cluster.bootstrap, small) == []


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGHUP, ExitCode.SIGHUP), (signal.SIGINT, ExitCode.SIGINT), (signal.SIGTERM, ExitCode.SIGTERM)],
    ids=["HUP", "INT", "TERM"],
)
def test_nothing_after_a_signal(bootstrap: str, topic: str, number: signal.Signals, code: ExitCode) -> None:
    with running("produce", topic, "-b", bootstrap, "--transactional") as process:
        _feed_and_wait(process, bootstrap, topic)
        ended = end(process, number)
    assert ended.code == code
    assert "kctl produce: transaction aborted: 0 of 1 record delivered" in ended.stderr
    assert _seen(bootstrap, topic) == []
    assert _seen(bootstrap, topic, "read_uncommitted") == [b"one"]


def test_ctrl_c_names_the_abort_of_the_transaction_and_the_second_one_ends_it() -> None:
    with (
        Sandbox(nodes=1, topics={"t": 1}).serve() as served,
        running("produce", "t", "-b", served.bootstrap, "--transactional") as process,
    ):
        _feed_and_wait(process, served.bootstrap, "t")
        served.sandbox.start_fault(1, Fault.FREEZE)
        process.send_signal(signal.SIGINT)
        line = line_with(process, "Press Ctrl-C again")
        assert line.startswith("kctl produce: waiting for up to ")
        assert "(--close-timeout) to abort the transaction, 0 records not acknowledged. Press Ctrl-C again" in line
        process.send_signal(signal.SIGINT)
        assert process.wait(bound(10)) == ExitCode.SIGINT


def test_a_transaction_whose_end_is_not_answered() -> None:
    with (
        Sandbox(nodes=1, topics={"t": 1}).serve() as served,
        running(
            "produce", "t", "-b", served.bootstrap, "--transactional-id", "mine", "--api-timeout", "1s",
            "--connect-timeout",
            "1s", "--close-timeout", "300ms", "--output", "json",
        ) as process,
    ):  # fmt: skip
        _feed_and_wait(process, served.bootstrap, "t")
        served.sandbox.start_fault(1, Fault.FREEZE)
        ended = end(process)
    assert ended.code == ExitCode.CLOSE_TIMEOUT
    messages = [json.loads(line) for line in ended.stderr.splitlines() if line.startswith("{")]
    assert messages[0]["message"] == "transaction not committed: 0 of 1 record delivered"
    assert messages[1]["message"].startswith(
        "transaction mine may be committed: no response to EndTxn (the broker aborts the transaction in "
    )
    assert messages[1]["hint"]
    assert json.loads(ended.stdout)["transaction"] == "unknown"


@pytest.mark.parametrize(("input_", "outcome"), [(b"fits\n", "committed"), (b"x" * 500, "aborted")])
def test_result_has_the_outcome_of_the_transaction(
    topic: str, cluster: ServedSandbox, input_: bytes, outcome: str
) -> None:
    small = f"{topic}-small"
    cluster.sandbox.create_topic(small, properties={"max.message.bytes": "200"})
    sent = kctl("produce", small, "-b", cluster.bootstrap, "--transactional", "--output", "json", stdin=input_)
    assert json.loads(sent.stdout)["transaction"] == outcome


def test_transaction_that_a_newer_producer_fenced_is_aborted_and_not_open(bootstrap: str, topic: str) -> None:
    with running("produce", topic, "-b", bootstrap, "--transactional-id", f"{topic}-id") as process:
        _feed_and_wait(process, bootstrap, topic)
        assert kctl("produce", topic, "-b", bootstrap, "--transactional-id", f"{topic}-id", stdin=b"newer\n").code == 0
        ended = end(process)
    assert f"transaction {topic}-id was aborted by a newer producer" in ended.stderr
    assert "still open" not in ended.stderr
    assert ended.code not in (ExitCode.OK, ExitCode.CLOSE_TIMEOUT)


def test_without_a_coordinator_nothing_is_sent(bootstrap: str, topic: str) -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        served.sandbox.fail_requests("InitProducerId", ErrorCode.COORDINATOR_NOT_AVAILABLE, times=MAX_FAILURES)
        ended = kctl(
            "produce", "t", "-b", served.bootstrap, "--transactional", "--api-timeout", "1s", "--connect-timeout", "1s",
            stdin=b"x\n",
        )  # fmt: skip
        assert _seen(served.bootstrap, "t", "read_uncommitted") == []
    assert ended.code == ExitCode.UNAVAILABLE
    assert "COORDINATOR_NOT_AVAILABLE" in ended.stderr


def _feed_and_wait(process: "subprocess.Popen[bytes]", bootstrap: str, topic: str) -> None:
    """Send a record and wait until a broker has it."""
    assert process.stdin is not None
    process.stdin.write(b"one\n")
    process.stdin.flush()
    read = kctl("consume", topic, "-b", bootstrap, "-n", "1", "--isolation-level", "read_uncommitted")
    assert read.stdout == b"one\n"
