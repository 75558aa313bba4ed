"""Other people's admin clients on the sandbox: topics, configs with sources, partitions, deleted records, as on Kafka.

Java's tools, confluent-kafka and kafka-python; what one changes, kctl and the others see.
"""

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import TopicPartition as ForeignPartition

from kctl.client import Admin, Producer
from kctl.client.admin import EARLIEST
from kctl.client.cluster import TopicPartition
from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.conformance.foreign.client import run_bounded
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import NEWEST_KAFKA, java_command, kafka_class_path

pytestmark = pytest.mark.nightly

WAIT_S = 30
confluent: Any = importlib.import_module("confluent_kafka.admin")
"""Its types hide what it exports."""


@pytest.fixture
def served() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=3).serve() as served:
        yield served


def fill(served: ServedSandbox, topic: str, count: int) -> None:
    with Producer({"bootstrap.servers": served.bootstrap}) as producer:
        for _ in range(count):
            producer.send(topic, b"x", partition=0)


def starts_at(served: ServedSandbox, topic: str) -> int:
    with Admin({"bootstrap.servers": served.bootstrap}) as admin:
        return admin.list_offsets({TopicPartition(topic, 0): EARLIEST})[TopicPartition(topic, 0)].offset


def test_confluent_admin_creates_configures_grows_trims_and_deletes(served: ServedSandbox) -> None:
    admin = confluent.AdminClient({"bootstrap.servers": served.bootstrap})
    admin.create_topics([confluent.NewTopic("t", 2, 3, config={"retention.ms": "1000"})])["t"].result(WAIT_S)
    change = confluent.ConfigResource(
        confluent.ResourceType.TOPIC,
        "t",
        incremental_configs=[
            confluent.ConfigEntry("cleanup.policy", "compact", incremental_operation=confluent.AlterConfigOpType.SET),
            confluent.ConfigEntry("retention.ms", None, incremental_operation=confluent.AlterConfigOpType.DELETE),
        ],
    )
    admin.incremental_alter_configs([change])[change].result(WAIT_S)
    resource = confluent.ConfigResource(confluent.ResourceType.TOPIC, "t")
    found = admin.describe_configs([resource])[resource].result(WAIT_S)
    policy, retention = found["cleanup.policy"], found["retention.ms"]
    assert (policy.value, confluent.ConfigSource(policy.source), policy.is_default) == (
        "compact",
        confluent.ConfigSource.DYNAMIC_TOPIC_CONFIG,
        False,
    )
    assert (retention.value, confluent.ConfigSource(retention.source)) == (
        "604800000",
        confluent.ConfigSource.DEFAULT_CONFIG,
    )
    back = confluent.ConfigResource(
        confluent.ResourceType.TOPIC,
        "t",
        incremental_configs=[
            confluent.ConfigEntry("cleanup.policy", "delete", incremental_operation=confluent.AlterConfigOpType.SET)
        ],
    )
    admin.incremental_alter_configs([back])[back].result(WAIT_S)  # a compacted log takes no records without a key
    admin.create_partitions([confluent.NewPartitions("t", 5)])["t"].result(WAIT_S)
    assert len(admin.list_topics("t", timeout=WAIT_S).topics["t"].partitions) == 5
    fill(served, "t", 6)
    [deleted] = admin.delete_records([ForeignPartition("t", 0, 4)]).values()
    assert deleted.result(WAIT_S).low_watermark == 4
    assert starts_at(served, "t") == 4
    broker = confluent.ConfigResource(confluent.ResourceType.BROKER, "2")
    assert admin.describe_configs([broker])[broker].result(WAIT_S)["node.id"].value == "2"
    admin.delete_topics(["t"])["t"].result(WAIT_S)
    assert "t" not in admin.list_topics(timeout=WAIT_S).topics


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_kafka_python_admin_creates_configures_grows_trims_and_deletes(served: ServedSandbox) -> None:
    from kafka.admin import ConfigResource as Resource
    from kafka.admin import ConfigResourceType, KafkaAdminClient
    from kafka.admin import NewPartitions as More
    from kafka.admin import NewTopic as Wanted
    from kafka.structs import TopicPartition as Partition

    admin = KafkaAdminClient(bootstrap_servers=served.bootstrap.split(","))
    try:
        admin.create_topics([Wanted("t", 2, 3, topic_configs={"retention.ms": "1000"})])
        assert "t" in admin.list_topics()
        configs = str(admin.describe_configs([Resource(ConfigResourceType.TOPIC, "t")]))
        assert "retention.ms" in configs
        assert "1000" in configs
        admin.create_partitions({"t": More(5)})
        assert len(served.sandbox.cluster.topics["t"].partitions) == 5
        fill(served, "t", 6)
        admin.delete_records({Partition("t", 0): 4})
        assert starts_at(served, "t") == 4
        admin.delete_topics(["t"])
        assert "t" not in served.sandbox.cluster.topics
    finally:
        admin.close()


def test_java_tools_describe_and_change_the_sandbox(served: ServedSandbox) -> None:
    path = have(lambda: kafka_class_path(NEWEST_KAFKA))

    def tool(name: str, *words: str) -> str:
        command = java_command(path, name, "--bootstrap-server", served.bootstrap, *words)
        return run_bounded(name, command, b"", WAIT_S).decode()

    topics, configs = "org.apache.kafka.tools.TopicCommand", "kafka.admin.ConfigCommand"
    tool(topics, "--create", "--topic", "t", "--partitions", "2", "--replication-factor", "3")
    entity = ("--entity-type", "topics", "--entity-name", "t")
    tool(configs, "--alter", *entity, "--add-config", "retention.ms=1000")
    described = tool(configs, "--describe", *entity, "--all")
    assert "retention.ms=1000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=1000" in described
    assert "DEFAULT_CONFIG:" in described
    tool(topics, "--alter", "--topic", "t", "--partitions", "5")
    assert "PartitionCount: 5" in tool(topics, "--describe", "--topic", "t")
    assert "t:4:0" in tool("org.apache.kafka.tools.GetOffsetShell", "--topic", "t")
    assert '"partition":"t-0"' in tool("org.apache.kafka.tools.LogDirsCommand", "--describe", "--topic-list", "t")
    assert "LeaderId:" in tool("org.apache.kafka.tools.MetadataQuorumCommand", "describe", "--status")
