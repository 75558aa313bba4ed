"""StickyAssignor: even shares, and members keep what they have.

Shown by tests/unit/consumer/assignors/test_sticky.py.
"""

from collections.abc import Iterable, Mapping

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.assignors.assignor import (
    NO_GENERATION,
    Assignment,
    MemberSubscription,
    code_units,
    members_by_topic,
)
from kctl.client.consumer.assignors.claims import Claim, Claims
from kctl.client.consumer.assignors.even_shares import even_shares
from kctl.client.consumer.assignors.protocol import by_topic
from kctl.client.consumer.assignors.uneven_shares import uneven_shares
from kctl.client.errors import RemoteProtocolError
from kctl.client.protocol import codec
from kctl.client.protocol.schema import NEVER, Message, Struct, field


class StickyTopic(Struct):
    """One topic of what a member held."""

    topic: str = field("string", "0+", default="")
    partitions: list[int] = field(["int32"], "0+", factory=list)


class StickyUserData(Message):
    """What a member of a sticky group held before it gave everything up to join; KIP-54, generation since KIP-341."""

    NAME = "StickyAssignorUserData"
    VALID_VERSIONS = (0, 1)
    FLEXIBLE_FROM = NEVER

    previous_assignment: list[StickyTopic] = field([StickyTopic], "0+", factory=list)
    generation: int = field("int32", "1+", default=NO_GENERATION, ignorable=True)


class StickyAssignor:
    """Gives even shares and moves as little as that allows; members give up everything before they join.

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
    """Return what a member says it held.

    User data that cannot be read counts as nothing held, as in Java: it costs that member its partitions, not the group
    its rebalance.
    """
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
    """Return even shares in which members keep what they own, as far as possible."""
    kept = claims.kept({member_id: member.topics for member_id, member in members.items()}, partitions_of)
    subscribers_of = members_by_topic(members, partitions_of)
    subscribers_of = {topic: sorted(each, key=code_units) for topic, each in subscribers_of.items()}
    partitions = [TopicPartition(topic, number) for topic in subscribers_of for number in range(partitions_of[topic])]
    if all(len(subscribers) == len(members) for subscribers in subscribers_of.values()):
        return even_shares(partitions, kept) if kept else {}
    return uneven_shares(partitions, kept, subscribers_of)
