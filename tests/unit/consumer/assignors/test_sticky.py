"""StickyAssignor: even, and nothing moves that need not. Hypothesis draws the groups; Java is asked elsewhere."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.assignors import Assignment, MemberSubscription, assignor_by_name
from kctl.client.consumer.assignors.sticky import Claim, previous_claim
from tests.unit.consumer.assignors.groups import CONTESTED, FIRST_ID, Group, changed, kept, random_group
from tests.unit.consumer.assignors.test_range import words
from tests.unit.consumer.fakes import T0, T1, T2

STICKY = assignor_by_name("sticky")
chances = st.randoms(use_true_random=False)


def settled(rng: Random, *, equal: bool) -> Group:
    """A group that has been through one assignment."""
    group = random_group(rng, equal=equal)
    return group.after(group.assign(STICKY), 0)


def check_each_once(group: Group, assignment: Assignment) -> None:
    assert list(assignment) == sorted(group.members)
    given_out = sorted(tp for share in assignment.values() for tp in share)
    assert given_out == sorted(group.subscribed_partitions())
    for member_id, share in assignment.items():
        assert {tp.topic for tp in share} <= set(group.members[member_id].topics)


@given(chances, st.booleans())
def test_each_partition_has_one_owner_who_wants_it(rng: Random, equal: bool) -> None:
    group = settled(rng, equal=equal)
    for generation in range(1, 4):
        group = changed(rng, group, equal=equal)
        assignment = group.assign(STICKY)
        check_each_once(group, assignment)
        group = group.after(assignment, generation)


@given(chances)
def test_sizes_differ_by_one_at_most_where_all_want_the_same(rng: Random) -> None:
    group = changed(rng, settled(rng, equal=True), equal=True)
    sizes = [len(share) for share in group.assign(STICKY).values()]
    assert max(sizes) - min(sizes) <= 1


@given(chances)
def test_no_passing_on_makes_unequal_shares_more_even(rng: Random) -> None:
    """Whoever holds a partition that another could have holds at most one more than that one."""
    group = changed(rng, settled(rng, equal=False), equal=False)
    assignment = group.assign(STICKY)
    for share in assignment.values():
        for topic in {tp.topic for tp in share}:
            others = [len(assignment[each]) for each, member in group.members.items() if topic in member.topics]
            assert len(share) - min(others) <= 1


@given(chances, st.booleans())
def test_nothing_moves_when_nothing_changed(rng: Random, equal: bool) -> None:
    group = settled(rng, equal=equal)
    assignment = group.assign(STICKY)
    assert kept(group, assignment) == len(group.subscribed_partitions())


@given(chances)
def test_a_member_that_joins_gets_its_share_and_nothing_else_moves(rng: Random) -> None:
    group = settled(rng, equal=True)
    topics = next(iter(group.members.values())).topics
    newcomer = chr(FIRST_ID + 100)
    group = Group({**group.members, newcomer: MemberSubscription(topics)}, group.partitions_of)
    assignment = group.assign(STICKY)
    total = len(group.subscribed_partitions())
    assert total - kept(group, assignment) == len(assignment[newcomer]) == total // len(group.members)


@given(chances)
def test_when_a_member_leaves_the_others_keep_everything(rng: Random) -> None:
    group = settled(rng, equal=True)
    members = dict(group.members)
    del members[rng.choice(sorted(members))]
    group = Group(members, group.partitions_of)
    assert kept(group, group.assign(STICKY)) == sum(len(member.owned) for member in members.values())


@given(chances, st.booleans())
def test_the_order_of_the_members_does_not_matter(rng: Random, equal: bool) -> None:
    group = settled(rng, equal=equal)
    turned = Group(dict(reversed(group.members.items())), dict(reversed(group.partitions_of.items())))
    assert group.assign(STICKY) == turned.assign(STICKY)


def rightful(group: Group, member_id: str) -> set[TopicPartition]:
    """What a member may keep: it is the only claimant, or all others claim it for an older generation."""
    member = group.members[member_id]
    others = [each for name, each in group.members.items() if name != member_id]
    return {
        tp
        for tp in set(member.owned) & set(group.subscribed_partitions())
        if all(other.generation < member.generation for other in others if tp in other.owned)
    }


def check_members_keep_their_share(group: Group) -> None:
    """Each member keeps all that it rightfully owns, or as much of it as every member gets at least."""
    assignment = group.assign(STICKY)
    least = len(group.subscribed_partitions()) // len(group.members)
    for member_id in group.members:
        own = rightful(group, member_id)
        assert len(own & set(assignment[member_id])) >= min(len(own), least)


@given(chances)
def test_member_keeps_what_it_owns_up_to_the_smaller_share(rng: Random) -> None:
    check_members_keep_their_share(changed(rng, settled(rng, equal=True), equal=True))


def test_member_without_room_may_give_up_the_partition_that_only_it_claims() -> None:
    """b keeps t-0, which it owns although c claims it too, and gives up t-3. Java decides the same."""
    check_members_keep_their_share(CONTESTED)
    assert words(CONTESTED.assign(STICKY)) == {"a": "t-1 t-2", "b": "t-0", "c": "t-3"}


def owning(
    members: dict[str, tuple[str, ...]], owned: dict[str, list[TopicPartition]]
) -> dict[str, MemberSubscription]:
    """Members by what they want and what they own."""
    return {
        name: MemberSubscription(topics, user_data=STICKY.subscription_user_data(owned.get(name, []), 1))
        for name, topics in members.items()
    }


def test_a_longer_path_is_found_where_no_neighbour_can_take() -> None:
    """a can give to b alone, which has one less, and c, which has two less, wants nothing of a's."""
    members = owning(
        {"a": ("t", "u"), "b": ("u", "v"), "c": ("v", "w")},
        {
            "a": [T0, T1, TopicPartition("u", 0)],
            "b": [TopicPartition("v", 0), TopicPartition("v", 1)],
            "c": [TopicPartition("w", 0)],
        },
    )
    assignment = STICKY.assign(members, {"t": 2, "u": 1, "v": 2, "w": 1})
    assert words(assignment) == {"a": "t-0 t-1", "b": "u-0 v-0", "c": "v-1 w-0"}


def test_sticky_passes_on_new_partitions_before_owned_ones() -> None:
    """b owns u-1 and gets u-0 and y while d is full; then c takes one of u."""
    members = owning(
        {"b": ("u", "y"), "c": ("u", "w"), "d": ("y", "z")},
        {
            "b": [TopicPartition("u", 1)],
            "c": [TopicPartition("w", 0)],
            "d": [TopicPartition("z", number) for number in range(9)],
        },
    )
    assignment = STICKY.assign(members, {"u": 2, "w": 1, "y": 2, "z": 9})
    assert words(assignment)["b"] == "u-1 y-0 y-1"
    assert words(assignment)["c"] == "u-0 w-0"


def test_user_data_goes_round() -> None:
    assert previous_claim(STICKY.subscription_user_data([T0, T2], 7)) == Claim([T0, T2], 7)
    assert STICKY.subscription_user_data([], 7) == b""


def test_user_data_of_old_clients_has_no_generation() -> None:
    """The bytes of version 0, written out: one topic `t`, two partitions."""
    data = bytes.fromhex("00000001000174000000020000000000000002")
    assert previous_claim(data) == Claim([T0, T2], -1)


def test_user_data_that_is_damaged_counts_as_nothing_held() -> None:
    data = STICKY.subscription_user_data([T0, T2], 7)
    for broken in (b"", data[:9], b"\xff" * 12, b"\x7f\xff\xff\xff"):
        assert previous_claim(broken) == Claim((), -1)
