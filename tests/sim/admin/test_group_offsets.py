"""Committed offsets listed, set and deleted by the admin client: against the sandbox in virtual time."""

import pytest

from kctl.client.admin import Admin, OffsetAndMetadata, group_offsets
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ApiTimeout
from kctl.client.events import Event, ResponseReceived
from kctl.client.protocol.api.committed_offsets import OffsetFetchRequest
from kctl.client.requests.group_offsets import FIRST_VERSION_WITH_GROUPS
from kctl.sandbox import Fault
from kctl.sandbox.apis import api_versions
from tests.sim.kit import SimCluster, run_with_admin, settle

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def test_offsets_are_set_and_listed() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        results = admin.alter_group_offsets("g", {T0: 7, U0: OffsetAndMetadata(3, "why", 2)})
        assert (list(results.done), results.failed) == ([T0, U0], {})
        assert admin.list_group_offsets("g").done == {T0: (7, "", -1), U0: (3, "why", 2)}
        assert admin.list_group_offsets("g", [T1, T0]).done == {T1: None, T0: (7, "", -1)}
        with cluster.consumer(group_id="g") as consumer:
            assert consumer.committed([T0])[T0] == (7, "", -1)

    run_with_admin(use)


def test_an_unknown_group_has_committed_nothing() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        assert admin.list_group_offsets("nowhere").done == {}
        assert admin.list_group_offsets("nowhere", [T0]).done == {T0: None}

    run_with_admin(use)


def test_each_partition_has_its_fate() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        before_ms = cluster.clock.now_ms()
        results = admin.alter_group_offsets("g", {T0: 1, TopicPartition("t", 9): 1, TopicPartition("no", 0): 1})
        assert list(results.done) == [T0]
        assert [type(error) for error in results.failed.values()] == [error_class(3)] * 2
        assert cluster.clock.now_ms() - before_ms < 1000
        deleted = admin.delete_group_offsets("g", [T0, TopicPartition("no", 0)])
        assert list(deleted.done) == [T0]
        assert isinstance(deleted.failed[TopicPartition("no", 0)], error_class(3))
        assert admin.list_group_offsets("g").done == {}

    run_with_admin(use)


def test_a_group_with_members_is_not_changed() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.commit("g", {("t", 0): 0, ("u", 0): 1})
        settle(cluster.enter(cluster.classic_member("g", enable_auto_commit=False)))
        results = admin.alter_group_offsets("g", {T0: 5})
        assert isinstance(results.failed[T0], error_class(ErrorCode.UNKNOWN_MEMBER_ID))
        deleted = admin.delete_group_offsets("g", [T0, U0])
        assert isinstance(deleted.failed[T0], error_class(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC))
        assert list(deleted.done) == [U0]
        assert admin.list_group_offsets("g").done == {T0: (0, "", -1)}

    run_with_admin(use)


def test_offsets_of_an_unknown_group_are_not_deleted() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        results = admin.delete_group_offsets("nowhere", [T0, U0])
        assert [type(error) for error in results.failed.values()] == [error_class(ErrorCode.GROUP_ID_NOT_FOUND)] * 2

    run_with_admin(use)


def test_an_offset_is_not_negative() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        with pytest.raises(ValueError, match=r"the offset for t-0 must be from 0 to .*, not -1"):
            admin.alter_group_offsets("g", {T0: -1})

    run_with_admin(use)


def test_offsets_of_several_groups_take_one_request_a_coordinator() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        names = [f"g{number}" for number in range(20)]
        for number, name in enumerate(names):
            admin.alter_group_offsets(name, {T0: number, T1: number + 1}).raise_first()
        sent = admin.requests_sent
        found = admin.list_offsets_of_groups([*names, "nowhere"])
        assert admin.requests_sent - sent <= 1 + 3
        assert found.failed == {}
        assert {name: of.done for name, of in found.done.items()} == {
            **{name: {T0: (number, "", -1), T1: (number + 1, "", -1)} for number, name in enumerate(names)},
            "nowhere": {},
        }

    run_with_admin(use)


