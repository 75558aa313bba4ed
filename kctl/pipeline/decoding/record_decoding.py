"""RecordDecoding: batches of records with decoded keys or values.

Undecodable records are never lost: `with_errors` keeps their raw bytes and the error, and `split` moves them into an
error table. If the registry fails, the task fails.
"""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import pyarrow as pa

from kctl.client.errors import KafkaError
from kctl.pipeline.decoding.plan import KEY, VALUE, DecodePlan, SidePlan, task_store
from kctl.pipeline.decoding.value_reader import Read, ValueReader
from kctl.pipeline.record_columns import COLUMN_NAMES, REASON, schema_of
from kctl.serdes.errors import DecodeError, LibraryMissingError, SchemaError, SchemaNotFoundError, SerdesError
from kctl.serdes.registry import AVRO, JSON, PROTOBUF
from kctl.serdes.schema_store import Resolved, SchemaStore
from kctl.serdes.wire import KEY_HEADER, VALUE_HEADER, Header, read_frame

ERROR = "decodeError"
ERROR_TYPE = pa.struct(
    [
        pa.field("offset", pa.int64()),
        pa.field("reason", pa.string()),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
    ]
)
"""Type of the error of an undecodable record. Null for decoded records."""
_OF_RECORDS = (DecodeError, SchemaError, SchemaNotFoundError)
"""Errors of a single record. Other errors come from the registry or are bugs."""


class DecodedTypes(NamedTuple):
    key: pa.DataType | None
    value: pa.DataType | None

    def schema(self) -> pa.Schema:
        columns = schema_of(COLUMN_NAMES)
        for side, kind in self._asdict().items():
            if kind is not None:
                columns = columns.set(columns.get_field_index(side), columns.field(side).with_type(kind))
        return columns


def types_of(plan: DecodePlan) -> DecodedTypes:
    return DecodedTypes(*(None if side is None else value_reader(*side).type for side in (plan.key, plan.value)))


def value_reader(reader: Resolved, message: str | None = None) -> ValueReader:
    kind = reader.schema.type
    if kind == AVRO:
        from kctl.pipeline.decoding.avro_values import AvroValues

        return AvroValues(reader)
    if kind == PROTOBUF:
        from kctl.pipeline.decoding.protobuf_values import ProtobufValues

        return ProtobufValues(reader, message)
    if kind == JSON:
        from kctl.pipeline.decoding.json_values import JsonValues

        return JsonValues(reader)
    raise SchemaError(f"unsupported schema type {kind[:40]!r}: use AVRO, PROTOBUF, or JSON")


