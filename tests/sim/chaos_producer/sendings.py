"""What producers hand to their connections, read from the bytes of the batches, and what became of each attempt.

It is the one place that looks inside a producer: what is sent in vain, or in another order than was promised, shows at
no broker as long as nothing else goes wrong. Shown by tests/sim/chaos_producer/test_seeds.py.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any

from kctl.client.producer import Producer
from kctl.client.producer.batch import Batch
from kctl.client.producer.partition_queue import PartitionQueue
from kctl.client.producer.produce_calls import Sent, Verdict
from kctl.client.records import decode_batches
from tests.sim.chaos_producer.world import id_of

_PRODUCER_STATE = struct.Struct(">qhi")
_PRODUCER_STATE_AT = 43
"""Where a batch of the present format has producer id, epoch and first sequence number."""

Note = Callable[[str, Any], None]


def watch(producer: Producer, note: Note) -> None:
    """Have every batch that is sent noted as `sent`, and what is decided about its attempt as `judged`.

    `sent`: partition, names of the records, [producer id, epoch], first sequence number. `judged`: partition, the name
    of the first record, whether it is acknowledged.
    """
    batches, judge = producer._sender._batches, producer._sender._judge
    send, decide = batches._send, judge.decide

    def sending(node_id: int, entries: list[Sent], now_ms: int) -> None:
        for entry in entries:
            note("sent", _of(entry.queue.topic_partition.partition, entry.batch.data))
        send(node_id, entries, now_ms)

    def deciding(queue: PartitionQueue, batch: Batch, verdict: Verdict) -> None:
        _, names, *_ = _of(queue.topic_partition.partition, batch.data)
        note("judged", [queue.topic_partition.partition, names[0], verdict.outcome is not None])
        decide(queue, batch, verdict)

    batches._send = sending  # type: ignore[method-assign]  # the seam is for this test alone
    judge.decide = deciding  # type: ignore[method-assign]  # as above


def _of(partition: int, data: bytes) -> Sequence[Any]:
    producer_id, epoch, sequence = _PRODUCER_STATE.unpack_from(data, _PRODUCER_STATE_AT)
    reader = decode_batches(data, topic="", partition=partition, fetch_offset=0, aborted=None)
    names = [id_of(record.value) for record in reader.records(1_000_000)]
    return [partition, names, [producer_id, epoch], sequence]