def test_offsets_of_many_groups_take_a_request_a_coordinator_for_each_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_offsets, "MOST_GROUPS", 8)

    def use(cluster: SimCluster, admin: Admin) -> None:
        names = [f"g{number}" for number in range(20)]
        for number, name in enumerate(names):
            admin.alter_group_offsets(name, {T0: number}).raise_first()
        sent = admin.requests_sent
        found = admin.list_offsets_of_groups(names)
        assert admin.requests_sent - sent <= 3 * (1 + 3)
        assert {name: of.done for name, of in found.done.items()} == {
            name: {T0: (number, "", -1)} for number, name in enumerate(names)
        }

    run_with_admin(use)


def test_offsets_of_all_parts_are_kept_if_another_coordinator_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_offsets, "MOST_GROUPS", 2)

    def use(cluster: SimCluster, admin: Admin) -> None:
        names = [f"g{number}" for number in range(20)]
        for number, name in enumerate(names):
            admin.alter_group_offsets(name, {T0: number}).raise_first()
        silent = cluster.coordinator("g0")
        cluster.sandbox.start_fault(silent, Fault.FREEZE)
        of_silent = [name for name in names if cluster.coordinator(name) == silent]
        assert 2 < len(of_silent) < len(names) - 4
        found = admin.list_offsets_of_groups(names, timeout=5)
        assert list(found.failed) == of_silent
        assert all(isinstance(error, ApiTimeout) for error in found.failed.values())
        assert set(found.done) == {*names} - {*of_silent}

    run_with_admin(use)


def test_offsets_of_the_first_parts_are_kept_if_the_coordinators_fall_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_offsets, "MOST_GROUPS", 2)

    def use(cluster: SimCluster, admin: Admin) -> None:
        names = [f"g{number}" for number in range(20)]
        for number, name in enumerate(names):
            admin.alter_group_offsets(name, {T0: number}).raise_first()

        def freeze(event: Event) -> None:
            if isinstance(event, ResponseReceived) and event.api == OffsetFetchRequest.NAME:
                for node_id in (1, 2, 3):
                    cluster.sandbox.start_fault(node_id, Fault.FREEZE)

        watched = cluster.enter(Admin({"bootstrap.servers": cluster.bootstrap}, cluster.runtime, events=freeze))
        found = watched.list_offsets_of_groups(names, timeout=5)
        assert 2 <= len(found.done) <= 6
        assert {*found.failed} == {*names} - {*found.done}
        assert all(isinstance(error, ApiTimeout) for error in found.failed.values())

    run_with_admin(use)


def test_offsets_of_several_groups_are_asked_one_by_one_of_old_coordinators(monkeypatch: pytest.MonkeyPatch) -> None:
    offered = next(each for each in api_versions.response().api_keys if each.api_key == OffsetFetchRequest.API_KEY)
    monkeypatch.setattr(offered, "max_version", FIRST_VERSION_WITH_GROUPS - 1)

    def use(cluster: SimCluster, admin: Admin) -> None:
        for number in range(4):
            admin.alter_group_offsets(f"g{number}", {T0: number}).raise_first()
        cluster.sandbox.trouble_coordinator("g3", ErrorCode.COORDINATOR_NOT_AVAILABLE)
        found = admin.list_offsets_of_groups([f"g{number}" for number in range(4)], timeout=2)
        assert {name: of.done for name, of in found.done.items()} == {f"g{n}": {T0: (n, "", -1)} for n in (0, 1, 2)}
        assert [type(error) for error in found.failed.values()] == [ApiTimeout]

    run_with_admin(use)


def test_one_of_several_groups_without_a_coordinator_leaves_the_others() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        for name in ("a", "b"):
            admin.alter_group_offsets(name, {T0: 1}).raise_first()
        cluster.sandbox.trouble_coordinator("a", ErrorCode.COORDINATOR_NOT_AVAILABLE)
        found = admin.list_offsets_of_groups(["a", "b"], timeout=2)
        assert (list(found.done), list(found.failed)) == (["b"], ["a"])

    run_with_admin(use)
