"""Assignor: how the leader of a classic group shares partitions out, as a function of values alone.

Owns the types that every assignor takes and gives, and Kafka's order of members. Knows nothing of coordinators, bytes
or time.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from kctl.client.cluster import TopicPartition

NO_GENERATION = -1


class MemberSubscription(NamedTuple):
    """What one member sent to the group when it joined.

    Attributes:
        owned: the partitions it holds; empty where it revoked everything before joining.
        generation: in which it got them, or NO_GENERATION.
        rack: client.rack, carried for other assignors; ours do not look at it.
        user_data: what its assignor added by `subscription_user_data`.
        group_instance_id: the name of a static member.
    """

    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION
    rack: str | None = None
    user_data: bytes = b""
    group_instance_id: str | None = None


Assignment = dict[str, list[TopicPartition]]
"""The partitions of each member id; members without any are there as well."""


class Assignor(Protocol):
    """One strategy.

    Attributes:
        name: as members call it on the wire.
        supports_cooperative: members may keep their partitions while they join.
    """

    @property
    def name(self) -> str: ...

    @property
    def supports_cooperative(self) -> bool: ...

    def subscription_user_data(self, owned: Iterable[TopicPartition], generation: int) -> bytes:
        """Return what a member sends along when it joins; empty for nothing."""
        ...

    def assign(self, members: Mapping[str, MemberSubscription], partitions_of: Mapping[str, int]) -> Assignment:
        """Share the partitions of the topics that members subscribe to; the same input gives the same output.

        Args:
            members: by member id, in any order.
            partitions_of: the number of partitions by topic; topics that are not in it do not exist.
        """
        ...


def members_in_order(members: Mapping[str, MemberSubscription]) -> list[str]:
    """Return the member ids in Kafka's order: static members by instance id, then the others by member id."""

    def place(member_id: str) -> tuple[bool, bytes]:
        instance_id = members[member_id].group_instance_id
        return instance_id is None, code_units(member_id if instance_id is None else instance_id)

    return sorted(members, key=place)


def code_units(text: str) -> bytes:
    """Return a key that sorts texts as Java does, by UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")


def members_by_topic(
    members: Mapping[str, MemberSubscription], partitions_of: Mapping[str, int]
) -> dict[str, list[str]]:
    """Return who subscribes to each topic that has partitions: topics sorted, members in Kafka's order."""
    by_topic: dict[str, list[str]] = {}
    for member_id in members_in_order(members):
        for topic in dict.fromkeys(members[member_id].topics):
            if partitions_of.get(topic, 0) > 0:
                by_topic.setdefault(topic, []).append(member_id)
    return {topic: by_topic[topic] for topic in sorted(by_topic, key=code_units)}
