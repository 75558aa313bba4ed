"""request_api against the sandbox in virtual time: each API is sent once, to a suitable broker."""

from typing import Any

import pytest

from kctl.client.admin import Admin, ApiResponse, NewTopic, declared_apis
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.errors import ApiTimeout, TransportError
from kctl.client.protocol.json_form import JsonFormError
from kctl.client.protocol.primitives import uuid_text
from kctl.sandbox import Fault
from tests.sim.chaos.replies import Replies
from tests.sim.kit import SimCluster, run_with_admin

TOPICS = {"orders": 3}


def only(response: ApiResponse, name: str) -> Any:
    """Return the only item of an array of the response."""
    items = response.fields[name]
    assert isinstance(items, list)
    assert len(items) == 1
    return items[0]


def test_fields_go_and_come_by_the_names_of_kafka() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        response = admin.request_api("Metadata", {"Topics": [{"Name": "orders"}]}, version=9)
        assert (response.name, response.version, response.errors) == ("Metadata", 9, ())
        topic = only(response, "topics")
        assert (topic["name"], len(topic["partitions"])) == ("orders", 3)

    run_with_admin(use, topics=TOPICS)


@pytest.mark.parametrize("name", ["list_groups", "LISTGROUPS", "16", "list-groups"])
def test_an_api_is_found_by_its_name_in_any_case_and_by_its_key(name: str) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        assert admin.request_api(name, {}).name == "ListGroups"

    run_with_admin(use, topics={})


@pytest.mark.parametrize(
    ("fields", "version", "name"),
    [
        ({}, None, "kctl"),
        ({"ClientSoftwareName": "mine"}, None, "mine"),
        ({}, 3, "kctl"),
        ({}, 2, ""),
        ({"clientSoftwareName": "mine", "client_software_version": "1"}, None, "mine"),
    ],
)
def test_versions_are_asked_for_in_the_name_of_kctl(fields: dict[str, object], version: int | None, name: str) -> None:
    """Brokers reject an empty name of the client's software."""
    names: list[str] = []
    replies = Replies()
    replies.on_request(lambda _call, request, _response: names.append(getattr(request, "client_software_name", "none")))

    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.list_topics()
        names.clear()
        assert admin.request_api("ApiVersions", fields, version=version).errors == ()
        assert names[-1] == name

    with replies.installed():
        run_with_admin(use, topics={})


def test_requests_about_a_partition_go_to_its_leader() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        leaders = {
            number: info.leader_id for number, info in admin.describe_topics(["orders"])["orders"].partitions.items()
        }
        assert len(set(leaders.values())) == 3
        for number, leader in leaders.items():
            partition = {"partitionIndex": number, "timestamp": -1, "currentLeaderEpoch": -1}
            fields = {"replicaId": -1, "topics": [{"name": "orders", "partitions": [partition]}]}
            response = admin.request_api("ListOffsets", fields)
            assert (response.broker, response.errors, response.has_successes) == (leader, (), True)

    run_with_admin(use, topics=TOPICS)


def test_requests_about_groups_and_transactions_go_to_the_coordinator() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        for group in ("a", "b", "c", "d"):
            response = admin.request_api("DescribeGroups", {"groups": [group]})
            described = admin.request_api("FindCoordinator", {"keyType": 0, "coordinatorKeys": [group]})
            assert response.broker == only(described, "coordinators")["nodeId"]
        found = admin.request_api("InitProducerId", {"transactionalId": "pay", "transactionTimeoutMs": 1000})
        assert found.errors == ()

    run_with_admin(use, topics={})


def test_a_coordinator_that_is_not_available_yet_is_asked_for_again() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.sandbox.fail_requests("FindCoordinator", ErrorCode.COORDINATOR_NOT_AVAILABLE, times=2)
        assert admin.request_api("OffsetFetch", {"groups": [{"groupId": "g"}]}).errors == ()

    run_with_admin(use, topics={})


@pytest.mark.parametrize(
    "code", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
)
@pytest.mark.parametrize("fields", [{"groups": [{"groupId": "g"}]}, {"groupId": "g"}], ids=["new", "old"])
def test_a_coordinator_that_refused_all_of_a_request_is_looked_up_and_asked_again(
    code: ErrorCode, fields: dict[str, object]
) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.sandbox.fail_requests("OffsetFetch", code, times=2)
        assert admin.request_api("OffsetFetch", fields).errors == ()
        cluster.sandbox.fail_requests("OffsetFetch", code, times=1)
        [error] = admin.request_api("OffsetFetch", fields, broker=1).errors
        assert isinstance(error, error_class(code)), "a broker that was named is asked once"

    run_with_admin(use, topics={})


