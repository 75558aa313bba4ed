"""RangeAssignor: contiguous ranges per topic, static members first."""

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.assignors import Assignment, MemberSubscription, assignor_by_name


def assign(members: dict[str, MemberSubscription], **partitions_of: int) -> dict[str, str]:
    return words(assignor_by_name("range").assign(members, partitions_of))


def words(assignment: Assignment) -> dict[str, str]:
    return {member_id: " ".join(map(str, partitions)) for member_id, partitions in assignment.items()}


def test_the_first_members_get_the_odd_partitions() -> None:
    members = {name: MemberSubscription(("t",)) for name in ("c", "a", "b")}
    assert assign(members, t=8) == {"a": "t-0 t-1 t-2", "b": "t-3 t-4 t-5", "c": "t-6 t-7"}


def test_each_topic_is_shared_by_itself() -> None:
    members = {"a": MemberSubscription(("t", "u")), "b": MemberSubscription(("u", "t", "u"))}
    assert assign(members, u=3, t=3) == {"a": "t-0 t-1 u-0 u-1", "b": "t-2 u-2"}


def test_who_does_not_subscribe_gets_nothing_of_a_topic() -> None:
    members = {"a": MemberSubscription(("t",)), "b": MemberSubscription(("t", "u")), "c": MemberSubscription(())}
    assert assign(members, t=2, u=2) == {"a": "t-0", "b": "t-1 u-0 u-1", "c": ""}


def test_members_beyond_the_partitions_get_nothing() -> None:
    members = {name: MemberSubscription(("t",)) for name in "abc"}
    assert assign(members, t=2) == {"a": "t-0", "b": "t-1", "c": ""}


def test_a_topic_that_does_not_exist_is_nobodys() -> None:
    assert assign({"a": MemberSubscription(("gone", "t"))}, t=1) == {"a": "t-0"}


def test_static_members_come_first_by_instance_id() -> None:
    members = {
        "a": MemberSubscription(("t",)),
        "y": MemberSubscription(("t",), group_instance_id="i2"),
        "z": MemberSubscription(("t",), group_instance_id="i1"),
    }
    assert assign(members, t=3) == {"z": "t-0", "y": "t-1", "a": "t-2"}


def test_the_order_of_members_is_javas() -> None:
    """UTF-16 code units: a character beyond the basic plane sorts before U+FF61."""
    members = {name: MemberSubscription(("t",)) for name in ("\uff61", "\U0001f600")}
    assert assign(members, t=1) == {"\U0001f600": "t-0", "\uff61": ""}


def test_assign_is_values_only() -> None:
    members = {"a": MemberSubscription(("t",))}
    assert assignor_by_name("range").assign(members, {"t": 1}) == {"a": [TopicPartition("t", 0)]}
