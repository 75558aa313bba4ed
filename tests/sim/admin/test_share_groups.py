"""Share and streams groups in virtual time: described by type, offsets listed, set and forgotten."""

import pytest

from kctl.client.admin import Admin, ShareOffset
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ApiTimeout, BrokerError, UnsupportedVersionError
from kctl.sandbox import Fault
from kctl.sandbox.apis import HANDLERS, api_versions
from tests.sim.kit import SimCluster, run_with_admin, settle
from tests.support.share_members import MEMBER_ID, share_heartbeat, streams_heartbeat

T = [TopicPartition("t", index) for index in range(4)]


def test_groups_of_every_type_are_listed_and_described() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        settle(cluster.enter(cluster.classic_member("classic")), cluster.enter(cluster.kip_848_member("consumer")))
        share_heartbeat(admin, "share", "t")
        streams_heartbeat(admin, "streams", "t")
        names = ["classic", "consumer", "share", "streams"]
        assert {name: group.type for name, group in admin.list_groups().groups.items()} == dict(
            zip(names, names, strict=True)
        )
        assert list(admin.list_groups(types=["Share"]).groups) == ["share"]
        results = admin.describe_groups(["streams", "none", *names])
        assert [(name, group.type, group.state) for name, group in results.done.items()] == [
            ("streams", "streams", "Stable"),
            ("classic", "classic", "Stable"),
            ("consumer", "consumer", "Stable"),
            ("share", "share", "Stable"),
        ]
        [member] = results["share"].members
        assert (member.member_id, member.assignment, member.subscribed_topics) == (MEMBER_ID, tuple(T), ("t",))
        [member] = results["streams"].members
        assert (member.tasks, member.assignment, member.standby_tasks) == ({"0": [0, 1, 2, 3]}, tuple(T), {})
        assert isinstance(results.failed["none"], error_class(ErrorCode.GROUP_ID_NOT_FOUND))

    run_with_admin(use)


def test_start_offsets_are_listed_set_and_forgotten() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        with cluster.producer() as producer:
            for number in range(8):
                producer.send("t", b"x", partition=number % 4)
        epoch = share_heartbeat(admin, "g", "t")
        assert admin.list_share_group_offsets("g").done == dict.fromkeys(T, ShareOffset(None, None))
        refused = admin.alter_share_group_offsets("g", {T[0]: 1})
        assert isinstance(refused.failed[T[0]], error_class(ErrorCode.NON_EMPTY_GROUP))
        assert share_heartbeat(admin, "g", "t", -1) == -1 != epoch
        none = TopicPartition("none", 0)
        results = admin.alter_share_group_offsets("g", {T[0]: 1, T[1]: 2, none: 0})
        assert list(results.done) == [T[0], T[1]]
        assert isinstance(results.failed[none], error_class(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        found = admin.list_share_group_offsets("g")
        assert (found[T[0]], found[T[1]], found[T[2]]) == (
            ShareOffset(1, 1),
            ShareOffset(2, 0),
            ShareOffset(None, None),
        )
        assert admin.list_share_group_offsets("g", [T[1]]).done == {T[1]: ShareOffset(2, 0)}
        deleted = admin.delete_share_group_offsets("g", ["t", "none"])
        assert (list(deleted.done), list(deleted.failed)) == (["t"], ["none"])
        assert admin.list_share_group_offsets("g").done == {}
        assert admin.delete_groups(["g"]).failed == {}
        assert admin.list_groups().groups == {}

    run_with_admin(use)


def test_streams_groups_commit_as_consumer_groups_do() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        streams_heartbeat(admin, "g", "t")
        assert isinstance(
            admin.alter_group_offsets("g", {T[0]: 0}).failed[T[0]], error_class(ErrorCode.UNKNOWN_MEMBER_ID)
        )
        streams_heartbeat(admin, "g", "t", -1)
        assert admin.alter_group_offsets("g", {T[0]: 0}).failed == {}
        assert admin.describe_groups(["g"])["g"].type == "streams"
        assert admin.delete_group_offsets("g", [T[0]]).failed == {}
        assert admin.delete_groups(["g"]).failed == {}

    run_with_admin(use)


def test_other_protocols_are_refused_as_kafka_does() -> None:
    """The error codes of Kafka 4.3.1 are expected."""

    def use(cluster: SimCluster, admin: Admin) -> None:
        share_heartbeat(admin, "share", "t")
        streams_heartbeat(admin, "streams", "t")
        for group in ("share", "streams"):
            join: dict[str, object] = {"groupId": group, "sessionTimeoutMs": 10_000, "protocolType": "consumer"}
            join["protocols"] = [{"name": "range", "metadata": ""}]
            response = admin.request_api("JoinGroup", join, version=9)
            assert response.fields["errorCode"] == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
            response = admin.request_api("DescribeGroups", {"groups": [group]})
            assert f"Group {group} is not a classic group." in str(response.fields)
            assert admin.list_group_offsets(group).done == {}
        refused = admin.alter_group_offsets("share", {T[0]: 0}).failed[T[0]]
        assert isinstance(refused, error_class(ErrorCode.GROUP_ID_NOT_FOUND))
        with pytest.raises(BrokerError, match="is not a share group"):
            share_heartbeat(admin, "streams", "t")

    run_with_admin(use)


def test_member_that_sends_no_heartbeat_is_removed() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        share_heartbeat(admin, "g", "t")
        cluster.hub.sleep_ms(46_000)
        assert admin.describe_groups(["g"])["g"].state == "Empty"
        with pytest.raises(error_class(ErrorCode.UNKNOWN_MEMBER_ID)):
            share_heartbeat(admin, "g", "t", 2)

    run_with_admin(use)


@pytest.mark.parametrize("fault", [Fault.SILENCE, Fault.FREEZE, Fault.BLACKHOLE])
def test_calls_end_at_their_deadline(fault: Fault) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        for node_id in (1, 2, 3):
            cluster.sandbox.start_fault(node_id, fault)
        for call in (
            lambda: admin.list_share_group_offsets("g", timeout=3),
            lambda: admin.alter_share_group_offsets("g", {T[0]: 0}, timeout=3),
            lambda: admin.delete_share_group_offsets("g", ["t"], timeout=3),
        ):
            before_ms = cluster.clock.now_ms()
            with pytest.raises(ApiTimeout):
                call()
            assert cluster.clock.now_ms() - before_ms == 3000

    run_with_admin(use)


def test_group_whose_coordinator_has_moved_is_found() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        share_heartbeat(admin, "g", "t")
        cluster.sandbox.move_coordinator("g", cluster.elsewhere("g"))
        assert admin.describe_groups(["g"])["g"].type == "share"
        assert list(admin.list_share_group_offsets("g").done) == T

    run_with_admin(use)


def test_coordinator_without_share_groups_is_named_with_the_release() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.commit("g", {("t", 0): 0})
        with pytest.raises(UnsupportedVersionError, match=r"DescribeShareGroupOffsets .*Kafka 4\.1"):
            admin.list_share_group_offsets("g")
        results = admin.describe_groups(["g", "none"])
        assert (results["g"].type, list(results.failed)) == ("classic", ["none"])

    api_versions.offer(api for key, api in HANDLERS.items() if key not in (77, 89, 90, 91, 92))
    try:
        run_with_admin(use)
    finally:
        api_versions.offer(HANDLERS.values())
