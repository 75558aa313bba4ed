"""RangeAssignor and RoundRobinAssignor, which do not depend on the previous assignment."""

from collections.abc import Iterable, Mapping
from itertools import cycle

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.assignors.assignor import Assignment, MemberSubscription, members_by_topic, members_in_order


class RangeAssignor:
    """Gives each subscriber a range of each topic's partitions; the first subscribers may get one partition more.

    Topics with equal partition counts and subscribers are assigned alike, as joins by key need.

    Source: Java RangeAssignor. Differs: racks are ignored (KIP-881).
    """

    name = "range"
    supports_cooperative = False

    def subscription_user_data(self, owned: Iterable[TopicPartition], generation: int) -> bytes:  # noqa: ARG002 (it says nothing)
        return b""

    def assign(self, members: Mapping[str, MemberSubscription], partitions_of: Mapping[str, int]) -> Assignment:
        assignment: Assignment = {member_id: [] for member_id in members}
        for topic, subscribers in members_by_topic(members, partitions_of).items():
            share, odd = divmod(partitions_of[topic], len(subscribers))
            start = 0
            for place, member_id in enumerate(subscribers):
                end = start + share + (place < odd)
                assignment[member_id] += [TopicPartition(topic, partition) for partition in range(start, end)]
                start = end
        return assignment


class RoundRobinAssignor:
    """Assigns the partitions of all topics one by one, in turn, to subscribers of their topic.

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
