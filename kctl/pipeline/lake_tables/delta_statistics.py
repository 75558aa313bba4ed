"""Minimum and maximum column values for the log of a Delta table, with which readers skip files.

Tasks send the footers of their files, so the driver reads no file.
"""

import io
from collections.abc import Collection
from datetime import datetime
from typing import Any, Final

import pyarrow.parquet as pq

from kctl.pipeline.export_files.manifests import ExportedFile
from kctl.pipeline.lake_tables.table_files import MAGIC

BOUNDED: Final = frozenset({"partition", "offset", "timestamp"})
"""Columns with bounds in the log."""


def bounds_in(file: ExportedFile, left_out: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return the bounds of a file in the format of the log, or an empty dict if the file has no footer.

    Args:
        left_out: partition columns of the table.
    """
    if not file.footer:
        return {}
    metadata = pq.read_metadata(io.BytesIO(MAGIC + file.footer))
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    found: dict[str, dict[str, Any]] = {"minValues": {}, "maxValues": {}, "nullCount": {}}
    for at in range(metadata.num_columns if groups else 0):
        name = groups[0].column(at).path_in_schema
        statistics = [group.column(at).statistics for group in groups] if name in BOUNDED.difference(left_out) else []
        if not statistics or not all(each is not None and each.has_min_max for each in statistics):
            continue
        try:
            least, largest = min(each.min for each in statistics), max(each.max for each in statistics)
        except OverflowError:  # a timestamp after year 9999
            continue
        found["minValues"][name], found["maxValues"][name] = _bound(least), _bound(largest)
        found["nullCount"][name] = sum(each.null_count for each in statistics)
    return found


def _bound(value: Any) -> Any:
    return value.isoformat(timespec="milliseconds").replace("+00:00", "Z") if isinstance(value, datetime) else value
