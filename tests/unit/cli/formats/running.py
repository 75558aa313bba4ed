"""Runs an output over records of a batch, as `kctl consume` does over what was fetched."""

from kctl.cli.formats.output import RecordOutput
from kctl.cli.formats.plans import template_parts
from kctl.cli.formats.template import parse_template
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.chunk import FetchedChunk
from kctl.client.records import Header, RecordBatchBuilder, stamp_batch

Data = bytes | None
Content = tuple[Data, Data, list[Header]]
"""Key, value and headers; the timestamp is TIMESTAMP_MS and the record's number."""

TIMESTAMP_MS = 1_700_000_000_000
BASE_OFFSET = 40


def chunk_of(
    *records: Content,
    topic: str = "a-topic",
    partition: int = 3,
    codec: str = "none",
    timestamps: list[int] | None = None,
) -> FetchedChunk:
    """Return the records as one batch at offset 40, leader epoch 7, producer 9 and its epoch 2."""
    builder = RecordBatchBuilder(codec, batch_size_bytes=1 << 24)
    for number, (key, value, headers) in enumerate(records):
        timestamp = TIMESTAMP_MS + number if timestamps is None else timestamps[number]
        assert builder.try_append(key, value, headers, timestamp) == number
    builder.set_producer_state(9, 2, 0)
    data = stamp_batch(builder.build(), BASE_OFFSET, 7)
    return FetchedChunk(
        TopicPartition(topic, partition),
        0,
        BASE_OFFSET,
        BASE_OFFSET + len(records),
        data,
        high_watermark=99,
        log_start_offset=11,
    )


def written(output: RecordOutput, chunk: FetchedChunk) -> bytes:
    """Return all that the output writes of the chunk, with its head."""
    reader = chunk.reader()
    text = output.head
    while not reader.exhausted:
        text += reader.output(output.plan_for(chunk), 2)
    return text


def by_template(template: str, *records: Content, for_terminal: bool = False, null: bytes = b"") -> bytes:
    """Return what a template writes of the records."""
    parts = template_parts(parse_template(template), null=null, for_terminal=for_terminal)
    return written(RecordOutput(parts, null=null), chunk_of(*records))
