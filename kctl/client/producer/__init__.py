"""The producer: `Producer(config)`, its futures and results.

producer.py        the public class: what happens on application threads
mailbox.py         the hand-over to the network loop, and waiting for it
buffer_memory.py   buffer.memory
sender.py          the network loop
intake.py          partitions for records, answers for waits
accumulator.py     queues by partition; batch.py, sequences.py: what is under way
batch_sender.py    sending, judging answers; produce_calls.py: one request and its answer
deliveries.py      futures completed and counted
"""

from kctl.client.producer.deliveries import CloseResult, PartitionResult
from kctl.client.producer.future import Callback, SendFuture
from kctl.client.producer.producer import Producer
from kctl.client.producer.record import ProducerRecord, RecordMetadata

__all__ = [
    "Callback",
    "CloseResult",
    "PartitionResult",
    "Producer",
    "ProducerRecord",
    "RecordMetadata",
    "SendFuture",
]
