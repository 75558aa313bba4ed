"""The calls of operators when brokers fail: every one ends at its timeout, to the millisecond."""

from collections.abc import Callable

import pytest

from kctl.client.admin import Admin, ConfigResource, ElectionType, ResourceType
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ApiTimeout
from kctl.sandbox import Fault
from tests.sim.admin.test_admin import FAULTS
from tests.sim.kit import SimCluster, run_with_admin

TOPIC = ConfigResource(ResourceType.TOPIC, "t")
PARTITION = TopicPartition("t", 0)
CALLS: dict[str, Callable[[Admin, float], object]] = {
    "describe_configs": lambda admin, timeout: admin.describe_configs([TOPIC], timeout=timeout),
    "alter_configs": lambda admin, timeout: admin.alter_configs({TOPIC: {"retention.ms": "1"}}, timeout=timeout),
    "delete_records": lambda admin, timeout: admin.delete_records({PARTITION: 0}, timeout=timeout),
    "alter_partition_reassignments": lambda admin, timeout: admin.alter_partition_reassignments(
        {PARTITION: [2]}, timeout=timeout
    ),
    "list_partition_reassignments": lambda admin, timeout: admin.list_partition_reassignments(timeout=timeout),
    "elect_leaders": lambda admin, timeout: admin.elect_leaders(ElectionType.PREFERRED, [PARTITION], timeout=timeout),
    "describe_features": lambda admin, timeout: admin.describe_features(timeout=timeout),
    "describe_quorum": lambda admin, timeout: admin.describe_quorum(timeout=timeout),
    "describe_log_dirs": lambda admin, timeout: admin.describe_log_dirs([1, 2, 3], timeout=timeout),
    "create_partitions": lambda admin, timeout: admin.create_partitions({"t": 5}, timeout=timeout),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", CALLS)
def test_call_ends_at_its_timeout(name: str, fault: Fault) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.break_all(fault)
        for timeout_ms in (0, 100, 3000):
            before_ms = cluster.clock.now_ms()
            with pytest.raises(ApiTimeout):
                CALLS[name](admin, timeout_ms / 1000)
            assert cluster.clock.now_ms() - before_ms == timeout_ms

    run_with_admin(use, topics={"t": 3})


@pytest.mark.parametrize("name", CALLS)
def test_call_with_one_frozen_broker_is_answered_by_another_or_ends_at_its_timeout(name: str) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.sandbox.start_fault(2, Fault.FREEZE)
        before_ms = cluster.clock.now_ms()
        CALLS[name](admin, 3)
        assert cluster.clock.now_ms() - before_ms <= 3000

    run_with_admin(use, topics={"t": 3})