def test_fields_of_an_older_version_are_sent_in_the_newest_that_has_them() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        assert admin.request_api("OffsetFetch", {"groupId": "g"}).version == 7
        assert admin.request_api("OffsetFetch", {"groups": [{"groupId": "g"}]}).version > 7

    run_with_admin(use, topics={})


def test_a_topic_id_leads_to_the_leader_of_its_partition() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        topic = admin.describe_topics(["orders"])["orders"]
        for number, info in topic.partitions.items():
            partition = {"partition": number, "fetchOffset": 0, "partitionMaxBytes": 1000}
            fields = {"topics": [{"topicId": uuid_text(topic.topic_id), "partitions": [partition]}], "maxBytes": 1000}
            assert admin.request_api("Fetch", fields).broker == info.leader_id

    run_with_admin(use, topics=TOPICS)


def test_configs_of_a_broker_come_from_that_broker_and_changes_of_topics_go_to_the_controller() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        controller = cluster.sandbox.cluster.forwarding_id
        for broker in (1, 2, 3):
            resource = {"resourceType": 4, "resourceName": str(broker), "configurationKeys": None}
            assert admin.request_api("DescribeConfigs", {"resources": [resource]}).broker == broker
        created = admin.request_api(
            "CreateTopics", {"topics": [{"name": "new", "numPartitions": 1, "replicationFactor": 1}]}
        )
        assert (created.broker, created.errors) == (controller, ())
        assert "new" in admin.list_topics()

    run_with_admin(use, topics={})


def test_a_named_broker_is_the_one_that_is_asked() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        assert [admin.request_api("ApiVersions", {}, broker=broker).broker for broker in (1, 2, 3)] == [1, 2, 3]

    run_with_admin(use, topics={})


def test_each_part_that_fails_is_reported_and_so_is_whether_another_succeeded() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        topics = [{"name": name, "numPartitions": 1, "replicationFactor": 1} for name in ("orders", "new")]
        response = admin.request_api("CreateTopics", {"topics": topics})
        assert [type(error) for error in response.errors] == [error_class(ErrorCode.TOPIC_ALREADY_EXISTS)]
        assert response.has_successes

    run_with_admin(use, topics=TOPICS)


def test_a_request_whose_connection_is_lost_is_not_sent_again() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.describe_cluster()
        for broker in (1, 2, 3):
            cluster.sandbox.start_fault(broker, Fault.RESET_ON_REQUEST)
        before_ms = cluster.clock.now_ms()
        with pytest.raises(TransportError, match="reset the connection"):
            admin.request_api("ListGroups", {}, timeout=20)
        assert cluster.clock.now_ms() - before_ms < 5000

    run_with_admin(use, topics={})


@pytest.mark.parametrize("broker", [None, 2])
def test_a_silent_broker_ends_the_call_at_its_deadline(broker: int | None) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.describe_cluster()
        for number in (1, 2, 3):
            cluster.sandbox.start_fault(number, Fault.FREEZE)
        before_ms = cluster.clock.now_ms()
        with pytest.raises(ApiTimeout):
            admin.request_api("DescribeCluster", {}, broker=broker, timeout=3)
        assert cluster.clock.now_ms() - before_ms == 3000

    run_with_admin(use, topics={})


def test_unknown_api_or_field_is_refused_before_anything_is_sent() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        with pytest.raises(ValueError, match="no client API with the name "):
            admin.request_api("NoSuchApi", {})
        with pytest.raises(ValueError, match="invalid version 99: use 0 to 5"):
            admin.request_api("ListGroups", {}, version=99)
        with pytest.raises(JsonFormError, match="nam: the field is unknown"):
            admin.request_api("Metadata", {"nam": 1})

    run_with_admin(use, topics={})


def test_a_partition_without_leader_or_without_topic_is_named() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        fields = {"topics": [{"name": "orders", "partitions": [{"partitionIndex": 7}]}]}
        with pytest.raises(error_class(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), match="orders-7"):
            admin.request_api("DeleteRecords", fields)
        admin.create_topics([NewTopic("gone", 1)]).raise_first()

    run_with_admin(use, topics=TOPICS)


def test_every_api_that_a_client_may_send_is_declared() -> None:
    names = {each.name for each in declared_apis()}
    assert {"CreateAcls", "AlterClientQuotas", "DescribeQuorum", "ShareFetch", "StreamsGroupDescribe"} < names
    assert len(names) >= 75
