"""Merging of schema versions into the schema of a table.

New fields become columns with nulls in earlier records, and removed fields stay as columns. If the format supports it,
int becomes long, float becomes double, and a decimal gets more digits. Other changes are rejected before a write.
"""

from collections.abc import Iterator

import pyarrow as pa

from kctl.pipeline.job_errors import FolderError

_WIDER = {pa.int32(): pa.int64(), pa.float32(): pa.float64()}
_PLAIN = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
MOST_NAMED = 5


def evolved(table: pa.Schema, wanted: pa.Schema, name: str, *, can_widen: bool) -> pa.Schema:
    """Return the merged schema of a table and of records to add. Raise FolderError if they do not fit.

    Args:
        can_widen: whether the types of columns may change.
    """
    problems: list[str] = []
    before = pa.struct([_plain_field(field) for field in table])
    merged = _merged(before, pa.struct([_plain_field(field) for field in wanted]), "", problems)
    if not problems and not can_widen:
        problems += _widened(before, merged, "")
    if problems:
        more = "" if len(problems) <= MOST_NAMED else f" and {len(problems) - MOST_NAMED} more"
        raise FolderError(
            f"{name} has different columns: {'; '.join(problems[:MOST_NAMED])}{more}",
            "choose another target, or decode with a matching schema: --schema value=SUBJECT@VERSION",
        )
    return pa.schema(list(merged))


def _plain_field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, plain(field.type))


def plain(given: pa.DataType) -> pa.DataType:
    """Return a type as in kctl's files: nullable, without large offsets."""
    if pa.types.is_struct(given):
        return pa.struct([_plain_field(field) for field in given])
    if pa.types.is_list(given) or pa.types.is_large_list(given):
        return pa.list_(pa.field("element", plain(given.value_type)))
    if pa.types.is_map(given):
        return pa.map_(plain(given.key_type), plain(given.item_type))
    return _PLAIN.get(given, given)


def _merged(old: pa.DataType, new: pa.DataType, path: str, problems: list[str]) -> pa.DataType:
    if old == new:
        return old
    if pa.types.is_struct(old) and pa.types.is_struct(new):
        fields = {field.name: field.type for field in old}
        for field in new:
            known = fields.get(field.name)
            inner = f"{path}.{field.name}".lstrip(".")
            fields[field.name] = field.type if known is None else _merged(known, field.type, inner, problems)
        return pa.struct(list(fields.items()))
    if pa.types.is_list(old) and pa.types.is_list(new):
        return pa.list_(pa.field("element", _merged(old.value_type, new.value_type, f"{path}.element", problems)))
    if pa.types.is_map(old) and pa.types.is_map(new) and old.key_type == new.key_type:
        return pa.map_(old.key_type, _merged(old.item_type, new.item_type, f"{path}.value", problems))
    if pa.types.is_decimal128(old) and pa.types.is_decimal128(new) and old.scale == new.scale:
        return max(old, new, key=lambda each: each.precision)
    if _WIDER.get(old) == new:
        return new
    if _WIDER.get(new) == old:
        return old
    problems.append(f"{path} is {_shown(old)}, not {_shown(new)}")
    return old


def _widened(old: pa.DataType, new: pa.DataType, path: str) -> Iterator[str]:
    if pa.types.is_struct(old):
        found = {field.name: field.type for field in new}
        for field in old:
            yield from _widened(field.type, found[field.name], f"{path}.{field.name}".lstrip("."))
    elif pa.types.is_list(old):
        yield from _widened(old.value_type, new.value_type, f"{path}.element")
    elif pa.types.is_map(old):
        yield from _widened(old.item_type, new.item_type, f"{path}.value")
    elif old != new:
        yield f"{path} is {_shown(old)} and cannot change to {_shown(new)}"


def _shown(given: pa.DataType) -> str:
    return "a struct" if pa.types.is_struct(given) else str(given)[:80]
