"""The roster of a classic group: leader, protocol and generation, and the copy that the next coordinator finds."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.group_membership import JoinGroupRequest, JoinGroupRequestProtocol, SyncGroupRequest
from kctl.sandbox.groups.classic_member import ClassicMember
from kctl.sandbox.groups.classic_roster import Roster
from kctl.sandbox.groups.outbox import Asker, Refused

ASKER = Asker("client", 9, lambda _: None)


def _request(*protocols: str, protocol_type: str = "consumer") -> JoinGroupRequest:
    offers = [JoinGroupRequestProtocol(name=name, metadata=name.encode()) for name in protocols]
    return JoinGroupRequest(protocol_type=protocol_type, protocols=offers, rebalance_timeout_ms=7, session_timeout_ms=5)


def _member(member_id: str, *protocols: str) -> ClassicMember:
    member = ClassicMember(member_id, None, "client")
    member.adopt(_request(*protocols))
    return member


def _roster(*members: ClassicMember) -> Roster:
    roster = Roster()
    for member in members:
        roster.add(member, "consumer")
    roster.begin_generation()
    return roster


def test_join_is_accepted_when_all_members_keep_a_common_protocol() -> None:
    roster = _roster(_member("a", "range", "sticky"), _member("b", "sticky"))
    assert roster.accepts(_request("range", "sticky"))
    assert not roster.accepts(_request("range"))
    assert not roster.accepts(_request("sticky", protocol_type="connect"))
    assert not roster.accepts(_request())
    assert Roster().accepts(_request("anything", protocol_type="connect"))


def test_oldest_member_leads_after_the_leader_is_removed() -> None:
    first, second, third = (_member(name, "range") for name in "abc")
    roster = _roster(first, second, third)
    leaders = []
    for member in (first, second, third):
        leaders.append(roster.leader_id)
        roster.remove(member)
    assert [*leaders, roster.leader_id] == ["a", "b", "c", None]
    roster.begin_generation()
    assert (roster.protocol, roster.generation) == ("", 2)


def test_leader_that_did_not_join_is_succeeded_by_one_that_did() -> None:
    first, second = _member("a", "range"), _member("b", "range")
    roster = _roster(first, second)
    assert not roster.choose_leader()
    assert roster.leader_id == "a"
    second.join = ASKER
    assert roster.choose_leader()
    assert roster.leader_id == "b"


def test_replacement_keeps_place_and_leadership() -> None:
    first, second = _member("a", "range"), _member("b", "range")
    roster = _roster(first, second)
    roster.replace(first, first.renamed("new"))
    assert (list(roster.members), roster.leader_id) == (["new", "b"], "new")
    roster.replace(second, second.renamed("newer"))
    assert (list(roster.members), roster.leader_id) == (["new", "newer"], "new")


def test_only_the_leader_of_a_complete_generation_receives_the_members() -> None:
    first, second = _member("a", "range"), _member("b", "range")
    roster = _roster(first, second)
    assert [len(roster.join_response(one, is_complete=True).members) for one in (first, second)] == [2, 0]
    assert roster.join_response(first).members == []


@pytest.mark.parametrize(
    ("request_", "is_accepted"),
    [
        (SyncGroupRequest(), True),
        (SyncGroupRequest(protocol_type="consumer", protocol_name="range"), True),
        (SyncGroupRequest(protocol_type="connect", protocol_name="range"), False),
        (SyncGroupRequest(protocol_type="consumer", protocol_name="sticky"), False),
    ],
)
def test_sync_of_another_protocol_is_refused(request_: SyncGroupRequest, is_accepted: bool) -> None:
    roster = _roster(_member("a", "range"))
    if is_accepted:
        roster.check_protocol(request_)
        return
    with pytest.raises(Refused) as caught:
        roster.check_protocol(request_)
    assert caught.value.code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_request_of_another_generation_is_refused() -> None:
    roster = _roster(_member("a", "range"))
    assert roster.of_generation("a", None, 1).member_id == "a"
    with pytest.raises(Refused) as caught:
        roster.of_generation("a", None, 2)
    assert caught.value.code is ErrorCode.ILLEGAL_GENERATION


def test_restored_copy_has_no_pending_requests_and_shares_no_member() -> None:
    member = _member("a", "range")
    roster = _roster(member)
    member.join, member.assignment = ASKER, b"before"
    stored = roster.copy()
    member.assignment = b"after"
    roster.begin_generation()
    roster.restore(stored)
    restored = roster.members["a"]
    assert (roster.generation, restored.assignment, restored.join) == (1, b"before", None)
    assert stored.members["a"] is not restored


def test_topics_in_use_are_unknown_where_the_members_are_no_consumers() -> None:
    roster = Roster()
    assert roster.subscribed_topics() == set()
    roster.add(_member("a", "range"), "connect")
    with pytest.raises(Refused) as caught:
        roster.subscribed_topics()
    assert caught.value.code is ErrorCode.NON_EMPTY_GROUP
