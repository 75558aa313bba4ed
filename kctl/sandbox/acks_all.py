"""Produce requests with acks=all that wait for the in-sync replicas. Source: DelayedProduce.

Since KIP-966, the high watermark does not advance while too few replicas are in sync, so these requests mostly fail
with REQUEST_TIMED_OUT. NOT_ENOUGH_REPLICAS_AFTER_APPEND means that replicas left after replication.
"""

from collections.abc import Callable
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.produce import PartitionProduceResponse, ProduceResponse
from kctl.sandbox.call import Call
from kctl.sandbox.partition import Partition
from kctl.sandbox.runtime import Handle


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
    def __init__(self, call: Call, response: ProduceResponse, waits: list[Replicating]) -> None:
        self._call = call
        self._response = response
        self._left = waits
        self._stops: list[Callable[[], None]] = []
        self._timer: Handle | None = None

    def start(self, timeout_ms: int) -> None:
        """Respond when all batches are complete, or after `timeout_ms`."""
        self._call.on_abandoned = self._stop
        self._timer = self._call.cluster.scheduler.call_later(max(0, timeout_ms), self._expire)
        for one in self._left:
            self._stops.append(one.partition.log.watch(self._look))
        self._look()

    def _look(self) -> None:
        self._left = [one for one in self._left if not one.is_over()]
        if not self._left:
            self._end()

    def _expire(self) -> None:
        for one in self._left:
            if not one.is_over():
                one.refuse(ErrorCode.REQUEST_TIMED_OUT)
        self._end()

    def _end(self) -> None:
        self._stop()
        self._call.answer(self._response)

    def _stop(self) -> None:
        for stop in self._stops:
            stop()
        self._stops.clear()
        if self._timer is not None:
            self._timer.cancel()
