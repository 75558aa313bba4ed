"""The layout `column:PATH`: files by the values of a column, or of a field of a decoded key or value.

The value is part of the path, `NAME=VALUE/`, where NAME is the path of the column with `_` for dots. What is no letter,
digit, `_`, `-` or `.` is `~` and two hexadecimal digits for each byte of UTF-8. A field is also a column NAME of its
own: the formats of tables divide by columns alone.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kctl.pipeline.export_files.folder import COLUMN_LAYOUT

if TYPE_CHECKING:
    import pyarrow as pa

NULL = "__HIVE_DEFAULT_PARTITION__"
LONGEST = 200
"""Bytes of a value in a path; names of folders end at 255."""
_TYPES = ("string", "int32", "int64", "bool", "date32[day]")


def column_of(layout: str) -> str | None:
    """Return the column by which a layout divides; None for the other layouts."""
    return layout.removeprefix(COLUMN_LAYOUT) if layout.startswith(COLUMN_LAYOUT) else None


def name_of(column: str) -> str:
    """Return the name of a column in paths."""
    return column.replace(".", "_")


def with_column(schema: "pa.Schema", layout: str) -> "pa.Schema":
    """Return a schema with the column of a layout, unless it has it."""
    import pyarrow as pa

    column = column_of(layout)
    kind = None if column is None else type_of(column, schema)
    if column is None or kind is None or name_of(column) in schema.names:
        return schema
    return schema.append(pa.field(name_of(column), kind))


def type_of(column: str, schema: "pa.Schema") -> "pa.DataType | None":
    """Return the type of a column; None where there is none, or files cannot be divided by it."""
    import pyarrow as pa

    found: pa.DataType = pa.struct(list(schema))
    for name in column.split("."):
        if not pa.types.is_struct(found) or found.get_field_index(name) < 0:
            return None
        found = found.field(name).type
    return found if str(found) in _TYPES else None


def divided(column: str, batch: "pa.RecordBatch") -> "Iterator[tuple[str, pa.RecordBatch]]":
    """Yield the records of each value, with the folder of the value; too long values share the folder of null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values, wrong = _values(column, batch), too_long(column, batch)
    if wrong is not None:
        values = pc.if_else(wrong, pa.scalar(None, values.type), values)
    if "." in column:
        batch = batch.append_column(name_of(column), values)
    elif wrong is not None:
        at = batch.schema.get_field_index(column)
        batch = batch.set_column(at, batch.schema.field(at), values)
    for value in pc.unique(values):
        mask = pc.equal(values, value).fill_null(False) if value.is_valid else pc.is_null(values)
        yield f"{name_of(column)}={_escaped(value)}", batch.filter(mask)


def too_long(column: str, batch: "pa.RecordBatch") -> "pa.Array | None":
    """Return which records have a value that is too long for the name of a folder; None: no record has."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = _values(column, batch)
    if not pa.types.is_string(values.type) or not len(values):
        return None
    longest = pc.max(pc.binary_length(values)).as_py() or 0
    if longest * len("~00") <= LONGEST:  # whatever has to be escaped
        return None
    wrong = [each for each in pc.unique(values) if len(_escaped(each)) > LONGEST]
    return pc.is_in(values, pa.array([each.as_py() for each in wrong], values.type)) if wrong else None


def _values(column: str, batch: "pa.RecordBatch") -> "pa.Array":
    import pyarrow.compute as pc

    first, *rest = column.split(".")
    return pc.struct_field(batch.column(first), rest) if rest else batch.column(first)


def values_in(path: str) -> dict[str, str | None]:
    """Return the values of the columns that a path has in the names of its folders."""
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
