"""Responses with missing, duplicate, or truncated items: an error with API and broker."""

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import explain
from kctl.client.admin import LATEST, Admin, ConfigResource, MemberToRemove, NewTopic, ResourceType
from kctl.client.admin.call import Results
from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.protocol.framing import encode_response
from kctl.client.protocol.schema import Response
from kctl.sandbox import connection
from tests.sim.kit import SimCluster, run_with_admin, settle

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
CONFIGS = [ConfigResource(ResourceType.TOPIC, name) for name in ("t", "u")]


class Case(NamedTuple):
    """Call, and the path of the items in one of its responses."""

    api: str
    path: tuple[str, ...]
    call: Callable[[Admin], Any]
    has_members: bool = False
    """True if the groups `live` and `new` need members."""


def members(admin: Admin) -> list[MemberToRemove]:
    return [MemberToRemove(member.member_id) for member in admin.describe_groups(["live"])["live"].members]


CASES = {
    "create_topics": Case(
        "CreateTopics", ("topics",), lambda admin: admin.create_topics([NewTopic("a"), NewTopic("b")])
    ),
    "delete_topics": Case("DeleteTopics", ("responses",), lambda admin: admin.delete_topics(["t", "u"])),
    "describe_topics": Case("Metadata", ("topics",), lambda admin: admin.describe_topics(["t", "u"])),
    "describe_configs": Case("DescribeConfigs", ("results",), lambda admin: admin.describe_configs(CONFIGS)),
    "describe_brokers": Case(
        "DescribeConfigs",
        ("results",),
        lambda admin: admin.describe_configs([ConfigResource(ResourceType.BROKER, "2")]),
    ),
    "list_offsets": Case(
        "ListOffsets", ("topics", "partitions"), lambda admin: admin.list_offsets(dict.fromkeys([T0, T1], LATEST))
    ),
    "coordinators": Case("FindCoordinator", ("coordinators",), lambda admin: admin.delete_groups(["g", "h"])),
    "delete_groups": Case("DeleteGroups", ("results",), lambda admin: admin.delete_groups(["g", "h"])),
    "describe_groups": Case("DescribeGroups", ("groups",), lambda admin: admin.describe_groups(["g", "h"])),
    "describe_groups_848": Case(
        "ConsumerGroupDescribe", ("groups",), lambda admin: admin.describe_groups(["new"]), True
    ),
    "list_group_offsets": Case(
        "OffsetFetch", ("groups", "topics", "partitions"), lambda admin: admin.list_group_offsets("g", [T0, T1])
    ),
    "offsets_of_groups": Case("OffsetFetch", ("groups",), lambda admin: admin.list_offsets_of_groups(["g"])),
    "offsets_of_a_group": Case("OffsetFetch", ("groups",), lambda admin: admin.list_group_offsets("g")),
    "alter_group_offsets": Case(
        "OffsetCommit", ("topics", "partitions"), lambda admin: admin.alter_group_offsets("g", {T0: 1, T1: 1})
    ),
    "delete_group_offsets": Case(
        "OffsetDelete", ("topics", "partitions"), lambda admin: admin.delete_group_offsets("g", [T0, T1])
    ),
    "describe_transactions": Case(
        "DescribeTransactions", ("transaction_states",), lambda admin: admin.describe_transactions(["a"])
    ),
    "describe_producers": Case(
        "DescribeProducers", ("topics", "partitions"), lambda admin: admin.describe_producers([T0, T1])
    ),
    "find_records": Case(
        "Fetch", ("responses", "partitions"), lambda admin: admin.find_records(dict.fromkeys([T0, T1], 0))
    ),
    "share_group_offsets": Case(
        "DescribeShareGroupOffsets", ("groups",), lambda admin: admin.list_share_group_offsets("share")
    ),
    "alter_share_group_offsets": Case(
        "AlterShareGroupOffsets",
        ("responses", "partitions"),
        lambda admin: admin.alter_share_group_offsets("share", {T0: 0, T1: 0}),
    ),
    "remove_members": Case(
        "LeaveGroup", ("members",), lambda admin: admin.remove_members("live", members(admin)), True
    ),
}
OF_EVERYTHING = {
    "describe_cluster": Case("DescribeCluster", ("brokers",), lambda admin: admin.describe_cluster()),
    "list_topics": Case("Metadata", ("topics",), lambda admin: admin.list_topics()),
    "list_topic_names": Case("Metadata", ("topics",), lambda admin: admin.list_topic_names()),
    "list_groups": Case("ListGroups", ("groups",), lambda admin: admin.list_groups().failed),
    "all_group_offsets": Case(
        "OffsetFetch", ("groups", "topics", "partitions"), lambda admin: admin.list_group_offsets("g")
    ),
}
"""Calls about all that there is: nothing can be missing, but something can be there twice."""
REQUEST_API = Case(
    "ConsumerGroupDescribe",
    ("groups",),
    lambda admin: admin.request_api("ConsumerGroupDescribe", {"groupIds": ["new"]}),
)


