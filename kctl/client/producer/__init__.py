"""The producer: `Producer(config)`, its futures, and its results.

producer.py           public class; transaction_methods.py record_run.py         rows in queues; future.py; record.py
given_rows.py         rows of send_columns; run_encoder.py, batch_compressor.py mailbox.py            events for the
network loop; buffer_memory.py sender.py             network loop record_router.py      waits for topics; partitioner.py
accumulator.py        queues; partition_queue.py, batch.py, compression_ratio.py batch_sender.py       requests;
produce_responses.py, identity.py batch_expiry.py       delivery.timeout.ms delivery_tracker.py   results and counts;
metrics.py
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
