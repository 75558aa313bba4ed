"""Where leader epochs end in the logs of the present leaders. Source: KIP-320.

An end in front of an offset that was read or written in that epoch means that an election has lost records. Shown by
tests/sim/admin/test_epoch_ends.py.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kctl.client.admin.at_leaders import ask_leaders
from kctl.client.admin.call import Call, Results
from kctl.client.broker_errors import broker_error
from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.protocol.api.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kctl.client.protocol.schema import Request

CONSUMER = -1
"""The replica id of clients."""


class EpochEnd(NamedTuple):
    """The end of a leader epoch, or of the largest one below it that the log has; -1 and -1 where there is none."""

    leader_epoch: int
    end_offset: int


def epoch_ends(call: Call, epochs: Mapping[TopicPartition, int]) -> Results[TopicPartition, EpochEnd]:
    """Return where an epoch of each partition ends in the log of its leader."""

    def build(infos: dict[TopicPartition, PartitionInfo], _timeout_ms: int) -> Request:
        topics: dict[str, OffsetForLeaderTopic] = {}
        for key, info in infos.items():
            asked = OffsetForLeaderPartition(
                partition=key.partition, current_leader_epoch=info.leader_epoch, leader_epoch=epochs[key]
            )
            topics.setdefault(key.topic, OffsetForLeaderTopic(topic=key.topic)).partitions.append(asked)
        return OffsetForLeaderEpochRequest(replica_id=CONSUMER, topics=list(topics.values()))

    def read(
        response: OffsetForLeaderEpochResponse, node_id: int
    ) -> Iterator[tuple[TopicPartition, EpochEnd | KafkaError]]:
        for topic in response.topics:
            for part in topic.partitions:
                key = TopicPartition(topic.topic, part.partition)
                if part.error_code:
                    yield (
                        key,
                        broker_error(part.error_code, f"OffsetForLeaderEpoch of {key} on {call.name_of(node_id)}"),
                    )
                else:
                    yield key, EpochEnd(part.leader_epoch, part.end_offset)

    return ask_leaders(call, epochs, build, read)
