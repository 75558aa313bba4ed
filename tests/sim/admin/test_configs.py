"""describe_configs against the sandbox in virtual time: each resource from a broker that can describe it."""

import pytest

from kctl.client.admin import CONFIG_SOURCES, CONFIG_TYPES, Admin, ConfigResource, NewTopic, ResourceType
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.errors import ApiTimeout
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run_with_admin

TOPIC = ConfigResource(ResourceType.TOPIC, "orders")
BROKERS = [ConfigResource(ResourceType.BROKER, str(number)) for number in (1, 2, 3)]


def test_configs_of_topics_and_brokers_come_from_a_broker_that_has_them() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.create_topics([NewTopic("orders", configs={"retention.ms": "1000"})]).raise_first()
        results = admin.describe_configs([TOPIC, *BROKERS])
        assert results.failed == {}
        assert results[TOPIC]["retention.ms"].value == "1000"
        assert [results[broker]["node.id"].value for broker in BROKERS] == ["1", "2", "3"]
        assert results[BROKERS[0]]["node.id"].is_read_only

    run_with_admin(use, topics={})


def test_each_resource_fails_by_itself() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        missing = ConfigResource(ResourceType.TOPIC, "missing")
        before_ms = cluster.clock.now_ms()
        results = admin.describe_configs([TOPIC, missing])
        assert list(results.done) == [TOPIC]
        assert isinstance(results.failed[missing], error_class(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        assert cluster.clock.now_ms() - before_ms < 1000
        with pytest.raises(ValueError, match="invalid literal"):
            admin.describe_configs([ConfigResource(ResourceType.BROKER, "first")])

    run_with_admin(use, topics={"orders": 1})


def test_a_silent_broker_costs_its_own_configs_alone() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.describe_cluster()
        cluster.sandbox.start_fault(2, Fault.FREEZE)
        before_ms = cluster.clock.now_ms()
        results = admin.describe_configs(BROKERS, timeout=3)
        assert cluster.clock.now_ms() - before_ms == 3000
        assert list(results.done) == [BROKERS[0], BROKERS[2]]
        assert isinstance(results.failed[BROKERS[1]], ApiTimeout)

    run_with_admin(use, topics={})


def test_broker_that_the_cluster_does_not_have_fails_at_once() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        for request in (
            lambda: admin.describe_configs([ConfigResource(ResourceType.BROKER, "99")]).raise_first(),
            lambda: admin.request_api("ListGroups", {}, broker=99),
        ):
            before_ms = cluster.clock.now_ms()
            with pytest.raises(error_class(ErrorCode.BROKER_ID_NOT_REGISTERED), match="broker 99"):
                request()
            assert cluster.clock.now_ms() - before_ms < 1000

    run_with_admin(use, topics={})


def test_configs_are_set_and_removed_one_by_one() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.alter_configs({TOPIC: {"retention.ms": "1", "segment.ms": "2"}}).raise_first()
        admin.alter_configs({TOPIC: {"retention.ms": None}}).raise_first()
        found = admin.describe_configs([TOPIC], include_synonyms=True)[TOPIC]
        entry = found["retention.ms"]
        assert (entry.value, CONFIG_SOURCES[entry.source], CONFIG_TYPES[entry.type]) == (
            "604800000", "DEFAULT_CONFIG", "LONG",
        )  # fmt: skip
        assert found["segment.ms"].synonyms == (("segment.ms", "2", 1),)
        assert entry.synonyms == (("log.retention.hours", "168", 5),)

    run_with_admin(use, topics={"orders": 1})


def test_change_of_each_resource_fails_by_itself_and_as_a_whole() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        missing = ConfigResource(ResourceType.TOPIC, "missing")
        group = ConfigResource(ResourceType.GROUP, "g")
        wrong = {"retention.ms": "1", "no.such": "2"}
        changes = {TOPIC: wrong, missing: {"retention.ms": "1"}, group: {"consumer.session.timeout.ms": "50000"}}
        results = admin.alter_configs({**changes, BROKERS[1]: {"log.retention.ms": "7"}})
        assert set(results.done) == {group, BROKERS[1]}
        assert isinstance(results.failed[TOPIC], error_class(ErrorCode.INVALID_CONFIG))
        assert isinstance(results.failed[missing], error_class(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        found = admin.describe_configs([TOPIC, group, *BROKERS])
        assert found[TOPIC]["retention.ms"].value == "604800000"
        assert found[group]["consumer.session.timeout.ms"].value == "50000"
        assert [found[broker]["log.retention.ms"].value for broker in BROKERS] == ["604800000", "7", "604800000"]

    run_with_admin(use, topics={"orders": 1})


def test_change_of_a_topic_is_reported_where_the_broker_of_another_change_is_silent() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.sandbox.start_fault(2, Fault.BLACKHOLE)
        changes = {TOPIC: {"retention.ms": "1"}, BROKERS[1]: {"log.retention.ms": "7"}}
        results = admin.alter_configs(changes, timeout=2)
        assert (list(results.done), list(results.failed)) == ([TOPIC], [BROKERS[1]])
        assert isinstance(results.failed[BROKERS[1]], ApiTimeout)

    run_with_admin(use, topics={"orders": 1})


def test_validation_of_a_change_changes_nothing() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        assert admin.alter_configs({TOPIC: {"retention.ms": "1"}}, validate_only=True).failed == {}
        refused = admin.alter_configs({TOPIC: {"retention.ms": "soon"}}, validate_only=True)
        assert isinstance(refused.failed[TOPIC], error_class(ErrorCode.INVALID_CONFIG))
        assert admin.describe_configs([TOPIC])[TOPIC]["retention.ms"].value == "604800000"

    run_with_admin(use, topics={"orders": 1})


def test_a_passing_error_is_retried() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.sandbox.fail_requests("DescribeConfigs", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, times=2)
        assert admin.describe_configs([TOPIC]).failed == {}

    run_with_admin(use, topics={"orders": 1})
