"""What the tests of export and import share: records on a topic, and what files of an export hold."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.producer import Producer
from kctl.client.records import Record
from kctl.pipeline.export_files.exported_records import read_exported
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.targets import read_export
from tests.support.bounds import bound

PADDING = b"x" * 80


class Row(NamedTuple):
    """A record, as both a consumer and a file can tell it."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def produce(bootstrap: str, topic: str, count: int, *, partitions: int, first: int = 0) -> None:
    """Send records of every kind: nulls, headers, empty ones; by turns to each partition, a minute apart in time."""
    with Producer({"bootstrap.servers": bootstrap, "linger.ms": 20}) as producer:
        for number in range(first, first + count):
            key = None if number % 7 == 0 else f"key {number % 100}".encode()
            value = None if number % 11 == 0 else b"%d %b" % (number, PADDING)
            headers = (("trace", b"%d" % number), ("none", None)) if number % 13 == 0 else ()
            timestamp_ms = 1_700_000_000_000 + number * 60
            producer.send(topic, value, key, number % partitions, headers, timestamp_ms)
        producer.flush(bound(120))


def on_topic(properties: Mapping[str, str], topic: str) -> list[Row]:
    """Return what a consumer reads, by partition and offset."""
    with Consumer({**properties, "auto.offset.reset": "earliest"}) as consumer:
        partitions = [TopicPartition(topic, each.partition) for each in consumer.partitions_for(topic)]
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        consumer.seek_to_beginning()
        rows: list[Row] = []
        while any(consumer.position(tp) < ends[tp] for tp in partitions):
            rows += map(_row, consumer.poll(10))
    return sorted(rows, key=lambda row: row[:3])


def _row(record: Record) -> Row:
    value = None if record.value is None else bytes(record.value)
    key = None if record.key is None else bytes(record.key)
    headers = tuple((name, None if data is None else bytes(data)) for name, data in record.headers)
    return Row(record.topic, record.partition, record.offset, record.timestamp_ms, key, value, headers)


def in_export(folder: Path | StoreUrl) -> list[Row]:
    """Return what the manifests of an export lead to, by partition and offset."""
    rows: list[Row] = []
    for manifest in read_export(folder, {}):
        for exported in manifest.ranges:
            for batch in read_exported(folder, exported, {}):
                rows += rows_of(batch)
    return sorted(rows, key=lambda row: row[:3])


def rows_of(batch: pa.RecordBatch) -> Iterator[Row]:
    """Yield the rows of one batch."""
    timestamps = batch.column("timestamp").cast(pa.timestamp("ms", "UTC")).cast(pa.int64()).to_pylist()
    for row, timestamp_ms in zip(batch.drop_columns(["timestamp"]).to_pylist(), timestamps, strict=True):
        headers = tuple((header["key"], header["value"]) for header in row["headers"] or ())
        yield Row(row["topic"], row["partition"], row["offset"], timestamp_ms, row["key"], row["value"], headers)


def data_of(row: Row) -> tuple[bytes, bytes, tuple[tuple[str, bytes | None], ...]]:
    """Return what of a record is the same wherever it lies, in a form that sorts."""
    return row.key or b"", b"none" if row.value is None else row.value, row.headers
