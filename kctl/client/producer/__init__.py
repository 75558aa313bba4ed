"""The producer: `Producer(config)`, its futures and results.

producer.py        the public class: what happens on application threads
record_run.py      runs: what is queued and sent; future.py: the results of their rows
mailbox.py         the hand-over to the network loop, and waiting for it
buffer_memory.py   buffer.memory
sender.py          the network loop
intake.py          partitions for records, answers for waits
partitioner.py     the choice of partitions; node_progress.py
accumulator.py     queues by partition, batches cut; partition_queue.py: order and window; batch.py, sequences.py
batch_sender.py    sending; produce_calls.py: one request and its answer; identity.py: the producer id
judge.py           what an answer means for its batch; expiry.py: records that are too late
deliveries.py      futures completed and counted; metrics.py
"""

from kctl.client.producer.deliveries import CloseResult, PartitionResult
from kctl.client.producer.future import NO_PARTITION, Callback, ColumnsFuture, SendFuture
from kctl.client.producer.metrics import ProducerMetrics, TopicMetrics
from kctl.client.producer.producer import Producer
from kctl.client.producer.record import ProducerRecord, RecordMetadata

__all__ = [
    "NO_PARTITION",
    "Callback",
    "CloseResult",
    "ColumnsFuture",
    "PartitionResult",
    "Producer",
    "ProducerMetrics",
    "ProducerRecord",
    "RecordMetadata",
    "SendFuture",
    "TopicMetrics",
]
