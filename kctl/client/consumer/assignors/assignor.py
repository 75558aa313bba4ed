"""Assignor: protocol of partition assignment in a classic group, its types, and Kafka's order of members."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from kctl.client.cluster import TopicPartition

NO_GENERATION = -1


class MemberSubscription(NamedTuple):
    """Subscription of a member in JoinGroup.

    Attributes:
        owned: partitions of the member; empty if it revoked them before joining.
        generation: generation in which the member got `owned`, or NO_GENERATION.
        rack: client.rack, for assignors of the application.
        user_data: result of `subscription_user_data`.
    """

    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION
    rack: str | None = None
    user_data: bytes = b""
    group_instance_id: str | None = None


Assignment = dict[str, list[TopicPartition]]
"""List of partitions by member id, including members without any."""


class Assignor(Protocol):
    """An assignment strategy.

    Attributes:
        name: name in the protocol.
        supports_cooperative: whether members keep their partitions during a rebalance.
    """

    @property
    def name(self) -> str: ...

    @property
    def supports_cooperative(self) -> bool: ...

    def subscription_user_data(self, owned: Iterable[TopicPartition], generation: int) -> bytes:
        """Return the user data that a member sends in JoinGroup; it may be empty."""
        ...

    def assign(self, members: Mapping[str, MemberSubscription], partitions_of: Mapping[str, int]) -> Assignment:
        """Assign the partitions of the subscribed topics. The result must be deterministic.

        Args:
            members: subscriptions by member id, in any order.
            partitions_of: partition count by topic, for existing topics.
        """
        ...


def members_in_order(members: Mapping[str, MemberSubscription]) -> list[str]:
    """Return the member ids in Kafka's order: static members by instance id, then other members by id."""

    def place(member_id: str) -> tuple[bool, bytes]:
        instance_id = members[member_id].group_instance_id
        return instance_id is None, code_units(member_id if instance_id is None else instance_id)

    return sorted(members, key=place)


def code_units(text: str) -> bytes:
    """Return a sort key that orders text by UTF-16 code units, as Java does."""
    return text.encode("utf-16-be", "surrogatepass")


def members_by_topic(
    members: Mapping[str, MemberSubscription], partitions_of: Mapping[str, int]
) -> dict[str, list[str]]:
    """Return the subscribers of each topic with partitions, in Kafka's order."""
    by_topic: dict[str, list[str]] = {}
    for member_id in members_in_order(members):
        for topic in dict.fromkeys(members[member_id].topics):
            if partitions_of.get(topic, 0) > 0:
                by_topic.setdefault(topic, []).append(member_id)
    return {topic: by_topic[topic] for topic in sorted(by_topic, key=code_units)}
