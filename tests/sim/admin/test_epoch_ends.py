"""Ends of leader epochs as the present leader has them, against the sandbox in virtual time."""

from kctl.client.admin import Admin, EpochEnd
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.cluster import TopicPartition
from tests.sim.kit import SimCluster, run_with_admin

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_epoch_that_is_over_ends_where_the_new_leader_has_its_end() -> None:
    def use(sim: SimCluster, admin: Admin) -> None:
        sim.write(0, 5)
        sim.write(0, 3)
        epoch = admin.describe_topics(["t"])["t"].partitions[0].leader_epoch
        assert admin.epoch_ends({T0: epoch})[T0] == EpochEnd(epoch, 8)
        sim.sandbox.move_leader("t", 0, sim.leader(0), end_offset=5)
        sim.write(0, 9)
        assert admin.epoch_ends({T0: epoch})[T0] == EpochEnd(epoch, 5)
        assert admin.epoch_ends({T1: epoch + 7})[T1] == EpochEnd(-1, -1)

    run_with_admin(use)


def test_unknown_partition_fails_alone() -> None:
    def use(sim: SimCluster, admin: Admin) -> None:
        sim.write(0, 2)
        found = admin.epoch_ends({T0: 0, TopicPartition("t", 99): 0})
        assert list(found.done) == [T0]
        assert isinstance(found.failed[TopicPartition("t", 99)], error_class(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))

    run_with_admin(use)
