"""Incidents of an operator on three real brokers: red until the fault is over, rows of the others, true outcomes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.producer import Producer
from tests.cli.processes import Ended, kctl
from tests.conformance.foreign.group_place import PARTITIONS, coordinator, group_in
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster, KafkaNode
from tests.support.kafka.waiting import wait_until

pytestmark = pytest.mark.nightly

NOTICED_MS = bound(90_000)
SILENT = ("--connect-timeout", "2s")


def run(node: KafkaNode, *words: str, api_timeout: str = "40s") -> Ended:
    """Return how a command with this bootstrap server alone ended."""
    address = f"127.0.0.1:{node.ports['PLAINTEXT']}"
    return kctl(*words, "-b", address, "--api-timeout", api_timeout, "--output", "json")


def rows(ended: Ended) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ended.stdout)["rows"]
    return found


def findings(ended: Ended) -> set[str]:
    return {row["id"] for row in rows(ended)}


@contextmanager
def frozen(kafka: KafkaCluster, *nodes: KafkaNode) -> Iterator[None]:
    """Freeze nodes; all brokers take part again at the end."""
    for node in nodes:
        node.freeze()
    try:
        yield
    finally:
        for node in nodes:
            node.thaw()
        first = kafka.node(1)
        wait_until(lambda: run(first, "wait", "brokers", "3").code == ExitCode.OK, NOTICED_MS, "three brokers")
        wait_until(lambda: run(first, "cluster", "quorum").code == ExitCode.OK, NOTICED_MS, "a controller")


def quorum_leader(node: KafkaNode) -> int | None:
    """Return the leader of the quorum; None while there is none."""
    ended = run(node, "cluster", "quorum")
    return json.loads(ended.stdout)["leader_id"] if ended.code == ExitCode.OK else None


def test_broker_that_is_frozen_is_red_before_and_after_it_is_fenced(kafka_three: KafkaCluster) -> None:
    topic = kafka_three.create_topic(partitions=6)
    first = kafka_three.node(1)
    other = next(node for node in kafka_three.nodes[1:] if node.number != quorum_leader(first))
    assert run(first, "probe", *SILENT).code == ExitCode.OK
    with frozen(kafka_three, other):
        assert run(first, "probe", *SILENT).code == ExitCode.PARTIAL_FAILURE

        def is_fenced() -> bool:
            states = {row["broker"]: row["state"] for row in rows(run(first, "cluster", "describe"))}
            return states.get(other.number) == "fenced"

        wait_until(is_fenced, NOTICED_MS, "the controller to fence the broker")
        for words in (("probe", *SILENT), ("cluster", "describe"), ("brokers", "log-dirs")):
            assert run(first, *words).code == ExitCode.PARTIAL_FAILURE, words
        ended = run(first, "why", "cluster")
        assert (ended.code, "broker-fenced" in findings(ended)) == (ExitCode.PARTIAL_FAILURE, True), ended
        assert "broker-missing" not in findings(ended), "it is registered"
        waited = run(first, "wait", "brokers", "3", api_timeout="2s")
        assert (waited.code, f"fenced: {other.number}" in waited.stderr) == (ExitCode.API_TIMEOUT, True), waited
    wait_until(lambda: run(first, "probe", *SILENT).code == ExitCode.OK, NOTICED_MS, f"the leaders of {topic}")


def test_controller_is_the_leader_of_the_quorum_through_a_failover(kafka_three: KafkaCluster) -> None:
    def controllers(node: KafkaNode) -> set[int]:
        return {json.loads(run(node, "cluster", "describe").stdout)["controller_id"] for _ in range(6)}

    before = quorum_leader(kafka_three.node(1))
    assert before is not None
    assert controllers(kafka_three.node(1)) == {before}
    other = next(node for node in kafka_three.nodes if node.number != before)
    with frozen(kafka_three, kafka_three.node(before)):
        wait_until(lambda: quorum_leader(other) not in (before, None), NOTICED_MS, "another controller")
        assert controllers(other) == {quorum_leader(other)}


def test_leader_that_is_frozen_hides_no_partition_of_another_broker(kafka_three: KafkaCluster) -> None:
    topic = kafka_three.create_topic(partitions=6, replication=1)
    first = kafka_three.node(1)
    other = next(node for node in kafka_three.nodes[1:] if node.number != quorum_leader(first))
    led = {number for number in range(6) if kafka_three.leader(topic, number).number == other.number}
    assert 0 < len(led) < 6
    with Producer({"bootstrap.servers": kafka_three.bootstrap()}) as producer:
        for number in range(6):
            producer.send(topic, b"x", partition=number)
    place = next(each for each in range(PARTITIONS) if coordinator(kafka_three, each).number != other.number)
    group = group_in(place, f"of-{topic}")
    with Consumer({"bootstrap.servers": kafka_three.bootstrap(), "group.id": group}) as consumer:
        consumer.commit_sync({TopicPartition(topic, number): 1 for number in range(6)})
    with frozen(kafka_three, other):
        offsets = run(first, "topics", "offsets", topic, api_timeout="8s")
        ends = {row["partition"]: row["end"] for row in rows(offsets)}
        assert {number for number, end in ends.items() if end == 1} == set(range(6)) - led, offsets
        lag = run(first, "groups", "lag", group, api_timeout="8s")
        lags = {row["partition"]: row["lag"] for row in rows(lag)}
        assert {number for number, value in lags.items() if value == 0} == set(range(6)) - led, lag
        assert (offsets.code, lag.code) == (ExitCode.PARTIAL_FAILURE, ExitCode.PARTIAL_FAILURE)


def test_quorum_without_a_majority_is_found_and_a_change_is_unknown(kafka_three: KafkaCluster) -> None:
    topic = f"{kafka_three.create_topic()}-later"
    first, *others = kafka_three.nodes
    with frozen(kafka_three, *others):
        created = run(first, "topics", "create", topic, api_timeout="15s")
        assert created.code in (ExitCode.REQUEST_TIMEOUT, ExitCode.API_TIMEOUT), created.stderr
        assert "The change may have been made" in created.stderr
        assert f"kctl topics describe {topic}" in created.stderr
        ended = run(first, "why", "cluster", api_timeout="20s")
        assert (ended.code, "no-quorum" in findings(ended)) == (ExitCode.PARTIAL_FAILURE, True), ended
    assert run(first, "topics", "create", topic, "--if-not-exists").code == ExitCode.OK


@pytest.mark.parametrize(
    ("listener", "protocol", "code"),
    [
        ("PLAINTEXT", "SSL", ExitCode.WRONG_PROTOCOL),
        ("SSL", "PLAINTEXT", ExitCode.WRONG_PROTOCOL),
        ("SASL_PLAINTEXT", "PLAINTEXT", ExitCode.AUTHENTICATION),
    ],
)
def test_listener_that_does_not_fit_ends_a_command_before_its_timeout(
    kafka_three: KafkaCluster, listener: str, protocol: str, code: int
) -> None:
    words = ("topics", "list", "-b", kafka_three.bootstrap(listener), "-X", f"security.protocol={protocol}")
    ended = kctl(*words, "--api-timeout", "10m")
    assert (ended.code, "timed out" in ended.stderr) == (code, False), ended


def test_partition_without_a_commit_counts_for_the_threshold(kafka_three: KafkaCluster) -> None:
    topic = kafka_three.create_topic(partitions=2)
    with Producer({"bootstrap.servers": kafka_three.bootstrap()}) as producer:
        for number in (0, 1, 1, 1):
            producer.send(topic, b"x", partition=number)
    with Consumer({"bootstrap.servers": kafka_three.bootstrap(), "group.id": f"of-{topic}"}) as consumer:
        consumer.commit_sync({TopicPartition(topic, 0): 1})
    ended = run(kafka_three.node(1), "groups", "lag", f"of-{topic}", "--threshold", "2")
    assert ended.code == ExitCode.PARTIAL_FAILURE, ended
    assert [(row["partition"], row["lag"], row["note"]) for row in rows(ended)] == [
        (0, 0, None),
        (1, None, "no committed offset"),
    ]
