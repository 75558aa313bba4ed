"""`kctl api` on Kafka 4.3.1, 3.9.1 and 2.8.2: reads what Kafka has, and what it changes is read back otherwise."""

import json
from typing import Any

import pytest

from kctl.client.admin import Admin, ConfigResource, NewTopic, ResourceType
from tests.cli.processes import kctl
from tests.support.kafka.cluster import KafkaCluster

READS = (
    "Metadata",
    "ListGroups",
    "DescribeLogDirs",
    "DescribeClientQuotas",
    "ListPartitionReassignments",
)


def api(kafka: KafkaCluster, name: str, fields: object, *words: str) -> Any:
    ended = kctl("api", name, json.dumps(fields), "-b", kafka.bootstrap(), *words)
    assert ended.code == 0, ended
    return json.loads(ended.stdout)


@pytest.mark.parametrize("name", READS)
def test_apis_that_read_are_answered_by_every_release(any_kafka: KafkaCluster, name: str) -> None:
    fields = {"topics": None} if name in ("Metadata", "DescribeLogDirs", "ListPartitionReassignments") else {}
    response = api(any_kafka, name, fields | ({"components": []} if name == "DescribeClientQuotas" else {}))
    assert response.get("errorCode", 0) == 0


def test_configs_and_partitions_are_changed_and_read_back(any_kafka: KafkaCluster) -> None:
    topic = "api-changed"
    with Admin({"bootstrap.servers": any_kafka.bootstrap()}) as admin:
        admin.create_topics([NewTopic(topic, 1, 1)]).raise_first()
        change = {"name": "retention.ms", "configOperation": 0, "value": "123456"}
        resource = {"resourceType": 2, "resourceName": topic, "configs": [change]}
        api(any_kafka, "IncrementalAlterConfigs", {"Resources": [resource]}, "--execute")
        api(any_kafka, "CreatePartitions", {"topics": [{"name": topic, "count": 3, "assignments": None}]})
        described = ConfigResource(ResourceType.TOPIC, topic)
        assert admin.describe_configs([described])[described]["retention.ms"].value == "123456"
        assert len(admin.describe_topics([topic])[topic].partitions) == 3
        api(any_kafka, "DeleteTopics", {"topicNames": [topic]}, "--execute", "--version", "3")
        assert topic not in admin.list_topics()


def test_offsets_of_a_group_are_fetched_in_the_form_of_old_and_new_releases(any_kafka: KafkaCluster) -> None:
    assert api(any_kafka, "OffsetFetch", {"groupId": "nobody", "topics": None})["errorCode"] == 0


def test_a_topic_id_leads_to_the_leader_of_the_partition(kafka_three: KafkaCluster) -> None:
    topic = kafka_three.create_topic(partitions=3)
    described = api(kafka_three, "Metadata", {"topics": [{"name": topic}]})["topics"][0]
    for partition in described["partitions"]:
        asked = [{"partition": partition["partitionIndex"], "fetchOffset": 0, "partitionMaxBytes": 1000}]
        fields = {"topics": [{"topicId": described["topicId"], "partitions": asked}], "maxBytes": 1000}
        [found] = api(kafka_three, "Fetch", fields)["responses"]
        assert found["partitions"][0]["errorCode"] == 0


def test_the_quorum_of_a_cluster_with_kraft_is_described(kafka_newest: KafkaCluster) -> None:
    asked = {"topics": [{"topicName": "__cluster_metadata", "partitions": [{"partitionIndex": 0}]}]}
    [topic] = api(kafka_newest, "DescribeQuorum", asked)["topics"]
    assert topic["partitions"][0]["leaderId"] >= 0


def test_an_api_that_the_broker_does_not_have_is_named(kafka_2_8: KafkaCluster) -> None:
    ended = kctl("api", "DescribeTopicPartitions", "-b", kafka_2_8.bootstrap())
    assert ended.code == 15
    assert "the broker does not support DescribeTopicPartitions (API key 75)" in ended.stderr
