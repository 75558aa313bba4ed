"""The producer: `Producer(config)`, its futures and results.

producer.py        the public class: what happens on application threads; transaction_methods.py: its transactions
record_run.py      runs: what is queued and sent; future.py: the results of their rows; record.py: checks of one record
given_rows.py      what a call of send_columns was given, checked and divided into runs
run_encoder.py     encodes the rows of send_columns on the caller's thread; batch_compressor.py: a helper thread for it
mailbox.py         the hand-over to the network loop, and waiting for it
buffer_memory.py   buffer.memory
sender.py          the network loop
record_router.py   partitions for records, answers for waits; partitioner.py: the choice of partitions
accumulator.py     queues by partition, and all changes of them; partition_queue.py: order, window, sequences; batch.py
compression_ratio.py  how much of a topic fills a compressed batch
batch_sender.py    requests; produce_responses.py: what their responses mean; identity.py: the producer id
batch_expiry.py    records that are too late
delivery_tracker.py  futures completed and counted; metrics.py
"""

from kctl.client.loop.close import CloseResult, PartitionResult
from kctl.client.producer.future import NO_PARTITION, Callback, ColumnsFuture, RowsCallback, SendFuture, SettledRows
from kctl.client.producer.metrics import ProducerMetrics, TopicMetrics
from kctl.client.producer.producer import Partitioning, Producer
from kctl.client.producer.record import ProducerRecord, RecordMetadata

__all__ = [
    "NO_PARTITION",
    "Callback",
    "CloseResult",
    "ColumnsFuture",
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
