"""Faults of producing, on real Kafka: records that are not delivered, a transaction without an end, a quota."""

import signal
import subprocess

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import Ended, end, kctl, running
from tests.faultlab.lab import Run, check
from tests.support.kafka.cluster import KafkaCluster

pytestmark = pytest.mark.nightly

LIMITS = ("--connect-timeout", "1s", "--request-timeout", "1s", "--close-timeout", "1s")
QUOTA_BYTES = 10_000
"""A second, averaged over the ten that Kafka looks back: what is more is paused for."""
RECORDS = 125
SIZE_BYTES = 1_000


def _as_run(ended: Ended) -> Run:
    return Run("produce", ended.code, ended.stdout.decode(), ended.stderr, 0)


def _feed(process: "subprocess.Popen[bytes]", lines: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(lines)
    process.stdin.flush()


def _wait_written(kafka: KafkaCluster, topic: str) -> None:
    """Return when the log has a record, and its writer had time to hear of it."""
    read = kctl("consume", topic, "-b", kafka.bootstrap(), "-n", "1", "--isolation-level", "read_uncommitted")
    assert read.code == 0, read


@pytest.mark.parametrize("way", ["delivery timeout", "Ctrl-C"])
def test_40_a_leader_that_stands_still_while_records_wait(kafka_newest: KafkaCluster, way: str) -> None:
    topic = kafka_newest.create_topic()
    limit = ("--delivery-timeout", "2s") if way == "delivery timeout" else ()
    with running("produce", topic, "-b", kafka_newest.bootstrap(), *LIMITS, *limit) as process:
        _feed(process, b"one\n")
        _wait_written(kafka_newest, topic)
        kafka_newest.node(1).freeze()
        try:
            _feed(process, b"two\nthree\nfour\n")
            if way == "Ctrl-C":
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(0.5)
            ended = end(process, signal.SIGINT if way == "Ctrl-C" else None)
        finally:
            kafka_newest.node(1).thaw()
    run = _as_run(ended)
    check(40, run, code=ExitCode.SIGINT if way == "Ctrl-C" else None)
    assert f"kctl produce: 1 record delivered ({topic}-0: 1)\n" in run.said
    assert (
        "kctl produce: 3 records NOT delivered, 3 of which may have been written, the oldest failed after " in run.said
    )
    assert f"\n  {topic}-0: 3: " in run.said


def test_42_a_commit_that_nobody_answers(kafka_newest: KafkaCluster) -> None:
    topic = kafka_newest.create_topic()
    produce = ("produce", topic, "-b", kafka_newest.bootstrap(), "--transactional-id", topic)
    assert kctl(*produce, "-q", stdin=b"").code == 0, "the first one lets the broker make its internal topic"
    with running(*produce, *LIMITS, "--api-timeout", "3s") as process:
        _feed(process, b"one\n")
        _wait_written(kafka_newest, topic)
        kafka_newest.node(1).freeze()
        try:
            ended = end(process)
        finally:
            kafka_newest.node(1).thaw()
    check(42, _as_run(ended))
    assert "kctl produce: transaction not committed: 0 of 1 record delivered\n" in ended.stderr


def test_48_a_quota_is_kept_and_told(kafka_newest: KafkaCluster) -> None:
    """The broker does not read on for longer than a request may take: nobody must take that for silence."""
    topic = kafka_newest.create_topic()
    quota = ["--alter", "--add-config", f"producer_byte_rate={QUOTA_BYTES}", "--entity-type", "clients"]
    bootstrap = kafka_newest.bootstrap()
    kafka_newest.run_tool("kafka.admin.ConfigCommand", "--bootstrap-server", bootstrap, *quota, "--entity-name", topic)
    lines = b"".join(b"%0*d\n" % (SIZE_BYTES, number) for number in range(RECORDS))
    ended = kctl(
        "produce", topic, "-b", bootstrap, "-X", f"client.id={topic}", *LIMITS, "--close-timeout", "20s", "--trace",
        stdin=lines,
    )  # fmt: skip
    check(48, _as_run(ended))
    assert "Produce throttled for " in ended.stderr
    assert "no response to" not in ended.stderr
    assert f"kctl produce: {RECORDS} records delivered ({topic}-0: {RECORDS})\n" in ended.stderr
    assert kctl("consume", topic, "-b", bootstrap, "-e").stdout == lines
