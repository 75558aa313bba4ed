"""`kctl configs` and `kctl topics alter` on Kafka 4.3.1, 3.9.1 and 2.8.2, read back by Kafka's own tools."""

import json
from typing import Any

import pytest

from tests.cli.processes import Ended, kctl
from tests.support.kafka.cluster import KafkaCluster

CONFIGS = "kafka.admin.ConfigCommand"
CLIENT_METRICS = "org.apache.kafka.tools.ClientMetricsCommand"


@pytest.fixture(params=["kafka_newest", "kafka_3_9"])
def with_telemetry(request: pytest.FixtureRequest) -> KafkaCluster:
    """A broker of a release that has client metrics (3.7)."""
    found: KafkaCluster = request.getfixturevalue(request.param)
    return found


def run(kafka: KafkaCluster, *words: str) -> Ended:
    return kctl(*words, "-b", kafka.bootstrap())


def changed(kafka: KafkaCluster, *resource: str) -> dict[str, Any]:
    ended = run(kafka, "configs", "show", *resource, "--changed", "--output", "json")
    assert ended.code == 0, ended
    return {row["key"]: (row["value"], row["source"], row["default"]) for row in json.loads(ended.stdout)["rows"]}


def is_reported(kafka: KafkaCluster, resource: tuple[str, str], key: str, *expected: str) -> bool:
    """Return whether a value, and its source where given, is what a broker reports: the change has waited for that."""
    found: tuple[Any, ...] = changed(kafka, *resource).get(key, ())
    return found[: len(expected)] == expected


def described_by_java(kafka: KafkaCluster, kind: str, name: str) -> str:
    words = ("--entity-type", kind, *(("--entity-default",) if not name else ("--entity-name", name)))
    return kafka.run_tool(CONFIGS, "--bootstrap-server", kafka.bootstrap(), "--describe", *words)


@pytest.mark.nightly
def test_configs_of_topics_and_brokers_are_read_back_by_java(any_kafka: KafkaCluster) -> None:
    topic = any_kafka.create_topic()
    assert run(any_kafka, "configs", "set", "topic", topic, "retention.ms=1234567", "segment.ms=99999").code == 0
    assert "retention.ms=1234567" in described_by_java(any_kafka, "topics", topic)
    assert changed(any_kafka, "topic", topic)["retention.ms"] == ("1234567", "DYNAMIC_TOPIC_CONFIG", "604800000")
    assert run(any_kafka, "configs", "unset", "topic", topic, "retention.ms").code == 0
    assert changed(any_kafka, "topic", topic)["retention.ms"][1] == "STATIC_BROKER_CONFIG"
    assert "segment.ms=99999" in described_by_java(any_kafka, "topics", topic)
    assert run(any_kafka, "configs", "set", "broker-defaults", "log.cleaner.threads=2").code == 0
    assert "log.cleaner.threads=2" in described_by_java(any_kafka, "brokers", "")
    assert changed(any_kafka, "broker-defaults")["log.cleaner.threads"][1] == "DYNAMIC_DEFAULT_BROKER_CONFIG"
    assert run(any_kafka, "configs", "unset", "broker-defaults", "log.cleaner.threads").code == 0


def test_configs_that_java_has_set_are_shown(any_kafka: KafkaCluster) -> None:
    topic = any_kafka.create_topic()
    words = ("--entity-type", "topics", "--entity-name", topic, "--add-config", "max.message.bytes=4321")
    any_kafka.run_tool(CONFIGS, "--bootstrap-server", any_kafka.bootstrap(), "--alter", *words)
    assert is_reported(any_kafka, ("topic", topic), "max.message.bytes", "4321")


