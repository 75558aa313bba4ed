"""The producer: `Producer(config)`, its futures and results.

producer.py        the public class, on application threads; transaction_methods.py: its transactions
record_run.py      runs, the unit of queues and batches; future.py: results; record.py: checks of one record
given_rows.py      checks the columns of send_columns and divides them into runs
run_encoder.py     encodes send_columns rows on the caller's thread; batch_compressor.py: its helper thread
mailbox.py         hands records and calls to the network loop, and waits for it
buffer_memory.py   buffer.memory
sender.py          the network loop
record_router.py   assigns partitions and ends waits for topics; partitioner.py: the choice of partitions
accumulator.py     changes the queues; partition_queue.py: order, window and sequences of one partition; batch.py
compression_ratio.py  expected compression of a topic
batch_sender.py    Produce requests; produce_responses.py: their results; identity.py: the producer id
batch_expiry.py    delivery.timeout.ms
delivery_tracker.py  completes and counts records; metrics.py
"""

from kctl.client.loop.close import CloseResult, PartitionResult
from kctl.client.producer.future import NO_PARTITION, Callback, ColumnsFuture, RowsCallback, SendFuture, SettledRows
from kctl.client.producer.metrics import ProducerMetrics, TopicMetrics
from kctl.client.producer.producer import OnSend, OnSent, Partitioning, Producer
from kctl.client.producer.record import ProducerRecord, RecordMetadata

__all__ = [
    "NO_PARTITION",
    "Callback",
    "CloseResult",
    "ColumnsFuture",
    "OnSend",
    "OnSent",
    "PartitionResult",
    "Partitioning",
    "Producer",
    "ProducerMetrics",
    "ProducerRecord",
    "RecordMetadata",
    "RowsCallback",
    "SendFuture",
    "SettledRows",
    "TopicMetrics",
]
