"""RoundRobinAssignor: one by one over all topics."""

from kctl.client.consumer.assignors import MemberSubscription, assignor_by_name
from tests.unit.consumer.assignors.test_range import words


def assign(members: dict[str, MemberSubscription], **partitions_of: int) -> dict[str, str]:
    return words(assignor_by_name("roundrobin").assign(members, partitions_of))


def test_the_turn_goes_on_over_topics() -> None:
    members = {name: MemberSubscription(("u", "t")) for name in ("b", "a")}
    assert assign(members, u=2, t=3) == {"a": "t-0 t-2 u-1", "b": "t-1 u-0"}


def test_who_does_not_want_a_topic_is_passed_over() -> None:
    members = {"a": MemberSubscription(("t",)), "b": MemberSubscription(("u",)), "c": MemberSubscription(("t", "u"))}
    assert assign(members, t=3, u=2) == {"a": "t-0 t-2", "b": "u-0", "c": "t-1 u-1"}


def test_static_members_have_the_first_turn() -> None:
    members = {"a": MemberSubscription(("t",)), "z": MemberSubscription(("t",), group_instance_id="i")}
    assert assign(members, t=1) == {"z": "t-0", "a": ""}


def test_nobody_wants_anything() -> None:
    assert assign({"a": MemberSubscription(())}, t=3) == {"a": ""}
    assert assign({}, t=3) == {}
