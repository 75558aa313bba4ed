"""Long lists that are requested in parts from several brokers, in virtual time."""

import contextlib
from collections import Counter
from collections.abc import Callable

import pytest

from kctl.client.admin import Admin, ConfigResource, ResourceType
from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import ApiTimeout
from kctl.client.hedged_requests import SILENCE_MS
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run_with_admin

TOPICS = {f"t{number:03}": 1 for number in range(450)}
RESOURCES = [ConfigResource(ResourceType.TOPIC, name) for name in TOPICS]
MISSING = ConfigResource(ResourceType.TOPIC, "missing")


def _asked(cluster: SimCluster) -> Counter[int]:
    return Counter(event.target.node_id for event in cluster.sent("DescribeConfigs"))


def test_each_broker_answers_parts_of_a_long_list() -> None:
    def use(cluster: SimCluster, _: Admin) -> None:
        admin = cluster.enter(cluster.admin(bootstrap_servers=cluster.bootstrap.split(",")[0]))
        results = admin.describe_configs([*RESOURCES, MISSING])
        assert list(results.done) == RESOURCES
        assert list(results.failed) == [MISSING]
        assert set(_asked(cluster)) & {2, 3}

    run_with_admin(use, topics=TOPICS)


def test_short_list_goes_to_one_broker() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        assert list(admin.describe_configs(RESOURCES[:100]).done) == RESOURCES[:100]
        assert _asked(cluster).total() == 1

    run_with_admin(use, topics=TOPICS)


@pytest.mark.parametrize(
    "fault",
    [Fault.RESET_ON_REQUEST, *(pytest.param(each, marks=pytest.mark.slow) for each in (Fault.BLACKHOLE, Fault.REFUSE))],
)
def test_parts_of_a_broker_that_fails_are_answered_by_others(fault: Fault) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.describe_cluster()
        cluster.sandbox.start_fault(2, fault)
        assert cluster.elapsed_ms(lambda: admin.describe_configs(RESOURCES).raise_first()) < 1000
        assert len(admin.describe_configs(RESOURCES).done) == len(RESOURCES)

    run_with_admin(use, topics=TOPICS)


def test_part_of_a_silent_broker_is_requested_from_another_one() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.describe_configs(RESOURCES).raise_first()
        cluster.sandbox.start_fault(2, Fault.FREEZE)
        elapsed_ms = cluster.elapsed_ms(lambda: admin.describe_configs(RESOURCES).raise_first())
        assert SILENCE_MS <= elapsed_ms < SILENCE_MS + 100

    run_with_admin(use, topics=TOPICS)


def test_deadline_fails_only_the_parts_without_an_answer() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.describe_configs(RESOURCES).raise_first()
        cluster.sandbox.start_fault(2, Fault.FREEZE)
        results = admin.describe_configs(RESOURCES, timeout=0.5)
        assert len(results.failed) == 100
        assert all(isinstance(error, ApiTimeout) for error in results.failed.values())
        for node_id in (1, 3):
            cluster.sandbox.start_fault(node_id, Fault.FREEZE)
        with pytest.raises(ApiTimeout):
            admin.describe_configs(RESOURCES, timeout=0.5)

    run_with_admin(use, topics=TOPICS)


@pytest.mark.parametrize("count", [2, 450])
def test_configs_of_a_topic_that_one_broker_does_not_know_yet_come_from_another(count: int) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        for node_id in (1, 2, 3):
            cluster.sandbox.fail_requests(
                "DescribeConfigs", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, times=9, node_id=node_id
            )
            results = admin.describe_configs(RESOURCES[:count])
            assert sorted(results.done) == RESOURCES[:count]
            cluster.sandbox.heal(node_id)

    run_with_admin(use, topics=TOPICS)


def test_topic_that_one_broker_does_not_know_yet_is_described_by_another() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.list_topics()
        admin.describe_configs(RESOURCES).raise_first()
        for node_id in (1, 2, 3):
            cluster.sandbox.fail_requests("Metadata", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, times=9, node_id=node_id)
            assert sorted(admin.describe_topics(["t000", "t001"]).done) == ["t000", "t001"]
            cluster.sandbox.heal(node_id)

    run_with_admin(use, topics=TOPICS)


def test_broker_that_is_behind_is_asked_again_where_no_other_one_is_left() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.describe_cluster()
        for node_id in (2, 3):
            cluster.sandbox.start_fault(node_id, Fault.REFUSE)
        cluster.sandbox.fail_requests("DescribeConfigs", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, times=2, node_id=1)
        assert list(admin.describe_configs(RESOURCES[:1]).done) == RESOURCES[:1]
        assert cluster.elapsed_ms(lambda: admin.describe_topics(["missing"])) < 500

    run_with_admin(use, topics=TOPICS)


@pytest.mark.parametrize("timeout_ms", [10, 90, 150])
def test_wait_for_another_broker_ends_by_the_deadline_of_the_call(timeout_ms: int) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.describe_cluster()
        for node_id in (2, 3):
            cluster.sandbox.start_fault(node_id, Fault.BLACKHOLE)

        def describe(call: Callable[..., object], key: object) -> None:
            with contextlib.suppress(ApiTimeout):
                call([key], timeout=timeout_ms / 1000)

        assert cluster.elapsed_ms(lambda: describe(admin.describe_topics, "missing")) <= timeout_ms
        assert cluster.elapsed_ms(lambda: describe(admin.describe_configs, MISSING)) <= timeout_ms

    run_with_admin(use, topics=TOPICS)
