"""The layout `column:PATH`: files partitioned by the values of a column, or of a field of a decoded key or value.

`column:day(PATH)` and `column:hour(PATH)` use UTC days and hours of timestamps, dates, or integers in milliseconds
since 1970. Directories are `NAME=VALUE/`, with `_` for dots in NAME: `value_created_hour=2026-11-22-13/`. UTF-8 bytes
other than letters, digits, `_`, `-` or `.` become `~` and two hexadecimal digits.

In tables, files also have a column NAME. In directories, readers get it from the path, so files lack it. They also lack
a decoded key or value that is itself the partition.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kctl.client.errors import ConfigError
from kctl.pipeline.export_files.folder import COLUMN_LAYOUT

if TYPE_CHECKING:
    import pyarrow as pa

NULL = "__HIVE_DEFAULT_PARTITION__"
LONGEST = 200
"""Maximum size of a value in a path, in bytes. Directory names have at most 255."""
YEAR_1_MS, YEAR_10000_MS = -62_135_596_800_000, 253_402_300_800_000
DECODED = ("key", "value")
"""Columns whose types are unknown to readers of directories, which read integers in a path as 32 bits."""
_TYPES = ("string", "int32", "int64", "bool", "date32[day]")
_TIME = re.compile(r"(day|hour)\((.+)\)")
_HOUR_FORMAT = "%Y-%m-%d-%H"


def column_of(layout: str) -> str | None:
    return layout.removeprefix(COLUMN_LAYOUT) if layout.startswith(COLUMN_LAYOUT) else None


def name_of(column: str) -> str:
    path, unit = _parsed(column)
    return path.replace(".", "_") + (f"_{unit}" if unit else "")


def with_column(schema: "pa.Schema", layout: str) -> "pa.Schema":
    import pyarrow as pa

    column = column_of(layout)
    kind = None if column is None else type_of(column, schema)
    if column is None or kind is None or name_of(column) in schema.names:
        return schema
    return schema.append(pa.field(name_of(column), kind))


def type_of(column: str, schema: "pa.Schema") -> "pa.DataType | None":
    """Return the type of a column, or None if it does not exist or cannot partition files."""
    import pyarrow as pa

    path, unit = _parsed(column)
    found: pa.DataType = pa.struct(list(schema))
    for name in path.split("."):
        if not pa.types.is_struct(found) or found.get_field_index(name) < 0:
            return None
        found = found.field(name).type
    if unit is None:
        return found if str(found) in _TYPES else None
    is_day = pa.types.is_date(found) and unit == "day"
    if not (pa.types.is_timestamp(found) or pa.types.is_int64(found) or is_day):
        return None
    return pa.date32() if unit == "day" else pa.string()


def check_column(layout: str, schema: "pa.Schema", where: str) -> None:
    """Raise ConfigError if the column of a layout cannot partition files with a schema."""
    column = column_of(layout)
    if column is None or type_of(column, schema) is not None:
        return
    path, unit = _parsed(column)
    types = "a timestamp, a date, or an integer in ms" if unit else "a string, an integer, a boolean, or a date"
    raise ConfigError(f"cannot partition {where} by {column[:80]}: {path[:80]} is not {types}", key="--partition-by")


def divided(
    column: str, batch: "pa.RecordBatch", *, adds_column: bool = True
) -> "Iterator[tuple[str, pa.RecordBatch]]":
    """Yield the directory and the records of each value. Values that are too long share the directory of null.

    Args:
        adds_column: add the value as a column. If False, a decoded key or value that is the partition is only in the
            path.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    values, wrong = _values(column, batch), too_long(column, batch)
    if wrong is not None:
        values = pc.if_else(wrong, pa.scalar(None, values.type), values)
    if name_of(column) != column:
        if adds_column:
            batch = batch.append_column(name_of(column), values)
    elif column in DECODED and not adds_column:
        batch = batch.drop_columns([column])
    elif wrong is not None:
        at = batch.schema.get_field_index(column)
        batch = batch.set_column(at, batch.schema.field(at), values)
    for value in pc.unique(values):
        mask = pc.equal(values, value).fill_null(False) if value.is_valid else pc.is_null(values)
        yield f"{name_of(column)}={_escaped(value)}", batch.filter(mask)


def too_long(column: str, batch: "pa.RecordBatch") -> "pa.Array | None":
    """Return a mask of records whose value is too long for a directory name, or None if there are none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = _values(column, batch)
    if not pa.types.is_string(values.type) or not len(values):
        return None
    longest = pc.max(pc.binary_length(values)).as_py() or 0
    if longest * len("~00") <= LONGEST:  # short enough even if every byte is escaped
        return None
    wrong = [each for each in pc.unique(values) if len(_escaped(each)) > LONGEST]
    return pc.is_in(values, pa.array([each.as_py() for each in wrong], values.type)) if wrong else None


def _values(column: str, batch: "pa.RecordBatch") -> "pa.Array":
    import pyarrow.compute as pc

    path, unit = _parsed(column)
    first, *rest = path.split(".")
    values = pc.struct_field(batch.column(first), rest) if rest else batch.column(first)
    return values if unit is None else _times(values, unit)


def _times(values: "pa.Array", unit: str) -> "pa.Array":
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_date(values.type):
        return values.cast(pa.date32())
    if pa.types.is_int64(values.type):
        values = values.cast(pa.timestamp("ms"))
    values = pc.if_else(has_named_year(values), values, pa.scalar(None, values.type))
    if unit == "day":
        return pc.floor_temporal(values, unit="day").cast(pa.date32())
    hours = pc.floor_temporal(values, unit="hour").dictionary_encode()
    return pc.strftime(hours.dictionary, format=_HOUR_FORMAT).take(hours.indices)


def has_named_year(times: "pa.Array") -> "pa.Array":
    """Return a mask of timestamps in the years 1 to 9999. The mask is null for null timestamps."""
    import pyarrow as pa
    import pyarrow.compute as pc

    first, end = (pa.scalar(ms, pa.timestamp("ms")).cast(times.type) for ms in (YEAR_1_MS, YEAR_10000_MS))
    return pc.and_(pc.greater_equal(times, first), pc.less(times, end))


def _parsed(column: str) -> tuple[str, str | None]:
    found = _TIME.fullmatch(column)
    return (column, None) if found is None else (found[2], found[1])


def values_in(path: str) -> dict[str, str | None]:
    found = re.findall(r"([^/=]+)=([^/]+)/", path)
    return {name: None if value == NULL else _unescaped(value) for name, value in found}


def _escaped(value: "pa.Scalar") -> str:
    if not value.is_valid:
        return NULL
    text = value.cast("string").as_py()
    if text == NULL:
        return f"~5F{NULL[1:]}"
    return re.sub(r"[^A-Za-z0-9_.-]", lambda found: "".join(f"~{byte:02X}" for byte in found[0].encode()), text) or "~"


def _unescaped(text: str) -> str:
    if text == "~":
        return ""
    return re.sub(r"(~[0-9A-F]{2})+", lambda found: bytes.fromhex(found[0].replace("~", "")).decode(), text)