def test_topics_get_partitions_and_properties_or_nothing(any_kafka: KafkaCluster) -> None:
    topic = any_kafka.create_topic(partitions=2)
    refused = run(any_kafka, "topics", "alter", topic, "--partitions", "1", "--config", "retention.ms=5")
    assert (refused.code, refused.stderr.startswith("kctl topics: nothing was changed\n")) == (2, True), refused
    assert changed(any_kafka, "topic", topic)["retention.ms"][1] == "STATIC_BROKER_CONFIG"
    ended = run(any_kafka, "topics", "alter", topic, "--partitions", "4", "--config", "retention.ms=5", "--yes")
    assert ended.code == 0, ended
    described = run(any_kafka, "topics", "describe", topic, "--output", "jsonl")
    assert len(described.stdout.splitlines()) == 4
    configs = run(any_kafka, "topics", "describe", topic, "--configs", "--output", "json")
    assert {"retention.ms": "5"}.items() <= {
        row["key"]: row["value"] for row in json.loads(configs.stdout)["rows"]
    }.items()


@pytest.mark.parametrize(
    ("pair", "says"),
    [("no.such=1", "no.such"), ("retention.ms=soon", "retention.ms"), ("cleanup.policy=burn", "cleanup.policy")],
)
def test_impossible_property_is_refused_by_every_release(any_kafka: KafkaCluster, pair: str, says: str) -> None:
    topic = any_kafka.create_topic()
    ended = run(any_kafka, "configs", "set", "topic", topic, pair)
    assert (ended.code, says in ended.stderr) == (2, True), ended


def test_groups_and_client_metrics_of_a_new_release_have_configs(kafka_newest: KafkaCluster) -> None:
    assert run(kafka_newest, "configs", "set", "group", "g", "consumer.session.timeout.ms=50000").code == 0
    assert is_reported(kafka_newest, ("group", "g"), "consumer.session.timeout.ms", "50000", "DYNAMIC_GROUP_CONFIG")
    assert "consumer.session.timeout.ms=50000" in described_by_java(kafka_newest, "groups", "g")
    words = ("--entity-type", "groups", "--entity-name", "g", "--add-config", "consumer.heartbeat.interval.ms=7000")
    kafka_newest.run_tool(CONFIGS, "--bootstrap-server", kafka_newest.bootstrap(), "--alter", *words)
    assert is_reported(kafka_newest, ("group", "g"), "consumer.heartbeat.interval.ms", "7000")
    keys = ("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms")
    assert run(kafka_newest, "configs", "unset", "group", "g", *keys).code == 0
    assert "50000" not in described_by_java(kafka_newest, "groups", "g")


@pytest.mark.nightly
def test_client_metrics_are_what_the_tools_of_kafka_see_and_the_other_way_round(with_telemetry: KafkaCluster) -> None:
    kafka = with_telemetry

    def client_metrics(*words: str) -> str:
        return kafka.run_tool(CLIENT_METRICS, "--bootstrap-server", kafka.bootstrap(), *words)

    pairs = ("interval.ms=60000", "metrics=org.apache.kafka.consumer.", "match=client_id=app")
    assert run(kafka, "configs", "set", "client-metrics", "m", *pairs).code == 0
    for seen in (described_by_java(kafka, "client-metrics", "m"), client_metrics("--describe", "--name", "m")):
        assert all(pair in seen for pair in pairs), seen
    client_metrics("--alter", "--name", "by-java", "--metrics", "org.apache.kafka.producer.", "--interval", "30000")
    found = {key: value for key, (value, *_) in changed(kafka, "client-metrics", "by-java").items()}
    assert found == {"interval.ms": "30000", "metrics": "org.apache.kafka.producer."}
    words = ("--entity-type", "client-metrics", "--entity-name", "m", "--add-config", "interval.ms=5000")
    kafka.run_tool(CONFIGS, "--bootstrap-server", kafka.bootstrap(), "--alter", *words)
    assert is_reported(kafka, ("client-metrics", "m"), "interval.ms", "5000")
    assert run(kafka, "configs", "unset", "client-metrics", "m", "interval.ms", "metrics", "match").code == 0
    client_metrics("--delete", "--name", "by-java")
    assert changed(kafka, "client-metrics", "by-java") == {}
    assert "5000" not in client_metrics("--describe", "--name", "m")
