"""Batches that producers send, results of each attempt, and rows of send_columns.

The only place that inspects a producer: unneeded sends and wrong orders are invisible to brokers without further
faults, and callers learn only the number of rows.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any

from kctl.client.producer import Producer
from kctl.client.producer.batch import Batch
from kctl.client.producer.future import ColumnsFuture, Outcome, SendFuture
from kctl.client.producer.mailbox import Posted
from kctl.client.producer.partition_queue import PartitionQueue
from kctl.client.producer.produce_responses import BatchResponse, Sent
from kctl.client.producer.record_run import RecordRun
from kctl.client.records import BatchReader
from tests.sim.chaos_producer.producer_cluster import id_of

_PRODUCER_STATE = struct.Struct(">qhi")
_PRODUCER_STATE_AT = 43
"""Position of producer ID, epoch, and first sequence number in a batch."""

Note = Callable[[str, Any], None]
OnOutcome = Callable[[RecordRun, Outcome], None]


def watch_rows(producer: Producer, accepted: Callable[[RecordRun], None], note: Note, reported: OnOutcome) -> None:
    """Have the rows of send_columns noted.

    Args:
        accepted: called with each run before it is handed over.
        note: gets the names of those that were handed over in vain, as `taken-back`.
        reported: called with each run and what becomes of it.
    """
    mailbox, deliveries = producer._mailbox, producer._sender._deliveries
    post, withdraw, finish = mailbox.post_record, mailbox.withdraw, deliveries.finish

    def posting(record: SendFuture | RecordRun) -> None:
        if isinstance(record, RecordRun):
            accepted(record)
        post(record)

    def taking_back(event: Posted) -> bool:
        is_back = withdraw(event)
        if is_back and isinstance(event, RecordRun):
            note("taken-back", names_of(event))
        return is_back

    def finishing(runs: Sequence[RecordRun], outcome: Outcome) -> None:
        for run in runs:
            if isinstance(run.result, ColumnsFuture):
                reported(run, outcome)
        finish(runs, outcome)

    mailbox.post_record = posting  # type: ignore[method-assign]  # the seam is for this test alone
    mailbox.withdraw = taking_back  # type: ignore[method-assign]  # as above
    deliveries.finish = finishing  # type: ignore[method-assign]  # as above


def watch_silent(producer: Producer, reported: Callable[[str, Outcome, int, int], None]) -> None:
    """Have the outcomes of records noted that have no callback, by name, outcome, partition and offset."""
    deliveries = producer._sender._deliveries
    finish = deliveries.finish

    def finishing(runs: Sequence[RecordRun], outcome: Outcome) -> None:
        for run in runs:
            futures = run.result[run.first : run.end] if isinstance(run.result, list) else ()
            for row, future in enumerate(futures):
                if future.callback is None:
                    offset = outcome.base_offset + run.offset_in_batch + row if outcome.base_offset >= 0 else -1
                    reported(id_of(future.value), outcome, run.partition, offset)
        finish(runs, outcome)

    deliveries.finish = finishing  # type: ignore[method-assign]  # the seam is for this test alone


def names_of(run: RecordRun) -> list[str]:
    """Return the names of a run's rows."""
    return [id_of(value) for value in run.rows.values[run.first : run.end]]


def watch(producer: Producer, note: Note) -> None:
    """Record every sent batch as `sent`, and the result of its attempt as `judged`.

    `sent`: partition, names of the records, [producer ID, epoch], first sequence number. `judged`: partition, name of
    the first record, whether it is acknowledged.
    """
    batches = producer._sender._batches
    responses = batches._responses
    send, handle = batches._send, responses.handle
    firsts: dict[Batch, str] = {}

    def sending(node_id: int, entries: list[Sent], now_ms: int) -> None:
        for entry in entries:
            value = _of(entry.queue.topic_partition.partition, bytes(entry.batch.data))
            firsts[entry.batch] = value[1][0]
            note("sent", value)
        send(node_id, entries, now_ms)

    def handling(queue: PartitionQueue, batch: Batch, response: BatchResponse) -> None:
        note("judged", [queue.topic_partition.partition, firsts.pop(batch), response.outcome is not None])
        handle(queue, batch, response)

    batches._send = sending  # type: ignore[method-assign]  # the seam is for this test alone
    responses.handle = handling  # type: ignore[method-assign]  # as above


def _of(partition: int, data: bytes) -> Sequence[Any]:
    producer_id, epoch, sequence = _PRODUCER_STATE.unpack_from(data, _PRODUCER_STATE_AT)
    reader = BatchReader(data, topic="", partition=partition, fetch_offset=0, aborted=None)
    names = [id_of(record.value) for record in reader.records(1_000_000)]
    return [partition, names, [producer_id, epoch], sequence]
