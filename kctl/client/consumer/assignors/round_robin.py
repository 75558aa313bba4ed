"""RoundRobinAssignor: all partitions in turn. Shown by tests/unit/consumer/assignors/test_round_robin.py."""

from collections.abc import Iterable, Mapping
from itertools import cycle

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.assignors.assignor import Assignment, MemberSubscription, members_by_topic, members_in_order


class RoundRobinAssignor:
    """Deals the partitions of all topics out one by one; who does not subscribe to a topic is passed over.

    Source: Java RoundRobinAssignor.
    """

    name = "roundrobin"
    supports_cooperative = False

    def subscription_user_data(self, owned: Iterable[TopicPartition], generation: int) -> bytes:  # noqa: ARG002 (it says nothing)
        return b""

    def assign(self, members: Mapping[str, MemberSubscription], partitions_of: Mapping[str, int]) -> Assignment:
        assignment: Assignment = {member_id: [] for member_id in members}
        turns = cycle(members_in_order(members))
        for topic, subscribers in members_by_topic(members, partitions_of).items():
            wanted = dict.fromkeys(subscribers)
            for partition in range(partitions_of[topic]):
                member_id = next(each for each in turns if each in wanted)
                assignment[member_id].append(TopicPartition(topic, partition))
        return assignment