class RecordDecoding:
    """Decoder of the records of one topic.

    Args:
        columns: output columns, from `record_columns.TYPES` and ERROR, in order.
        pruned: types of keys and values with a subset of the plan's fields.
    Attributes:
        raw_columns: columns that must be read.
    """

    def __init__(
        self, plan: DecodePlan, store: SchemaStore, columns: Sequence[str], pruned: DecodedTypes | None = None
    ) -> None:
        self._columns = tuple(columns)
        wanted = {KEY: plan.key, VALUE: plan.value}
        self._sides = [
            _Side(name, plan_of, store, None if pruned is None else getattr(pruned, name))
            for name, plan_of in wanted.items()
            if plan_of is not None and name in columns
        ]
        has_errors = ERROR in columns
        needed = {*columns, *(("offset", KEY, VALUE) if has_errors else ()), *(("headers",) if self._sides else ())}
        self.raw_columns = tuple(name for name in COLUMN_NAMES if name in needed)

    def with_errors(self, raw: pa.RecordBatch) -> pa.RecordBatch:
        """Return the output columns. Undecodable keys and values are null, and ERROR has the reason.

        Raises:
            DecodeError: a record does not decode, and ERROR is not an output column.
        """
        decoded, reasons = self._decode(raw)
        if ERROR in self._columns:
            decoded[ERROR] = _errors(raw, reasons)
        elif reasons:
            row = min(reasons)
            at = f" at offset {raw.column('offset')[row].as_py()}" if "offset" in raw.schema.names else ""
            raise DecodeError(
                f"cannot decode the record{at}: {reasons[row]}",
                hint=f"to decode the other records, also select the column {ERROR}",
            )
        arrays = [decoded[name] if name in decoded else raw.column(name) for name in self._columns]
        return pa.RecordBatch.from_arrays(arrays, names=list(self._columns))

    def split(self, raw: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
        """Return the decoded records, and the undecodable records with their REASON, or None if there are none."""
        decoded, reasons = self._decode(raw)
        arrays = [decoded[name] if name in decoded else raw.column(name) for name in self._columns]
        whole = pa.RecordBatch.from_arrays(arrays, names=list(self._columns))
        if not reasons:
            return whole, None
        rows = sorted(reasons)
        kept = pa.array([row not in reasons for row in range(raw.num_rows)], pa.bool_())
        wrong = raw.take(pa.array(rows, pa.int64()))
        texts = pa.array([reasons[row] for row in rows], pa.string())
        return whole.filter(kept), pa.RecordBatch.from_arrays([*wrong.columns, texts], schema=error_schema(raw.schema))

    def _decode(self, raw: pa.RecordBatch) -> tuple[dict[str, pa.Array], dict[int, str]]:
        headers = raw.column("headers") if "headers" in raw.schema.names else None
        named = None if headers is None or headers.null_count == len(headers) else _headers_of(headers)
        decoded: dict[str, pa.Array] = {}
        reasons: dict[int, str] = {}
        for side in self._sides:
            decoded[side.name] = side.column(raw.column(side.name).to_pylist(), named, reasons)
        return decoded, reasons


def task_decoding(plan: DecodePlan, columns: Sequence[str], pruned: DecodedTypes | None = None) -> RecordDecoding:
    return RecordDecoding(plan, task_store(plan), columns, pruned)


def error_schema(raw: pa.Schema) -> pa.Schema:
    return raw.append(pa.field(REASON, pa.string()))


class _Side:
    def __init__(self, name: str, plan: SidePlan, store: SchemaStore, pruned: pa.DataType | None) -> None:
        self.name = name
        self._header = KEY_HEADER if name == KEY else VALUE_HEADER
        self._store = store
        self._kind = plan.reader.schema.type
        self._reader = value_reader(*plan)
        self.type = self._reader.type if pruned is None else pruned
        self._reads: dict[int | UUID, Read | SerdesError] = {}

    def _decode(self, data: bytes, headers: Sequence[Header]) -> object:
        framed = read_frame(data, headers, self._header)
        if framed is None:
            raise DecodeError("the bytes have no schema ID: they do not begin with a zero byte and an ID")
        return self._read(framed.schema)(framed.payload)

    def column(
        self, values: Sequence[bytes | None], headers: Sequence[Sequence[Header]] | None, reasons: dict[int, str]
    ) -> pa.Array:
        found: list[object] = []
        for row, data in enumerate(values):
            if data is None:
                found.append(None)
                continue
            try:
                found.append(self._decode(data, () if headers is None else headers[row]))
            except _OF_RECORDS as e:
                found.append(None)
                self._note(reasons, row, e)
        try:
            return pa.array(found, self.type)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            return self._one_by_one(found, reasons)

    def _one_by_one(self, found: Sequence[object], reasons: dict[int, str]) -> pa.Array:
        arrays = []
        for row, value in enumerate(found):
            try:
                arrays.append(pa.array([value], self.type))
            except (pa.ArrowException, OverflowError, TypeError, ValueError) as e:
                self._note(reasons, row, DecodeError(f"the decoded value does not fit the column: {e}"[:300]))
                arrays.append(pa.nulls(1, self.type))
        return pa.concat_arrays(arrays)

    def _note(self, reasons: dict[int, str], row: int, error: KafkaError) -> None:
        text = f"{self.name}: {error}"
        reasons[row] = f"{reasons[row]}; {text}" if row in reasons else text

    def _reader_of(self, schema: int | UUID) -> Read | SerdesError:
        writer = self._store.resolve(schema)
        try:
            if writer.schema.type != self._kind:
                raise SchemaError(f"schema {schema} has type {writer.schema.type[:40]}, expected {self._kind}")
            return self._reader.of_writer(writer)
        except LibraryMissingError:
            raise
        except SerdesError as e:
            return e

    def _read(self, schema: int | UUID) -> Read:
        read = self._reads.get(schema)
        if read is None:
            read = self._reader_of(schema)
            if len(self._reads) >= MOST_READS:
                self._reads.clear()
            self._reads[schema] = read
        if isinstance(read, SerdesError):
            raise read
        return read


MOST_READS = 1000
"""Maximum number of cached readers. More schemas in a topic cost time, not memory."""


def _errors(raw: pa.RecordBatch, reasons: dict[int, str]) -> pa.Array:
    if not reasons:
        return pa.nulls(raw.num_rows, ERROR_TYPE)
    rows = range(raw.num_rows)
    texts = pa.array([reasons.get(row) for row in rows], pa.string())
    arrays = [raw.column("offset"), texts, raw.column(KEY), raw.column(VALUE)]
    is_null = pa.array([row not in reasons for row in rows], pa.bool_())
    return pa.StructArray.from_arrays(arrays, fields=list(ERROR_TYPE), mask=is_null)


def _headers_of(column: pa.Array) -> list[Sequence[Header]]:
    return [() if row is None else [(each["key"], each["value"]) for each in row] for row in column.to_pylist()]
