"""Committed offsets listed, set and deleted by the admin client: against the sandbox in virtual time."""

import pytest

from kctl.client.admin import Admin, OffsetAndMetadata
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.cluster import TopicPartition
from tests.sim.kit import SimCluster, run_with_admin, settle

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def test_offsets_are_set_and_listed() -> None:
    def use(world: SimCluster, admin: Admin) -> None:
        results = admin.alter_group_offsets("g", {T0: 7, U0: OffsetAndMetadata(3, "why", 2)})
        assert (list(results.done), results.failed) == ([T0, U0], {})
        assert admin.list_group_offsets("g").done == {T0: (7, "", -1), U0: (3, "why", 2)}
        assert admin.list_group_offsets("g", [T1, T0]).done == {T1: None, T0: (7, "", -1)}
        with world.consumer(group_id="g") as consumer:
            assert consumer.committed([T0])[T0] == (7, "", -1)

    run_with_admin(use)


def test_an_unknown_group_has_committed_nothing() -> None:
    def use(world: SimCluster, admin: Admin) -> None:
        assert admin.list_group_offsets("nowhere").done == {}
        assert admin.list_group_offsets("nowhere", [T0]).done == {T0: None}

    run_with_admin(use)


def test_each_partition_has_its_fate() -> None:
    def use(world: SimCluster, admin: Admin) -> None:
        before_ms = world.clock.now_ms()
        results = admin.alter_group_offsets("g", {T0: 1, TopicPartition("t", 9): 1, TopicPartition("no", 0): 1})
        assert list(results.done) == [T0]
        assert [type(error) for error in results.failed.values()] == [error_class(3)] * 2
        assert world.clock.now_ms() - before_ms < 1000
        deleted = admin.delete_group_offsets("g", [T0, TopicPartition("no", 0)])
        assert list(deleted.done) == [T0]
        assert isinstance(deleted.failed[TopicPartition("no", 0)], error_class(3))
        assert admin.list_group_offsets("g").done == {}

    run_with_admin(use)


def test_a_group_with_members_is_not_changed() -> None:
    def use(world: SimCluster, admin: Admin) -> None:
        world.commit("g", {("t", 0): 0, ("u", 0): 1})
        settle(world.enter(world.classic_member("g", enable_auto_commit=False)))
        results = admin.alter_group_offsets("g", {T0: 5})
        assert isinstance(results.failed[T0], error_class(ErrorCode.UNKNOWN_MEMBER_ID))
        deleted = admin.delete_group_offsets("g", [T0, U0])
        assert isinstance(deleted.failed[T0], error_class(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC))
        assert list(deleted.done) == [U0]
        assert admin.list_group_offsets("g").done == {T0: (0, "", -1)}

    run_with_admin(use)


def test_offsets_of_an_unknown_group_are_not_deleted() -> None:
    def use(world: SimCluster, admin: Admin) -> None:
        results = admin.delete_group_offsets("nowhere", [T0, U0])
        assert [type(error) for error in results.failed.values()] == [error_class(ErrorCode.GROUP_ID_NOT_FOUND)] * 2

    run_with_admin(use)


def test_an_offset_is_not_negative() -> None:
    def use(world: SimCluster, admin: Admin) -> None:
        with pytest.raises(ValueError, match=r"t-0: an offset is an integer from 0 to .*, not -1"):
            admin.alter_group_offsets("g", {T0: -1})

    run_with_admin(use)
