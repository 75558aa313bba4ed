"""Groups listed, described, deleted, and members removed: against the sandbox's coordinators in virtual time."""

import pytest

from kctl.client.admin import Admin, MemberToRemove
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ApiTimeout, BrokerError
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run_with_admin, settle


def partitions(*indexes: int, topic: str = "t") -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic, index) for index in indexes)


def test_list_groups_names_the_brokers_that_stopped_responding() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.list_groups()
        for node_id in (1, 2, 3):
            cluster.sandbox.start_fault(node_id, Fault.FREEZE)
        with pytest.raises(
            ApiTimeout, match=r"waiting for the list of brokers from (.+ \(id \d\)(, )?){1,3} "
        ) as caught:
            admin.list_groups(timeout=5)
        assert caught.value.elapsed_ms == 5000

    run_with_admin(use)


def test_the_groups_of_all_brokers_are_listed() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        names = [f"g{number}" for number in range(8)]
        for name in names:
            cluster.commit(name, {("t", 0): 0})
        listed = admin.list_groups()
        assert list(listed.groups) == names
        assert listed.failed == {}
        assert {group.coordinator.node_id for group in listed.groups.values()} == {1, 2, 3}
        for name, group in listed.groups.items():
            assert (group.type, group.state, group.coordinator.node_id) == (
                "classic",
                "Empty",
                cluster.coordinator(name),
            )

    run_with_admin(use)


def test_groups_are_listed_by_state_and_type() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.commit("idle", {("t", 0): 0})
        settle(cluster.enter(cluster.classic_member("busy")), cluster.enter(cluster.kip_848_member("modern")))
        everything = admin.list_groups().groups
        assert {name: (group.type, group.state, group.protocol_type) for name, group in everything.items()} == {
            "busy": ("classic", "Stable", "consumer"),
            "idle": ("classic", "Empty", ""),
            "modern": ("consumer", "Stable", "consumer"),
        }
        assert list(admin.list_groups(states=["stable"]).groups) == ["busy", "modern"]
        assert list(admin.list_groups(types=["Consumer"]).groups) == ["modern"]
        assert list(admin.list_groups(states=["Stable"], types=["classic"]).groups) == ["busy"]

    run_with_admin(use)


def test_a_classic_group_is_described_with_what_each_member_has() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        one = cluster.enter(cluster.classic_member("g", client_id="one", partition_assignment_strategy="range"))
        two = cluster.enter(
            cluster.classic_member(
                "g", client_id="two", group_instance_id="second", partition_assignment_strategy="range"
            )
        )
        settle(one, two)
        group = admin.describe_groups(["g"])["g"]
        assert (group.type, group.state, group.protocol_type, group.assignor) == (
            "classic", "Stable", "consumer", "range",
        )  # fmt: skip
        assert group.coordinator is not None
        assert group.coordinator.node_id == cluster.coordinator("g")
        assert (group.epoch, group.target_epoch) == (None, None)
        by_client = {member.client_id: member for member in group.members}
        assert set(by_client["one"].assignment or ()) == set(one.assignment)
        assert set(by_client["two"].assignment or ()) == set(two.assignment)
        assert by_client["two"].group_instance_id == "second"
        assert by_client["two"].member_id == two.group_metadata().member_id
        assert by_client["one"].subscribed_topics == ("t",)
        assert by_client["one"].target_assignment is None

    run_with_admin(use)


def test_a_group_of_kip_848_is_described_with_epochs_and_targets() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        one = cluster.enter(cluster.kip_848_member("g", client_id="one"))
        settle(one)
        holder = cluster.enter(cluster.kip_848_member("g", client_id="two"))
        for _ in range(3):
            holder.poll(1)  # the first member polls nothing and gives nothing up
        group = admin.describe_groups(["g"])["g"]
        assert (group.type, group.state, group.assignor) == ("consumer", "Reconciling", "uniform")
        assert group.epoch == group.target_epoch == holder.group_metadata().generation
        by_client = {member.client_id: member for member in group.members}
        assert by_client["one"].assignment == partitions(0, 1, 2, 3)
        assert len(by_client["one"].target_assignment or ()) == 2
        assert by_client["one"].epoch == one.group_metadata().generation == holder.group_metadata().generation - 1
        assert by_client["two"].assignment == ()
        assert len(by_client["two"].target_assignment or ()) == 2
        assert by_client["two"].epoch == holder.group_metadata().generation
        assert by_client["one"].subscribed_topics == ("t",)
        assert not by_client["one"].is_classic

    run_with_admin(use)


def test_groups_of_both_types_and_none_in_one_call() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.commit("idle", {("t", 0): 0})
        settle(cluster.enter(cluster.classic_member("busy")), cluster.enter(cluster.kip_848_member("modern")))
        results = admin.describe_groups(["modern", "nowhere", "busy", "idle", "busy"])
        assert [(group.group_id, group.type, group.state) for group in results.done.values()] == [
            ("modern", "consumer", "Stable"),
            ("busy", "classic", "Stable"),
            ("idle", "classic", "Empty"),
        ]
        assert {name: type(error) for name, error in results.failed.items()} == {
            "nowhere": error_class(ErrorCode.GROUP_ID_NOT_FOUND)
        }

    run_with_admin(use)


def test_groups_without_members_are_deleted() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.commit("idle", {("t", 0): 3})
        settle(cluster.enter(cluster.classic_member("busy")))
        results = admin.delete_groups(["idle", "busy", "nowhere"])
        assert list(results.done) == ["idle"]
        assert {name: type(error) for name, error in results.failed.items()} == {
            "busy": error_class(ErrorCode.NON_EMPTY_GROUP),
            "nowhere": error_class(ErrorCode.GROUP_ID_NOT_FOUND),
        }
        assert list(admin.list_groups().groups) == ["busy"]
        assert admin.list_group_offsets("idle").done == {}

    run_with_admin(use)


def test_members_are_removed_by_id_and_by_instance() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        dynamic = cluster.enter(cluster.classic_member("g"))
        static = cluster.enter(cluster.classic_member("g", group_instance_id="fixed"))
        settle(dynamic, static)
        by_id = MemberToRemove(dynamic.group_metadata().member_id)
        by_instance = MemberToRemove(group_instance_id="fixed")
        strangers = [MemberToRemove("nobody"), MemberToRemove(group_instance_id="none")]
        results = admin.remove_members("g", [by_id, by_instance, *strangers])
        assert list(results.done) == [by_id, by_instance]
        assert {str(member): type(error) for member, error in results.failed.items()} == {
            "nobody": error_class(ErrorCode.UNKNOWN_MEMBER_ID),
            "group.instance.id none": error_class(ErrorCode.UNKNOWN_MEMBER_ID),
        }
        assert admin.describe_groups(["g"])["g"].members == ()

    run_with_admin(use)


def test_no_group_at_all_is_refused_by_the_broker() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        with pytest.raises(BrokerError):
            admin.describe_groups([""])[""]

    run_with_admin(use)
