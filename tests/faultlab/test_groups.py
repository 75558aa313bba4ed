"""Faults of a group member on real Kafka, with both protocols: a frozen coordinator, a slow reader, a taken name."""

import os
import subprocess

import pytest

from tests.cli.processes import Ended, end, kctl, running
from tests.faultlab.lab import Run, check
from tests.support.kafka.cluster import KafkaCluster

pytestmark = pytest.mark.nightly

BOTH_PROTOCOLS = pytest.mark.parametrize("protocol", ["classic", "consumer"])


def _as_run(ended: Ended) -> Run:
    return Run("consume", ended.code, ended.stdout.decode(), ended.stderr, 0)


def _write(kafka: KafkaCluster, topic: str, lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines).encode()
    assert kctl("produce", topic, "-b", kafka.bootstrap(), "-q", stdin=text).code == 0


def _member(kafka: KafkaCluster, topic: str, protocol: str) -> tuple[str, ...]:
    return ("consume", topic, "-b", kafka.bootstrap(), "-g", topic, "-X", f"group.protocol={protocol}")


@BOTH_PROTOCOLS
def test_39_a_close_that_a_frozen_coordinator_holds_up(kafka_newest: KafkaCluster, protocol: str) -> None:
    topic = kafka_newest.create_topic()
    _write(kafka_newest, topic, ["one"])
    limits = ("--close-timeout", "1s", "--idle-timeout", "3s", "-X", "fetch.max.wait.ms=10000")  # 3 s are no silence
    with running(*_member(kafka_newest, topic, protocol), *limits) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"one\n"
        kafka_newest.node(1).freeze()
        try:
            ended = end(process)
        finally:
            kafka_newest.node(1).thaw()
    check(39, _as_run(ended))


@BOTH_PROTOCOLS
def test_43_too_long_between_two_polls(kafka_newest: KafkaCluster, protocol: str) -> None:
    topic = kafka_newest.create_topic()
    lines = [f"{number:04d} {'x' * 20_000}" for number in range(40)]
    _write(kafka_newest, topic, lines)
    with running(*_member(kafka_newest, topic, protocol), "-X", "max.poll.interval.ms=1000") as process:
        assert process.stdout is not None
        first = os.read(process.stdout.fileno(), 5)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(4)  # the pipe is full, and nobody reads on
        ended = end(process)
    check(43, _as_run(ended))
    rest = kctl(*_member(kafka_newest, topic, protocol), "-e")
    assert set((first + ended.stdout + rest.stdout).decode().splitlines()) == set(lines), "nothing is lost"


@BOTH_PROTOCOLS
def test_44_a_static_name_that_another_process_has(kafka_newest: KafkaCluster, protocol: str) -> None:
    topic = kafka_newest.create_topic()
    _write(kafka_newest, topic, ["one"])
    # KIP-848: a second process waits for the end of the first until --api-timeout
    member = (*_member(kafka_newest, topic, protocol), "-X", "group.instance.id=x", "--api-timeout", "5s")
    if protocol == "classic":
        member += ("-X", "heartbeat.interval.ms=200")
    with running(*member) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"one\n"
        with running(*member) as second:
            fenced = first if protocol == "classic" else second  # KIP-848 keeps who came first
            ended = end(fenced)
            assert (second if fenced is first else first).poll() is None, "the other one goes on"
    check(44, _as_run(ended))
