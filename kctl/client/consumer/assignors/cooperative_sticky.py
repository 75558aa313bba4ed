"""CooperativeStickyAssignor: sticky, in two rounds.

Shown by tests/unit/consumer/assignors/test_cooperative_sticky.py.
"""

import struct
from collections.abc import Iterable, Mapping

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.assignors.assignor import NO_GENERATION, Assignment, MemberSubscription
from kctl.client.consumer.assignors.claims import Claim, Claims
from kctl.client.consumer.assignors.sticky import sticky_shares

_GENERATION = struct.Struct(">i")


class CooperativeStickyAssignor:
    """Gives the shares of the sticky assignor, but a partition that moves is nobody's until its owner gave it up.

    The owner sees that it lost the partition, gives it up and joins again; that second round hands it on.
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
    """Return whether the member owns the partition undisputed, or nobody owns it."""
    claimants = claims.claimants.get(topic_partition)
    return not claimants or (member_id in claimants and topic_partition not in claims.disputed)


def generation_of(subscription: MemberSubscription) -> int:
    """Return the generation of what a member owns: older clients say it in the user data alone."""
    if subscription.generation == NO_GENERATION and len(subscription.user_data) == _GENERATION.size:
        generation: int = _GENERATION.unpack(subscription.user_data)[0]
        return generation
    return subscription.generation
