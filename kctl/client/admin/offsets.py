"""Offsets of partitions, by place or time, asked of all leaders at once. Shown by tests/sim/admin."""

from collections.abc import Mapping

from kctl.client.admin.at_leaders import ask_leaders
from kctl.client.admin.call import Call, Items, Results
from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.client.errors import UnsupportedVersionError
from kctl.client.protocol.api.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kctl.client.protocol.schema import Request
from kctl.client.requests.list_offsets import OffsetAndTimestamp, list_offsets, offsets_in

LATEST = -1
"""The offset of the next record."""
EARLIEST = -2
"""The first offset that is still there."""
MAX_TIMESTAMP = -3
"""The offset of the record with the largest timestamp."""
FIRST_VERSION_WITH_MAX_TIMESTAMP = 7


def find_offsets(
    call: Call, specs: Mapping[TopicPartition, int], isolation_level: str
) -> Results[TopicPartition, OffsetAndTimestamp]:
    """Return the offset of each partition, or why there is none."""

    def build(infos: dict[TopicPartition, PartitionInfo], timeout_ms: int) -> Request:
        for key, info in infos.items():
            if specs[key] == MAX_TIMESTAMP:
                _check_max_timestamp(call, info.leader_id)
        return list_offsets([(info, specs[key]) for key, info in infos.items()], isolation_level, timeout_ms)

    def read(response: ListOffsetsResponse, node_id: int) -> Items[TopicPartition, OffsetAndTimestamp]:
        return offsets_in(response, node_id)

    return ask_leaders(call, specs, build, read)


def _check_max_timestamp(call: Call, node_id: int) -> None:
    """Raise where a broker would take MAX_TIMESTAMP for a time, and answer with the first record."""
    if not call.client.network.supports(node_id, ListOffsetsRequest, FIRST_VERSION_WITH_MAX_TIMESTAMP):
        needed = f"needs ListOffsets version {FIRST_VERSION_WITH_MAX_TIMESTAMP} (Kafka 3.0)"
        text = f"the offset of the largest timestamp {needed}, which broker {call.name_of(node_id)} lacks"
        raise UnsupportedVersionError(text, api=ListOffsetsRequest.NAME)
