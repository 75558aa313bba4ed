"""Claims: who may keep which partition, from what all members say they own.

Shown by tests/unit/consumer/assignors/test_claims.py.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.assignors.assignor import code_units


class Claim(NamedTuple):
    """What one member says it owns, and since which generation."""

    topic_partitions: Iterable[TopicPartition]
    generation: int


class Claims:
    """The claims of all members, settled: of several claims to one partition that of the newest generation counts.

    Two claims of the same generation cannot both be right, so neither counts. Members come in the order of their ids.
    Source: KIP-792. Differs from Java: a claim of a newer generation counts even where two older ones collide.
    Attributes:
        claimants: every partition that anybody claims, with all who do.
        disputed: those that two members claim with equal right, as keys.
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
        """Return the partitions each member owns that exist and that it still wants."""
        kept: dict[str, list[TopicPartition]] = {}
        for member_id, owned in self._owned.items():
            wanted = dict.fromkeys(topics_of[member_id])
            kept[member_id] = [
                tp for tp in owned if tp.topic in wanted and 0 <= tp.partition < partitions_of.get(tp.topic, 0)
            ]
        return kept
