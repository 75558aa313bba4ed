"""DescribeConfigs, IncrementalAlterConfigs, and CreatePartitions of the sandbox, compared with Kafka."""

from typing import Any

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.cluster import (
    FeatureUpdateKey,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from kctl.client.protocol.api.configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kctl.client.protocol.api.configs import AlterConfigsRequestAlterableConfig as PlainConfig
from kctl.client.protocol.api.configs import AlterConfigsRequestAlterConfigsResource as PlainResource
from kctl.client.protocol.api.topics import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from tests.unit.sandbox.scenario import Scenario

TOPIC, BROKER, CLIENT_METRICS = 2, 4, 16
SET, DELETE, APPEND, SUBTRACT = range(4)


def describe(scenario: Scenario, kind: int, name: str, *keys: str) -> dict[str, DescribeConfigsResourceResult]:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=list(keys) or None)
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    [result] = scenario.connect().call(request, DescribeConfigsResponse).results
    assert result.error_code == 0
    return {entry.name: entry for entry in result.configs}


def alter(scenario: Scenario, kind: int, name: str, *changes: tuple[str, int, str | None]) -> tuple[int, str | None]:
    entries = [
        AlterableConfig(name=each, config_operation=operation, value=value) for each, operation, value in changes
    ]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=entries)
    request = IncrementalAlterConfigsRequest(resources=[resource])
    [result] = scenario.connect().call(request, IncrementalAlterConfigsResponse).responses
    return result.error_code, result.error_message


def test_property_has_a_source_and_each_place_that_sets_it() -> None:
    scenario = Scenario()
    assert alter(scenario, BROKER, "", ("log.retention.ms", SET, "1")) == (0, None)
    assert alter(scenario, BROKER, "1", ("log.retention.ms", SET, "2")) == (0, None)
    entry = describe(scenario, BROKER, "1")["log.retention.ms"]
    assert (entry.value, entry.config_source) == ("2", 2)
    assert [(each.value, each.source) for each in entry.synonyms] == [("2", 2), ("1", 3), ("604800000", 5)]
    assert describe(scenario, BROKER, "").keys() == {"log.retention.ms", "min.insync.replicas"}


def test_minimum_of_in_sync_replicas_is_set_of_all_brokers_and_stays() -> None:
    scenario = Scenario(topics={"t": 1})
    entry = describe(scenario, TOPIC, "t")["min.insync.replicas"]
    assert (entry.value, [(each.value, each.source) for each in entry.synonyms]) == ("1", [("1", 3), ("1", 5)])
    code, message = alter(scenario, BROKER, "", ("min.insync.replicas", DELETE, None))
    assert (code, message) == (
        ErrorCode.INVALID_CONFIG,
        "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
    )


def test_lists_are_appended_to_and_subtracted_from() -> None:
    scenario = Scenario(topics={"t": 1})
    key = "cleanup.policy"
    assert alter(scenario, TOPIC, "t", (key, APPEND, "compact")) == (0, None)
    assert describe(scenario, TOPIC, "t", key)[key].value == "delete,compact"
    assert alter(scenario, TOPIC, "t", (key, SUBTRACT, "delete")) == (0, None)
    assert describe(scenario, TOPIC, "t", key)[key].value == "compact"
    assert alter(scenario, TOPIC, "t", (key, DELETE, None)) == (0, None)
    assert describe(scenario, TOPIC, "t", key)[key].value == "delete"


