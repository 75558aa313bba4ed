"""StickyAssignor and CooperativeStickyAssignor: even assignments in which members keep their partitions."""

import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kctl.client.cluster import TopicPartition, by_topic
from kctl.client.consumer.assignors.assignor import (
    NO_GENERATION,
    Assignment,
    MemberSubscription,
    code_units,
    members_by_topic,
)
from kctl.client.consumer.assignors.shares import even_shares, uneven_shares
from kctl.client.errors import RemoteProtocolError
from kctl.client.protocol import codec
from kctl.client.protocol.schema import NEVER, Message, Struct, field

_GENERATION = struct.Struct(">i")


class Claim(NamedTuple):
    topic_partitions: Iterable[TopicPartition]
    generation: int


class Claims:
    """Partitions that members claim to own; the newest generation of a partition wins.

    If two members claim a partition in the same newest generation, neither gets it.

    Source: KIP-792. Differs: a newer claim counts even if two older ones collide.
    Attributes:
        claimants: member ids by claimed partition.
        disputed: partitions claimed by two members in the newest generation, as keys.
    """

    def __init__(self, claims: Mapping[str, Claim]) -> None:
        self._owned: dict[str, list[TopicPartition]] = {}
        self.claimants: dict[TopicPartition, list[str]] = {}
        self.disputed: dict[TopicPartition, None] = {}
        for member_id in sorted(claims, key=code_units):
            self._owned[member_id] = []
            for tp in dict.fromkeys(claims[member_id].topic_partitions):
                self.claimants.setdefault(tp, []).append(member_id)
        for tp, member_ids in self.claimants.items():
            newest = max(claims[member_id].generation for member_id in member_ids)
            owners = [member_id for member_id in member_ids if claims[member_id].generation == newest]
            if len(owners) > 1:
                self.disputed[tp] = None
            else:
                self._owned[owners[0]].append(tp)

    def kept(
        self, topics_of: Mapping[str, Iterable[str]], partitions_of: Mapping[str, int]
    ) -> dict[str, list[TopicPartition]]:
        kept: dict[str, list[TopicPartition]] = {}
        for member_id, owned in self._owned.items():
            wanted = dict.fromkeys(topics_of[member_id])
            kept[member_id] = [
                tp for tp in owned if tp.topic in wanted and 0 <= tp.partition < partitions_of.get(tp.topic, 0)
            ]
        return kept


class StickyTopic(Struct):
    topic: str = field("string", "0+", default="")
    partitions: list[int] = field(["int32"], "0+", factory=list)


class StickyUserData(Message, versions=(0, 1), flexible_from=NEVER):
    """Partitions of a member before the rebalance, in which it revokes them (KIP-54); KIP-341 added the generation."""

    NAME = "StickyAssignorUserData"

    previous_assignment: list[StickyTopic] = field([StickyTopic], "0+", factory=list)
    generation: int = field("int32", "1+", default=NO_GENERATION, ignorable=True)


class StickyAssignor:
    """Even shares with few moves; members revoke all partitions before they join.

    Source: Java StickyAssignor, KIP-54, KIP-341.
    """

    name = "sticky"
    supports_cooperative = False

    def subscription_user_data(self, owned: Iterable[TopicPartition], generation: int) -> bytes:
        previous = [StickyTopic(topic=topic, partitions=numbers) for topic, numbers in by_topic(owned).items()]
        if not previous:
            return b""
        return codec.encode(StickyUserData(previous_assignment=previous, generation=generation), 1)

    def assign(self, members: Mapping[str, MemberSubscription], partitions_of: Mapping[str, int]) -> Assignment:
        claims = Claims({member_id: previous_claim(member.user_data) for member_id, member in members.items()})
        return sticky_shares(members, partitions_of, claims)


def previous_claim(user_data: bytes) -> Claim:
    """Decode the claim in a member's user data; invalid user data is an empty claim, as in Java."""
    for version in (1, 0):  # the bytes have no version; the older one is shorter
        try:
            message, _ = codec.decode_header(StickyUserData, user_data, version)
        except RemoteProtocolError:
            continue
        held = [
            TopicPartition(each.topic, partition)
            for each in message.previous_assignment
            for partition in each.partitions
        ]
        return Claim(held, message.generation)
    return Claim((), NO_GENERATION)


def sticky_shares(
    members: Mapping[str, MemberSubscription], partitions_of: Mapping[str, int], claims: Claims
) -> Assignment:
    kept = claims.kept({member_id: member.topics for member_id, member in members.items()}, partitions_of)
    subscribers_of = members_by_topic(members, partitions_of)
    subscribers_of = {topic: sorted(each, key=code_units) for topic, each in subscribers_of.items()}
    partitions = [TopicPartition(topic, number) for topic in subscribers_of for number in range(partitions_of[topic])]
    if all(len(subscribers) == len(members) for subscribers in subscribers_of.values()):
        return even_shares(partitions, kept) if kept else {}
    return uneven_shares(partitions, kept, subscribers_of)


class CooperativeStickyAssignor:
    """Assigns as StickyAssignor, but leaves out partitions that another member still owns.

    The owner revokes such a partition and joins again; the second rebalance assigns it.

    Source: Java CooperativeStickyAssignor, KIP-429.
    """

    name = "cooperative-sticky"
    supports_cooperative = True

    def subscription_user_data(self, owned: Iterable[TopicPartition], generation: int) -> bytes:  # noqa: ARG002 (it says nothing)
        return _GENERATION.pack(generation)

    def assign(self, members: Mapping[str, MemberSubscription], partitions_of: Mapping[str, int]) -> Assignment:
        claims = Claims({member_id: Claim(each.owned, generation_of(each)) for member_id, each in members.items()})
        assignment = sticky_shares(members, partitions_of, claims)
        return {
            member_id: [tp for tp in share if may_have(member_id, tp, claims)]
            for member_id, share in assignment.items()
        }


def may_have(member_id: str, topic_partition: TopicPartition, claims: Claims) -> bool:
    """Return whether the member may get the partition now: no member claims it, or this member does without dispute."""
    claimants = claims.claimants.get(topic_partition)
    return not claimants or (member_id in claimants and topic_partition not in claims.disputed)


def generation_of(subscription: MemberSubscription) -> int:
    """Return the generation of a member's partitions; older clients send it in the user data."""
    if subscription.generation == NO_GENERATION and len(subscription.user_data) == _GENERATION.size:
        generation: int = _GENERATION.unpack(subscription.user_data)[0]
        return generation
    return subscription.generation
