"""Produce requests with acks=all that wait for the in-sync replicas. Source: DelayedProduce.

Since KIP-966, the high watermark does not advance while too few replicas are in sync, so these requests mostly fail
with REQUEST_TIMED_OUT. NOT_ENOUGH_REPLICAS_AFTER_APPEND means that replicas left after replication.
"""

from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.produce import PartitionProduceResponse, ProduceResponse
from kctl.sandbox.partition import Partition


class Replicating(NamedTuple):
    """Batch that waits for replication, and its part of the response."""

    node_id: int
    partition: Partition
    answer: PartitionProduceResponse
    end_offset: int

    def is_over(self) -> bool:
        """Return whether the outcome is known. If the batch failed, set the error in the response."""
        partition = self.partition
        if partition.leader_id != self.node_id:
            self.refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return True
        if partition.high_watermark < self.end_offset:
            return False
        if len(partition.in_sync) < partition.needed_in_sync:
            self.refuse(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        return True

    def refuse(self, code: ErrorCode) -> None:
        self.answer.error_code = code
        self.answer.base_offset = -1


class AcksAll:
    """Response to a request of which some batches wait for replication."""

    def __init__(self, response: ProduceResponse, waits: list[Replicating]) -> None:
        self._response = response
        self._left = waits

    def answer(self, is_last: bool) -> ProduceResponse | None:
        """Return the response if all batches are complete or the time is over, otherwise None."""
        self._left = [one for one in self._left if not one.is_over()]
        if self._left and not is_last:
            return None
        for one in self._left:
            one.refuse(ErrorCode.REQUEST_TIMED_OUT)
        return self._response
