"""Record batches, decoded and encoded, without sockets or time.

Read one partition of a fetch response::

    reader = BatchReader(data, topic="t", partition=0, fetch_offset=7, aborted=None)
    while chunk := reader.records(500):          # list[Record]; or: while not reader.exhausted: reader.output(plan)
        ...
    reader.next_offset                           # where the next fetch starts

`aborted` is None for read_uncommitted, otherwise the list of AbortedTransaction in the response. Records before
`fetch_offset`, and from `stop_offset` on, are left out. `reader.markers` has the control batches. Damage raises
CorruptBatchError (UnsupportedCodecError for an unknown codec) after the records before it were returned.

Write a batch::

    builder = RecordBatchBuilder("zstd", batch_size_bytes=16384)
    builder.try_append(key, value, [("name", b"value")], timestamp_ms)     # offset in the batch; None: full
    builder.set_producer_state(producer_id, epoch, base_sequence)          # when idempotent
    builder.build()                                                        # bytes of a whole batch, CRC set

Output bytes without record objects: `OutputPlan([OutputField("key"), b"\\t", OutputField("value"), b"\\n"])`, filtered
with `conditions=[Condition("value", re.compile(b"x").search)]`. `reader.pieces(plan)` returns large values as
ValuePlaces, which write themselves to a descriptor without a copy. Columns for tables:
`reader.columns(Columns(keys=True, ..., room_bytes=4 << 20), 16384)`.

Many records: `Rows(values, keys, ...)` with `builder.try_append_rows(rows, first, end)`. For brokers: split_batches,
stamp_batch, control_batch.
"""

from kctl.client.records._hot import is_compiled
from kctl.client.records._hot.builder import RecordBatchBuilder
from kctl.client.records._hot.columns import Columns
from kctl.client.records._hot.conditions import SUBJECT_NAMES, Condition
from kctl.client.records._hot.exits import FIELD_NAMES, MOST_JSON_BYTES, OutputField, OutputPlan, QuotedText
from kctl.client.records._hot.filled import FilledParts, PackedParts
from kctl.client.records._hot.murmur2 import partition_of_key, partitions_of_keys
from kctl.client.records._hot.packed import raise_registers
from kctl.client.records._hot.places import ValuePlaces
from kctl.client.records._hot.record import BatchInfo, Header, Record
from kctl.client.records._hot.rows import (
    LAST_TIMESTAMP_MS,
    Rows,
    check_contents,
    checked_timestamps,
    split_all,
    split_at,
)
from kctl.client.records._hot.send_future import (
    UNKNOWN_OFFSET,
    Outcome,
    RecordMetadata,
    SendFuture,
    complete_records,
    is_neighbour,
    rows_of,
)
from kctl.client.records._hot.varint import FieldError
from kctl.client.records.batch import BATCH_OVERHEAD_BYTES, renumber_batch, stamp_batch
from kctl.client.records.compression import CODEC_IDS
from kctl.client.records.lines import Lines
from kctl.client.records.packed_rows import PackedColumn, PackedPart, PackedRows
from kctl.client.records.reader import BatchReader, split_batches
from kctl.client.records.transactions import AbortedTransaction, ControlMarker, control_batch

__all__ = [
    "BATCH_OVERHEAD_BYTES",
    "CODEC_IDS",
    "FIELD_NAMES",
    "LAST_TIMESTAMP_MS",
    "MOST_JSON_BYTES",
    "SUBJECT_NAMES",
    "UNKNOWN_OFFSET",
    "AbortedTransaction",
    "BatchInfo",
    "BatchReader",
    "Columns",
    "Condition",
    "ControlMarker",
    "FieldError",
    "FilledParts",
    "Header",
    "Lines",
    "Outcome",
    "OutputField",
    "OutputPlan",
    "PackedColumn",
    "PackedPart",
    "PackedParts",
    "PackedRows",
    "QuotedText",
    "Record",
    "RecordBatchBuilder",
    "RecordMetadata",
    "Rows",
    "SendFuture",
    "ValuePlaces",
    "check_contents",
    "checked_timestamps",
    "complete_records",
    "control_batch",
    "is_compiled",
    "is_neighbour",
    "partition_of_key",
    "partitions_of_keys",
    "raise_registers",
    "renumber_batch",
    "rows_of",
    "split_all",
    "split_at",
    "split_batches",
    "stamp_batch",
]
