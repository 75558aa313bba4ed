"""What the commands of `kctl groups` print in the same way."""

from collections.abc import Sequence

from kctl.cli.formats.rows import Row


def filled_columns(columns: Sequence[str], rows: Sequence[Row]) -> Sequence[str]:
    """Return the columns of which some row has something; a table for people has no others."""
    return [name for name in columns if any(row[name] not in (None, "", {}) for row in rows)]
