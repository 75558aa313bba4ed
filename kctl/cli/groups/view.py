"""Shared output of `kctl groups`."""

from collections.abc import Sequence

from kctl.cli.formats.rows import Row


def filled_columns(columns: Sequence[str], rows: Sequence[Row]) -> Sequence[str]:
    return [name for name in columns if any(row[name] not in (None, "", {}) for row in rows)]
