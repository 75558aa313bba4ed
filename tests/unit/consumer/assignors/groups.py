"""Random groups and what happens to them between two rebalances, for the tests of assignors.

Member ids are single characters in the order in which members came.
"""

from collections.abc import Mapping
from random import Random
from typing import NamedTuple

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.assignors import Assignment, Assignor, MemberSubscription

FIRST_ID = 0x4000
"""Java keeps single characters from here on in their own order in its hash tables of any size up to 16,384."""


class Group(NamedTuple):
    """The members as the next rebalance finds them, by id."""

    members: dict[str, MemberSubscription]
    partitions_of: dict[str, int]

    def subscribed_partitions(self) -> list[TopicPartition]:
        """What has to be assigned: every partition of every topic that anybody wants."""
        topics = sorted({topic for member in self.members.values() for topic in member.topics})
        return [TopicPartition(topic, number) for topic in topics for number in range(self.partitions_of.get(topic, 0))]

    def told(self, assignor: Assignor) -> dict[str, MemberSubscription]:
        """The subscriptions with what this assignor adds."""
        return {
            member_id: member._replace(user_data=assignor.subscription_user_data(member.owned, member.generation))
            for member_id, member in self.members.items()
        }

    def assign(self, assignor: Assignor) -> Assignment:
        return assignor.assign(self.told(assignor), self.partitions_of)

    def after(self, assignment: Assignment, generation: int) -> "Group":
        """The same group when everybody has what it was given."""
        members = {
            member_id: member._replace(owned=tuple(sorted(assignment[member_id])), generation=generation)
            for member_id, member in self.members.items()
        }
        return Group(members, self.partitions_of)


CONTESTED = Group(
    {
        "a": MemberSubscription(("t",), owned=(TopicPartition("t", 1), TopicPartition("t", 2)), generation=1),
        "b": MemberSubscription(("t",), owned=(TopicPartition("t", 0), TopicPartition("t", 3)), generation=1),
        "c": MemberSubscription(("t",), owned=(TopicPartition("t", 0),), generation=0),
    },
    {"t": 4},
)
"""b owns two partitions and has room for one, because a has the larger share; c claims t-0 for an older generation."""


def random_group(rng: Random, *, equal: bool, most_members: int = 9, statics: float = 0.3) -> Group:
    """A new group; with `equal`, all members want the same topics."""
    names = [f"t{number}" for number in range(rng.randint(1, 5))]
    partitions_of = {name: rng.randint(0 if rng.random() < 0.1 else 1, 12) for name in names if rng.random() < 0.95}
    members = {
        chr(FIRST_ID + number): MemberSubscription(
            topics_for(rng, names, equal),
            group_instance_id=f"i{rng.randint(0, 999)}-{number}" if rng.random() < statics else None,
        )
        for number in range(rng.randint(1, most_members))
    }
    return Group(members, partitions_of)


def topics_for(rng: Random, names: list[str], equal: bool) -> tuple[str, ...]:
    return tuple(names) if equal else tuple(rng.sample(names, rng.randint(1, len(names))))


def changed(rng: Random, group: Group, *, equal: bool) -> Group:
    """The group after something happened: members left or came, subscriptions or topics changed, a member was away."""
    members, partitions_of = dict(group.members), dict(group.partitions_of)
    generation = max(member.generation for member in members.values())
    names = sorted({topic for member in members.values() for topic in member.topics} | set(partitions_of))
    for _ in range(rng.randint(0, 3)):
        what = rng.choice(["join", "leave", "grow", "stale", "drop", "claim"] + ([] if equal else ["want"]))
        member_id = rng.choice(sorted(members))
        if what == "join":
            members[chr(ord(max(members)) + 1)] = MemberSubscription(topics_for(rng, names, equal))
        elif what == "leave" and len(members) > 1:
            del members[member_id]
        elif what == "grow" and partitions_of:
            partitions_of[rng.choice(sorted(partitions_of))] += rng.randint(1, 4)
        elif what == "stale":
            members[member_id] = members[member_id]._replace(generation=max(-1, generation - 1))
        elif what == "drop":
            members[member_id] = members[member_id]._replace(owned=(), generation=-1)
        elif what == "claim":
            owned, others = members[member_id].owned, members[rng.choice(sorted(members))].owned
            members[member_id] = members[member_id]._replace(owned=tuple(dict.fromkeys((*owned[1:], *others[:1]))))
        elif what == "want":
            members[member_id] = members[member_id]._replace(topics=topics_for(rng, names, equal))
    return Group(members, partitions_of)


def imbalance(assignment: Mapping[str, list[TopicPartition]]) -> int:
    """The sum of the differences between the sizes of all shares: 0 is even."""
    sizes = sorted(map(len, assignment.values()))
    return sum(size * (2 * place - len(sizes) + 1) for place, size in enumerate(sizes))


def kept(group: Group, assignment: Assignment) -> int:
    """How many partitions stay with a member that says it owns them."""
    return sum(tp in assignment[member_id] for member_id, member in group.members.items() for tp in member.owned)