def leave_out(items: list[Any]) -> None:
    if items:
        items.pop()


def repeat(items: list[Any]) -> None:
    items.extend(items[-1:])


def failures(call: Callable[[Admin], Any], admin: Admin) -> list[KafkaError]:
    """Return what the call raises, or the errors of its items."""
    try:
        result = call(admin)
    except KafkaError as error:
        return [error]
    return list((result.failed if isinstance(result, Results) else result).values())


def leave_whole(_items: list[Any]) -> None:
    """Edit nothing."""


def truncated(frame: bytes) -> bytes:
    """Return the frame of a response without its last bytes, with a size that fits."""
    body = frame[4:-3]
    return len(body).to_bytes(4, "big") + body


def check(
    case: Case,
    edit: Callable[[list[Any]], None],
    monkeypatch: pytest.MonkeyPatch,
    damage: Callable[[bytes], bytes] | None = None,
) -> None:
    encode = encode_response
    named = rf"the {case.api} response from 10\.0\.0\." if damage is None else rf"10\.0\.0\.\d:.*: {case.api}Response v"
    is_edited: list[bool] = []

    def encode_edited(response: Response, **how: Any) -> bytes:
        if case.api == response.NAME and is_edited:
            response = deepcopy(response)
            part: Any = response
            for name in case.path[:-1]:
                part = (getattr(part, name) or [response])[0]
            edit(getattr(part, case.path[-1], []))
            if damage is not None:
                return damage(encode(response, **how))
        return encode(response, **how)

    def use(cluster: SimCluster, admin: Admin) -> None:
        for group in ("g", "h"):
            admin.alter_group_offsets(group, {T0: 1, T1: 1}).raise_first()
        if case.has_members:
            settle(cluster.enter(cluster.classic_member("live")), cluster.enter(cluster.kip_848_member("new")))
        is_edited.append(True)
        before_ms = cluster.clock.now_ms()
        errors = failures(case.call, admin)
        assert cluster.clock.now_ms() - before_ms < 1000, "it was retried"
        is_edited.clear()
        assert errors
        for error in errors:
            assert isinstance(error, RemoteProtocolError), error
            assert explain(error).code == ExitCode.WRONG_PROTOCOL
            assert error.api == case.api
            assert re.match(named, str(error))

    monkeypatch.setattr(connection, "encode_response", encode_edited)
    run_with_admin(use)


@pytest.mark.parametrize("name", CASES)
def test_item_that_is_left_out_is_malformed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(CASES[name], leave_out, monkeypatch)


@pytest.mark.parametrize("name", CASES | OF_EVERYTHING)
def test_item_that_is_there_twice_is_malformed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check((CASES | OF_EVERYTHING)[name], repeat, monkeypatch)


@pytest.mark.parametrize("case", [*CASES.values(), *OF_EVERYTHING.values(), REQUEST_API], ids=lambda case: case.api)
def test_response_that_cannot_be_decoded_is_malformed_at_once(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    check(case, leave_whole, monkeypatch, truncated)
