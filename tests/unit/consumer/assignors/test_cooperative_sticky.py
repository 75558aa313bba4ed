"""CooperativeStickyAssignor: nobody gets a partition before its owner gave it up, and two rounds are enough."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from kctl.client.consumer.assignors import MemberSubscription, assignor_by_name
from tests.unit.consumer.assignors.groups import Group, changed, kept, random_group
from tests.unit.consumer.fakes import T0, T1, T2

COOPERATIVE = assignor_by_name("cooperative-sticky")
STICKY = assignor_by_name("sticky")
chances = st.randoms(use_true_random=False)


def settled(rng: Random, *, equal: bool) -> Group:
    group = random_group(rng, equal=equal)
    return group.after(group.assign(COOPERATIVE), 0)


@given(chances, st.booleans())
def test_partition_that_another_member_owns_is_not_assigned(rng: Random, equal: bool) -> None:
    group = settled(rng, equal=equal)
    for generation in range(1, 4):
        group = changed(rng, group, equal=equal)
        assignment = group.assign(COOPERATIVE)
        for member_id, share in assignment.items():
            for tp in share:
                owners = [each for each, member in group.members.items() if tp in member.owned]
                assert not owners or member_id in owners
        shares = [tp for share in assignment.values() for tp in share]
        assert len(shares) == len(set(shares))
        group = group.after(assignment, generation)


@given(chances, st.booleans())
def test_the_next_round_hands_over_the_rest(rng: Random, equal: bool) -> None:
    """Where topics differ, what was free in the second round may have made room for one more move."""
    group = changed(rng, settled(rng, equal=equal), equal=equal)
    for generation in range(2 if equal else 5):
        group = group.after(group.assign(COOPERATIVE), 5 + generation)
    owned = sorted(tp for member in group.members.values() for tp in member.owned)
    assert owned == sorted(group.subscribed_partitions())
    assert kept(group, group.assign(COOPERATIVE)) == len(owned)


@given(chances, st.booleans())
def test_nothing_is_held_back_that_nobody_owns(rng: Random, equal: bool) -> None:
    group = random_group(rng, equal=equal)
    assert group.assign(COOPERATIVE) == group.assign(STICKY)


def test_a_partition_that_moves_is_nobodys_for_one_round() -> None:
    members = {"a": MemberSubscription(("t",), (T0, T1), 3), "b": MemberSubscription(("t",), (), 3)}
    assert COOPERATIVE.assign(members, {"t": 2}) == {"a": [T0], "b": []}
    members["a"] = members["a"]._replace(owned=(T0,))
    assert COOPERATIVE.assign(members, {"t": 2}) == {"a": [T0], "b": [T1]}


def test_partition_that_two_members_claim_equally_is_revoked_from_both() -> None:
    members = {"a": MemberSubscription(("t",), (T0, T1), 3), "b": MemberSubscription(("t",), (T1, T2), 3)}
    assert COOPERATIVE.assign(members, {"t": 3}) == {"a": [T0], "b": [T2]}


def test_partition_of_an_unsubscribed_member_is_held_back() -> None:
    members = {"a": MemberSubscription(("u",), (T0,), 3), "b": MemberSubscription(("t",), (), 3)}
    assert COOPERATIVE.assign(members, {"t": 1, "u": 0}) == {"a": [], "b": []}


def test_the_generation_may_come_in_the_user_data() -> None:
    """A client of before ConsumerProtocolSubscription v2 says it there alone."""
    old = MemberSubscription(("t",), (T0,), user_data=COOPERATIVE.subscription_user_data((), 4))
    new = MemberSubscription(("t",), (T0, T1), 3)
    assert COOPERATIVE.assign({"a": old, "b": new}, {"t": 2}) == {"a": [T0], "b": [T1]}
