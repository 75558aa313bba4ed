"""`kctl bench` on a sandbox: counts, ends, and that nothing is left."""

import json
import signal

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.broker_errors import ErrorCode
from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.server import ServedSandbox
from kctl.sandbox.triggers import MAX_FAILURES
from tests.cli.processes import BOUND_S, end, kctl, running
from tests.cli.screen import Screen
from tests.cli.terminal import Terminal
from tests.support.bounds import bound
from tests.support.kafka.waiting import wait_until


def _scratch_topics(cluster: ServedSandbox) -> list[str]:
    return [name for name in cluster.sandbox.cluster.topics if name.startswith("kctl-bench-")]


@pytest.mark.parametrize(("kind", "records"), [("produce", 2000), ("consume", 2000), ("end-to-end", 50)])
def test_everything_is_counted_and_nothing_is_left(cluster: ServedSandbox, kind: str, records: int) -> None:
    ended = kctl(
        "bench", kind, "-b", cluster.bootstrap, "--records", str(records), "--record-size", "200B", "--output", "json",
        "--partitions", "2",
    )  # fmt: skip
    assert (ended.code, ended.stderr) == (0, "")
    (figures,) = json.loads(ended.stdout)["rows"]
    assert (figures["test"], figures["records"], figures["bytes"]) == (kind, records, records * 200)
    assert figures["failed"] == 0
    latencies = [figures[f"{name}_ms"] for name in ("p50", "p95", "p99", "p999", "max")]
    assert latencies == sorted(latencies)
    assert 0 < latencies[0] < 30_000
    assert figures["records_per_s"] == pytest.approx(records * 1000 / figures["elapsed_ms"], rel=1e-3)
    assert _scratch_topics(cluster) == []


def test_a_topic_that_was_there_stays(cluster: ServedSandbox, topic: str) -> None:
    ended = kctl("bench", "produce", "-b", cluster.bootstrap, "--topic", topic, "-n", "100")
    assert ended.stdout.splitlines()[0] == b"records     100"
    assert kctl("bench", "consume", "-b", cluster.bootstrap, "--topic", topic, "-n", "500").stdout.startswith(
        b"records     100\n"  # all there are
    )
    assert len(kctl("consume", topic, "-b", cluster.bootstrap, "-e", "-f", "%i\\n").stdout.splitlines()) == 100


def test_a_rate(cluster: ServedSandbox) -> None:
    for kind in ("produce", "end-to-end"):
        ended = kctl("bench", kind, "-b", cluster.bootstrap, "-n", "100", "--rate", "100/s", "--output", "json")
        assert 50 < json.loads(ended.stdout)["rows"][0]["records_per_s"] <= 102


def test_bench_ends_by_its_limit_with_what_was_measured(cluster: ServedSandbox) -> None:
    ended = kctl(
        "bench",
        "end-to-end",
        "-b",
        cluster.bootstrap,
        "--rate",
        "20/s",
        "--api-timeout",
        "2s",
        "--connect-timeout",
        "2s",
    )
    assert ended.code == ExitCode.API_TIMEOUT
    assert "timed out after 2s (--api-timeout): measured " in ended.stderr
    assert 1 < int(ended.stdout.split()[1]) < 45
    assert _scratch_topics(cluster) == []


def test_a_broker_that_stands_still_does_not_hold_it() -> None:
    with (
        Sandbox(nodes=1, topics={"t": 1}).serve() as served,
        running(
            "bench", "produce", "-b", served.bootstrap, "--topic", "t", "--rate", "50/s", "--api-timeout", "2s",
            "--connect-timeout", "2s",
        ) as process,
    ):  # fmt: skip
        assert kctl("consume", "t", "-b", served.bootstrap, "-n", "1").code == 0
        served.sandbox.start_fault(1, Fault.FREEZE)
        ended = end(process)
    assert ended.code == ExitCode.API_TIMEOUT
    assert ended.stdout.startswith(b"records ")


def test_ctrl_c_tells_what_was_measured_and_cleans_up(cluster: ServedSandbox) -> None:
    with running("bench", "end-to-end", "-b", cluster.bootstrap, "-n", "1000000") as process:

        def has_measured() -> bool:  # the third record is sent once the second has been received
            return any(cluster.sandbox.end_offset(topic, 0) > 2 for topic in _scratch_topics(cluster))

        wait_until(has_measured, BOUND_S * 1000, "the third record")
        ended = end(process, signal.SIGINT)
    assert (ended.code, ended.stderr) == (ExitCode.SIGINT, "kctl bench: interrupted (Ctrl-C)\n")
    assert 1 < int(ended.stdout.split()[1]) < 1_000_000
    assert _scratch_topics(cluster) == []


@pytest.mark.parametrize("kind", ["produce", "end-to-end"])
def test_failures_are_counted_and_have_their_reason(kind: str) -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        served.sandbox.fail_requests("Produce", ErrorCode.MESSAGE_TOO_LARGE, times=MAX_FAILURES)
        ended = kctl("bench", kind, "-b", served.bootstrap, "--topic", "t", "-n", "10", "--output", "json")
    assert ended.code == ExitCode.UNDELIVERED
    (figures,) = json.loads(ended.stdout)["rows"]
    assert (figures["records"], figures["failed"], figures["p50_ms"]) == (0, 10, None)
    assert "10 records not delivered" in ended.stderr
    assert "MESSAGE_TOO_LARGE" in ended.stderr


def test_a_topic_that_is_not_there(bootstrap: str) -> None:
    ended = kctl(
        "bench", "consume", "-b", bootstrap, "--topic", "no-such", "--api-timeout", "1s", "--connect-timeout", "1s"
    )
    assert ended.code == ExitCode.UNKNOWN_RESOURCE
    assert ended.stdout == b""


def test_without_a_broker_it_ends_by_the_api_timeout_and_has_nothing_to_delete(silent: str) -> None:
    ended = kctl("bench", "produce", "-b", silent, "--api-timeout", "500ms", "--close-timeout", "20s", "-n", "1")
    assert ended.code == 12
    assert "cannot delete temporary topic" not in ended.stderr


@pytest.mark.parametrize("columns", [40, 80])
def test_progress_on_a_terminal_is_gone_at_the_end(cluster: ServedSandbox, columns: int) -> None:
    with Terminal(
        "bench", "produce", "-b", cluster.bootstrap, "-n", "60", "--rate", "40/s", columns=columns, with_stderr=True
    ) as terminal:
        shown = terminal.read_all()
        assert terminal.process.wait(bound(30)) == 0
    assert b" records, " in shown
    assert b"[##" in shown
    lines = Screen().show(shown.decode())
    assert lines[0] == "records     60"
    assert not any("/s, " in line and "#" in line for line in lines)
