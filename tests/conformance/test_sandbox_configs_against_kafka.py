"""Configs, pages of topics and log directories: the same outcomes from the sandbox and from Kafka's newest broker."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.cluster import (
    FeatureUpdateKey,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from kctl.client.protocol.api.configs import AlterableConfig as ChangedConfig
from kctl.client.protocol.api.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from kctl.client.protocol.api.configs import (
    AlterConfigsRequestAlterableConfig as AlterableConfig,
)
from kctl.client.protocol.api.configs import (
    AlterConfigsRequestAlterConfigsResource as AlterConfigsResource,
)
from kctl.client.protocol.api.configs import AlterConfigsResource as ChangedResource
from kctl.client.protocol.api.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from kctl.client.protocol.api.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from kctl.sandbox import Sandbox
from tests.loopback.sandbox.peer import Peer
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

pytestmark = pytest.mark.nightly

TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8
SET, APPEND, SUBTRACT = 0, 2, 3
DEFAULT = 5
NAMES = {int(code): code.name for code in ErrorCode}
PATIENCE_MS = bound(30_000)
Outcome = tuple[str, str | None]


class _Operator(NamedTuple):
    """Requests about the topics a and b of a cluster, whose names have a prefix."""

    peer: Peer
    prefix: str

    def create(self) -> None:
        topics = [
            CreatableTopic(name=self.prefix + name, num_partitions=count, replication_factor=1)
            for name, count in (("a", 3), ("b", 2))
        ]
        made = self.peer.call(CreateTopicsRequest(topics=topics), CreateTopicsResponse, 7)
        assert [each.error_code for each in made.topics] == [0, 0]
        wait_until(lambda: all(code == "NONE" for code, *_ in self.page("a", "b")[0]), PATIENCE_MS, "topics")

    def replace(self, *pairs: tuple[str, str | None], topic: str = "a", **more: Any) -> Outcome:
        configs = [AlterableConfig(name=name, value=value) for name, value in pairs]
        resource = AlterConfigsResource(resource_type=TOPIC, resource_name=self.prefix + topic, configs=configs)
        request = AlterConfigsRequest(resources=[resource], **more)
        (done,) = self.peer.call(request, AlterConfigsResponse, 2).responses
        return NAMES[done.error_code], done.error_message and done.error_message.replace(self.prefix, "")

    def change(self, operation: int, value: str, key: str = "cleanup.policy") -> Outcome:
        change = ChangedConfig(name=key, config_operation=operation, value=value)
        resource = ChangedResource(resource_type=TOPIC, resource_name=f"{self.prefix}a", configs=[change])
        request = IncrementalAlterConfigsRequest(resources=[resource])
        (done,) = self.peer.call(request, IncrementalAlterConfigsResponse, 1).responses
        return NAMES[done.error_code], done.error_message

    def is_set(self) -> dict[str, str | None]:
        """Return what is set of topic a."""
        resource = DescribeConfigsResource(
            resource_type=TOPIC, resource_name=f"{self.prefix}a", configuration_keys=None
        )
        request = DescribeConfigsRequest(resources=[resource])
        (found,) = self.peer.call(request, DescribeConfigsResponse, 4).results
        return {each.name: each.value for each in found.configs if each.config_source == 1}

    def becomes(self, properties: dict[str, str]) -> dict[str, str]:
        """Wait until these are set of topic a: Kafka answers before each broker knows of a change."""
        wait_until(lambda: self.is_set() == properties, PATIENCE_MS, f"{properties} of a topic")
        return properties

    def page(self, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> Any:
        topics = [TopicRequest(name=self.prefix + name) for name in names]
        request = DescribeTopicPartitionsRequest(topics=topics, response_partition_limit=limit)
        if cursor is not None:
            request.cursor = Cursor(topic_name=self.prefix + cursor[0], partition_index=cursor[1])
        got = self.peer.call(request, DescribeTopicPartitionsResponse, 0)
        pages = [
            (
                NAMES[topic.error_code],
                (topic.name or "").removeprefix(self.prefix),
                topic.is_internal,
                topic.topic_authorized_operations,
                [
                    (NAMES[each.error_code], each.partition_index, len(each.replica_nodes), each.last_known_elr)
                    for each in topic.partitions
                ],
            )
            for topic in got.topics
        ]
        after = got.next_cursor
        return pages, after and (after.topic_name.removeprefix(self.prefix), after.partition_index)

    def resources(self, *kinds: int, version: int = 1) -> Any:
        request = ListConfigResourcesRequest(resource_types=list(kinds))
        got = self.peer.call(request, ListConfigResourcesResponse, version)
        mine = (TOPIC, self.prefix)
        return NAMES[got.error_code], sorted(
            (each.resource_type, each.resource_name.removeprefix(self.prefix))
            for each in got.config_resources
            if each.resource_type != mine[0] or each.resource_name.startswith(mine[1])
        )

    def synonyms(self) -> dict[str, list[tuple[str, str | None]]]:
        """Return the defaults of brokers behind each config of topic a."""
        resource = DescribeConfigsResource(resource_type=TOPIC, resource_name=f"{self.prefix}a", configuration_keys=[])
        request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
        (found,) = self.peer.call(request, DescribeConfigsResponse, 4).results
        return {
            each.name: [(one.name, one.value) for one in each.synonyms if one.source == DEFAULT]
            for each in found.configs
        }

    def feature(self, name: str, level: int, upgrade_type: int = 1, version: int = 2) -> Any:
        update = FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=upgrade_type)
        request = UpdateFeaturesRequest(feature_updates=[update], validate_only=True)
        got = self.peer.call(request, UpdateFeaturesResponse, version)
        return NAMES[got.error_code], got.error_message, [each.feature for each in got.results]

    def unregister(self, broker_id: int) -> Outcome:
        got = self.peer.call(UnregisterBrokerRequest(broker_id=broker_id), UnregisterBrokerResponse, 0)
        return NAMES[got.error_code], got.error_message

    def move(self, path: str | None, topic: str, *indexes: int) -> Any:
        """Move replicas; None is the directory of the broker."""
        if path is None:
            found = self.peer.call(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse, 4)
            path = found.results[0].log_dir
        topics = [AlterReplicaLogDirTopic(name=self.prefix + topic, partitions=list(indexes))]
        request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=path, topics=topics)])
        got = self.peer.call(request, AlterReplicaLogDirsResponse, 2)
        return sorted((one.partition_index, NAMES[one.error_code]) for each in got.results for one in each.partitions)


def _outcomes(operator: _Operator) -> Iterator[Any]:
    operator.create()
    yield operator.replace(("retention.ms", "1000"), ("segment.ms", "2000"))
    yield operator.becomes({"retention.ms": "1000", "segment.ms": "2000"})
    yield operator.replace(("segment.ms", "4000"), validate_only=True), operator.replace(("segment.ms", "3000"))
    yield operator.becomes({"segment.ms": "3000"})
    yield operator.replace(("no.such", "1")), operator.replace(("segment.ms", None))
    yield operator.replace(("segment.ms", "1"), ("segment.ms", "2")), operator.replace(topic="none")
    yield operator.replace(), operator.becomes({})
    yield operator.change(SUBTRACT, "delete"), operator.becomes({"cleanup.policy": ""})
    yield operator.change(APPEND, "compact"), operator.becomes({"cleanup.policy": "compact"})
    yield operator.change(APPEND, ""), operator.change(SET, "compact,"), operator.is_set()
    yield operator.page("b", "a"), operator.page("a", "b", limit=2), operator.page("b", "a", limit=3)
    yield operator.page("a", "b", limit=2, cursor=("a", 2)), operator.page("a", "b", cursor=("a", 9))
    yield operator.page("a", limit=0), operator.page("a", "b", cursor=("a", -1)), operator.page("b", cursor=("a", 0))
    yield operator.page("a", "none", "not valid"), operator.page("a", "b", limit=1, cursor=("b", 0))
    yield (
        operator.resources(TOPIC),
        operator.resources(BROKER),
        operator.resources(77),
        operator.resources(BROKER_LOGGER),
    )
    yield operator.resources(version=0)
    yield operator.synonyms(), operator.unregister(77)
    yield operator.feature("transaction.version", 2), operator.feature("transaction.version", 2, version=1)
    yield operator.feature("transaction.version", 9), operator.feature("no.such", 1)
    yield operator.feature("transaction.version", 1), operator.feature("transaction.version", 1, 2)
    yield operator.move(None, "a", 0, 9), operator.move("/none", "a", 0), operator.move(None, "none", 0)


def test_configs_pages_and_directories_are_as_on_kafka(kafka_newest: KafkaCluster) -> None:
    host, _, port = kafka_newest.bootstrap().partition(",")[0].rpartition(":")
    prefix = "configs-against-kafka-"
    with ExitStack() as stack:
        served = stack.enter_context(Sandbox(nodes=1).serve())
        theirs, ours = (stack.enter_context(Peer(address)) for address in ((host, int(port)), served.listens_on(1)))
        expected = list(_outcomes(_Operator(theirs, prefix)))
        for outcome, wanted in zip(_outcomes(_Operator(ours, prefix)), expected, strict=True):
            assert outcome == wanted
