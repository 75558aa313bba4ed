"""Records with timestamps, markers and gaps, put into the topics of a served sandbox."""

from collections.abc import Sequence

from kctl.client import Producer
from kctl.client.records import control_batch
from kctl.sandbox.server import ServedSandbox


def send(bootstrap: str, topic: str, partition: int, values: Sequence[str], timestamps_ms: Sequence[int] = ()) -> None:
    """Append a batch of one record for each value."""
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        for at, value in enumerate(values):
            timestamp_ms = timestamps_ms[at] if timestamps_ms else None
            producer.send(topic, value=value.encode(), partition=partition, timestamp_ms=timestamp_ms).result(30)


def send_marker(cluster: ServedSandbox, topic: str, partition: int) -> None:
    """Append what a broker writes at the end of a transaction."""
    marker = control_batch(producer_id=7, producer_epoch=0, commit=True, timestamp_ms=1)
    log = cluster.sandbox.cluster.topics[topic].partitions[partition].log
    cluster.sandbox._do(lambda: log._store(marker, 0, -1, 1))  # clients must not write such batches