@pytest.mark.parametrize(
    ("kind", "name", "changes", "code"),
    [
        (TOPIC, "t", [("no.such", SET, "1")], ErrorCode.INVALID_CONFIG),
        (TOPIC, "t", [("retention.ms", SET, "soon")], ErrorCode.INVALID_CONFIG),
        (TOPIC, "t", [("retention.ms", SET, None)], ErrorCode.INVALID_REQUEST),
        (TOPIC, "t", [("retention.ms", SET, "1"), ("retention.ms", SET, "2")], ErrorCode.INVALID_REQUEST),
        (TOPIC, "missing", [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (BROKER, "2", [], ErrorCode.INVALID_REQUEST),
        (CLIENT_METRICS, "m", [("no.such", SET, "1")], ErrorCode.INVALID_CONFIG),
        (99, "x", [], ErrorCode.INVALID_REQUEST),
    ],
)
def test_impossible_change_is_refused(
    kind: int, name: str, changes: list[tuple[str, int, str | None]], code: ErrorCode
) -> None:
    scenario = Scenario(topics={"t": 1})
    assert alter(scenario, kind, name, *changes)[0] == code
    assert describe(scenario, TOPIC, "t", "retention.ms")["retention.ms"].value == "604800000"


def test_changed_limit_is_in_force() -> None:
    scenario = Scenario(topics={"t": 1})
    alter(scenario, TOPIC, "t", ("max.message.bytes", SET, "10"))
    assert scenario.sandbox.cluster.topics["t"].partitions[0].log.settings.max_message_bytes == 10


def test_new_partitions_are_where_the_assignment_says() -> None:
    scenario = Scenario(nodes=3, topics={"t": 1})

    def grow(count: int, *nodes: list[int]) -> int:
        assignments = [CreatePartitionsAssignment(broker_ids=each) for each in nodes] or None
        topic = CreatePartitionsTopic(name="t", count=count, assignments=assignments)
        response = scenario.connect().call(CreatePartitionsRequest(topics=[topic]), CreatePartitionsResponse)
        return response.results[0].error_code

    assert grow(3, [2], [3]) == 0
    assert [each.replicas for each in scenario.sandbox.cluster.topics["t"].partitions.values()] == [(1,), (2,), (3,)]
    assert grow(3) == ErrorCode.INVALID_PARTITIONS
    assert grow(5, [2]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert grow(4, [9]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_alter_configs_replaces_all_that_was_set() -> None:
    scenario = Scenario(topics={"t": 1})
    assert alter(scenario, TOPIC, "t", ("retention.ms", SET, "1"), ("segment.ms", SET, "2")) == (0, None)

    def replace(*pairs: tuple[str, str | None], validate_only: bool = False) -> tuple[int, str | None]:
        configs = [PlainConfig(name=name, value=value) for name, value in pairs]
        resource = PlainResource(resource_type=TOPIC, resource_name="t", configs=configs)
        request = AlterConfigsRequest(resources=[resource], validate_only=validate_only)
        [result] = scenario.connect().call(request, AlterConfigsResponse).responses
        return result.error_code, result.error_message

    def is_set() -> dict[str, str | None]:
        return {name: each.value for name, each in describe(scenario, TOPIC, "t").items() if each.config_source == 1}

    assert replace(("segment.ms", "3"), validate_only=True) == (0, None)
    assert replace(("no.such", "3")) == (ErrorCode.INVALID_CONFIG, "Unknown topic config name: no.such")
    assert replace(("segment.ms", None)) == (ErrorCode.INVALID_REQUEST, "Null value not supported for : segment.ms")
    assert is_set() == {"retention.ms": "1", "segment.ms": "2"}
    assert replace(("segment.ms", "3")) == (0, None)
    assert is_set() == {"segment.ms": "3"}


def test_resource_of_which_a_request_has_two_changes_is_not_changed() -> None:
    scenario = Scenario(topics={"t": 1})
    change = AlterableConfig(name="segment.ms", config_operation=SET, value="5")
    resource = AlterConfigsResource(resource_type=TOPIC, resource_name="t", configs=[change])
    request = IncrementalAlterConfigsRequest(resources=[resource, resource])
    codes = [each.error_code for each in scenario.connect().call(request, IncrementalAlterConfigsResponse).responses]
    assert codes == [ErrorCode.INVALID_REQUEST] * 2
    assert describe(scenario, TOPIC, "t", "segment.ms")["segment.ms"].config_source != 1


def test_default_of_a_topic_config_has_the_name_of_the_broker_property() -> None:
    found = describe(Scenario(topics={"t": 1}), TOPIC, "t")
    names = {name: [each.name for each in found[name].synonyms] for name in ("max.message.bytes", "preallocate")}
    assert names == {"max.message.bytes": ["message.max.bytes"], "preallocate": ["log.preallocate"]}
    assert [(each.name, each.value) for each in found["retention.ms"].synonyms] == [("log.retention.hours", "168")]
    assert found["flush.ms"].synonyms == []


def update(scenario: Scenario, level: int, name: str = "transaction.version", **more: Any) -> int:
    key = FeatureUpdateKey(feature=name, max_version_level=level, **more)
    request = UpdateFeaturesRequest(feature_updates=[key])
    return scenario.connect().call(request, UpdateFeaturesResponse).error_code


def test_features_change_for_the_whole_cluster_and_fall_only_if_asked_to() -> None:
    scenario = Scenario()
    refused = ErrorCode.INVALID_UPDATE_VERSION
    assert [update(scenario, 1), update(scenario, 3), update(scenario, 1, "no.such")] == [refused] * 3
    assert scenario.cluster.settings.transaction_version == 2
    assert [update(scenario, 1, upgrade_type=2), update(scenario, 1)] == [ErrorCode.NONE] * 2
    assert scenario.cluster.settings.transaction_version == 1


def test_broker_that_is_not_registered_cannot_be_unregistered() -> None:
    connection = Scenario().connect()
    for broker_id, code in ((77, ErrorCode.BROKER_ID_NOT_REGISTERED), (1, ErrorCode.NONE)):
        request = UnregisterBrokerRequest(broker_id=broker_id)
        assert connection.call(request, UnregisterBrokerResponse).error_code == code
