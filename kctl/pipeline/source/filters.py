"""Filters that Spark pushes down: what they leave of topics, partitions and offsets.

Filters on topic, partition and offset are taken whole. One on the timestamp only moves the start: record times need not
rise, so Spark looks at it again. Shown by tests/unit/pipeline/test_filters.py.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from kctl.pipeline.ranges import Narrowing

_EPOCH = datetime.fromtimestamp(0, UTC)
_MS = timedelta(milliseconds=1)
_NEVER_NULL = ("topic", "partition", "offset", "timestamp", "timestampType")


def narrow(filters: Iterable[Filter]) -> tuple[Narrowing, Sequence[Filter]]:
    """Return what the filters, all of which hold, leave; and those that Spark has to look at itself."""
    narrowing = Narrowing()
    left: list[Filter] = []
    for each in filters:
        taken, is_whole = _take(narrowing, each)
        narrowing = taken or narrowing
        if taken is None or not is_whole:
            left.append(each)
    return narrowing, left


def _take(known: Narrowing, each: Filter) -> tuple[Narrowing | None, bool]:
    """Return what the filter leaves of what is known, None where nothing is to be learnt; and whether that is all."""
    path: Sequence[str] = getattr(each, "attribute", ())
    column = path[0] if len(path) == 1 else ""
    if isinstance(each, IsNotNull):
        return (known if column in _NEVER_NULL else None), True
    value: Any = getattr(each, "value", None)
    if column == "topic" and isinstance(each, EqualTo | In):
        names: frozenset[str] = frozenset(value if isinstance(each, In) else (value,))
        return known._replace(topics=names if known.topics is None else known.topics & names), True
    if column == "partition" and isinstance(each, EqualTo | In):
        numbers: frozenset[int] = frozenset(value if isinstance(each, In) else (value,))
        return known._replace(partitions=numbers if known.partitions is None else known.partitions & numbers), True
    if column == "offset" and isinstance(value, int):
        return _offsets(known, each, value), True
    if column == "timestamp" and isinstance(value, datetime):
        return _since(known, each, value), False
    return None, False


def _offsets(known: Narrowing, each: Filter, value: int) -> Narrowing | None:
    start, end = known.start_offset, known.end_offset
    match each:
        case EqualTo():
            return known._replace(start_offset=max(start, value), end_offset=min(end, value + 1))
        case GreaterThan():
            return known._replace(start_offset=max(start, value + 1))
        case GreaterThanOrEqual():
            return known._replace(start_offset=max(start, value))
        case LessThan():
            return known._replace(end_offset=min(end, value))
        case LessThanOrEqual():
            return known._replace(end_offset=min(end, value + 1))
    return None


def _since(known: Narrowing, each: Filter, value: datetime) -> Narrowing | None:
    if not isinstance(each, EqualTo | GreaterThan | GreaterThanOrEqual):
        return None
    at = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    since_ms = max(0, -((_EPOCH - at) // _MS))
    return known._replace(since_ms=max(since_ms, known.since_ms or 0))
