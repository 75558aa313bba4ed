"""Conversion between Arrow and lossless JSON lines in the format of `kctl consume --output jsonl`.

A test requires equal output of `kctl.cli.formats`, which converts from the wire format.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from json.encoder import encode_basestring
from typing import Any, BinaryIO

import pyarrow as pa

from kctl.pipeline.job_errors import ExportDataError
from kctl.pipeline.record_columns import COLUMN_NAMES, EXACT, schema_of

BATCH_ROWS = 4096
BATCH_BYTES = 32 * 1024 * 1024
"""Size of the lines at which a batch ends, in bytes."""
MOST_LINE_BYTES = 256 * 1024 * 1024
_REASON_CHARS = 200
_FIELDS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
_TYPES = schema_of([name for name in COLUMN_NAMES if name != "timestampType"])
SCHEMA = _TYPES.set(_TYPES.get_field_index("timestamp"), pa.field("timestamp", EXACT))
"""Schema of `read_json_lines`: the columns of a Parquet export without `timestampType`."""


def _rows(batch: pa.RecordBatch) -> "zip[tuple[Any, ...]]":
    columns = {name: batch.column(name) for name in batch.schema.names}
    headers = columns["headers"].to_pylist() if "headers" in columns else [None] * batch.num_rows
    return zip(
        columns["topic"].to_pylist(),
        columns["partition"].to_pylist(),
        columns["offset"].to_pylist(),
        columns["timestamp"].cast(EXACT, safe=False).view(pa.int64()).to_pylist(),
        columns["key"].to_pylist(),
        columns["value"].to_pylist(),
        headers,
        strict=True,
    )


def json_lines(batch: pa.RecordBatch) -> bytes:
    """Return the records of a batch as lines, each with one JSON object."""
    names: dict[str, str] = {}
    lines = []
    for topic, partition, offset, timestamp_ms, key, value, fields in _rows(batch):
        name = names.get(topic) or names.setdefault(topic, encode_basestring(topic))
        lines.append(
            f'{{"topic":{name},"partition":{partition},"offset":{offset},"timestamp":{timestamp_ms},'
            f'"key":{_text(key)},"value":{_text(value)},"headers":{_headers(fields)}}}\n'
        )
    return "".join(lines).encode()


def _text(data: bytes | None) -> str:
    if data is None:
        return "null"
    try:
        quoted: str = encode_basestring(data.decode())
    except UnicodeDecodeError:
        return f'{{"base64":"{b64encode(data).decode()}"}}'
    return quoted


def _headers(fields: list[dict[str, Any]] | None) -> str:
    if not fields:
        return "[]"
    pairs = [f"[{encode_basestring(each['key'])},{_text(each['value'])}]" for each in fields]
    return f"[{','.join(pairs)}]"


def limited_lines(file: BinaryIO, name: str) -> Iterator[bytes]:
    while line := file.readline(MOST_LINE_BYTES + 1):
        if len(line) > MOST_LINE_BYTES:
            raise ExportDataError(f"{name} has a line of more than {MOST_LINE_BYTES} bytes")
        yield line


def read_json_lines(lines: Iterable[bytes], name: str) -> Iterator[pa.RecordBatch]:
    rows: list[dict[str, Any]] = []
    size_bytes = 0
    for number, line in enumerate(lines, start=1):
        try:
            rows.append(_row(json.loads(line)))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
            raise ExportDataError(f"{name}, line {number} is not a record: {str(e)[:_REASON_CHARS]}") from None
        size_bytes += len(line)
        if len(rows) >= BATCH_ROWS or size_bytes >= BATCH_BYTES:
            yield pa.RecordBatch.from_pylist(rows, SCHEMA)
            rows, size_bytes = [], 0
    if rows:
        yield pa.RecordBatch.from_pylist(rows, SCHEMA)


def _row(given: dict[str, Any]) -> dict[str, Any]:
    missing = [field for field in _FIELDS if field not in given]
    if missing:
        raise ValueError(f"the field {missing[0]!r} is missing")
    headers = [{"key": _name(key), "value": _bytes(value)} for key, value in given["headers"]]
    return {
        "topic": _name(given["topic"]),
        "partition": _number(given["partition"], 31),
        "offset": _number(given["offset"], 63),
        "timestamp": _number(given["timestamp"], 63),
        "key": _bytes(given["key"]),
        "value": _bytes(given["value"]),
        "headers": headers or None,
    }


def _name(given: Any) -> str:
    text = str(given)
    text.encode()
    return text


def _number(given: Any, bits: int) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not -(2**bits) <= given < 2**bits:
        raise ValueError(f"{given!r} is not a {bits + 1}-bit integer")
    return given


def _bytes(given: Any) -> bytes | None:
    if given is None:
        return None
    return given.encode() if isinstance(given, str) else b64decode(given["base64"], validate=True)
