"""IcebergTarget: an export into an Iceberg table, one snapshot a round, with the positions in its summary.

The positions of all partitions are in the summary of each snapshot of ours (`kctl.positions`), and in a property of the
table, set by the same commit, for when that snapshot has expired. They are read from the newest ancestor of the current
snapshot that has them: a table that was rolled back is exported again from there. A catalog makes a commit on the
condition that the table's branch still ends where it was read; pyiceberg's own repetition, which would pass over
another export's commit, is off for ours.
Shown by tests/unit/pipeline/lake_tables/test_table_targets.py and tests/pipeline/test_lake_tables.py.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kctl.pipeline.export_files.manifests import ExportedRange, Manifest
from kctl.pipeline.job_errors import (
    ExportDataError,
    FolderError,
    StoreError,
    StoreMissingError,
)
from kctl.pipeline.lake_tables.catalog_errors import Named, ended, without_credentials
from kctl.pipeline.lake_tables.table_files import base_of, manifest_of
from kctl.pipeline.lake_tables.table_target import MOST_ATTEMPTS, Points, TableTarget
from kctl.pipeline.locations import IcebergTable, StoreUrl
from kctl.pipeline.object_store.store import StoreTimeouts, check_lakes
from kctl.pipeline.resume_point import ResumePoint

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

T = TypeVar("T")
POSITIONS, ROUND, RUN = "kctl.positions", "kctl.round", "kctl.run"
_SPECS = {"topic": [], "date": ["day"], "hour": ["hour"]}


class IcebergTarget(TableTarget):
    """A table of a catalog."""

    def __init__(self, table: IcebergTable, timeouts: StoreTimeouts) -> None:
        check_lakes("pyiceberg")
        super().__init__(f"iceberg:{table}", timeouts)
        self._table = table
        self._catalog = self._opened()

    def positions(self) -> tuple[int, Points]:
        """Return the round and positions of the newest snapshot of ours."""
        table = self._loaded()
        return (0, {}) if table is None else self._positions_of(table)

    def check_layout(self, layout: str) -> None:
        """Raise FolderError where the table is partitioned otherwise."""
        table = self._loaded()
        if table is not None and table.current_snapshot() is not None:
            found = [str(field.transform) for field in table.spec().fields]
            if found != _SPECS[layout]:
                words = ", ".join(found) or "nothing"
                raise FolderError(f"{self.name} is partitioned by {words}, which is not layout {layout}")

    def create(self, layout: str) -> None:
        """Create namespace and table unless they are there."""
        from pyiceberg.exceptions import NamespaceAlreadyExistsError, TableAlreadyExistsError
        from pyiceberg.transforms import DayTransform, HourTransform

        from kctl.pipeline.record_columns import COLUMN_NAMES, schema_of

        def create() -> None:
            with suppress(NamespaceAlreadyExistsError, TableAlreadyExistsError):
                self._catalog.create_namespace_if_not_exists(self._table.identifier.rpartition(".")[0])
                self._catalog.create_table(self._table.identifier, schema_of(COLUMN_NAMES))
            table = self._catalog.load_table(self._table.identifier)
            if layout != "topic" and table.current_snapshot() is None and not table.spec().fields:
                transform: Any = DayTransform() if layout == "date" else HourTransform()
                with table.update_spec() as update:
                    update.add_field("timestamp", transform, "day" if layout == "date" else "hour")

        self._asked(create)

    def base(self) -> Path | StoreUrl:
        """Return where the table's data is."""
        table = self._loaded()
        assert table is not None
        return base_of(f"{table.location().rstrip('/')}/data")

    def append(self, number: int, ranges: Sequence[ExportedRange], points: Points) -> None:
        """Commit a snapshot with the files, on the condition that none came in between."""
        from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

        words = {POSITIONS: _written(points), ROUND: str(number), RUN: self._run_id}
        paths = [file.path for each in ranges for file in each.files]
        for _ in range(MOST_ATTEMPTS):
            table = self._asked(lambda: self._catalog.load_table(self._table.identifier))
            if self._positions_of(table) != (self.last_number, self._points):
                raise self.taken()
            table.metadata.properties["commit.retry.num-retries"] = "0"  # of this object alone
            try:
                self._commit(table, paths, words)
                return
            except CommitFailedException:
                continue
            except CommitStateUnknownException:
                if self._is_committed(number):
                    return
                raise StoreError(f"{self.name}: the catalog did not report what became of round {number}") from None
        raise StoreError(f"{self.name}: others have committed {MOST_ATTEMPTS} times while round {number} was committed")

    def manifests(self) -> list[Manifest]:
        """Return the live files of the table as one round of an export."""
        table = self._loaded()
        if table is None:
            return []
        base = f"{table.location().rstrip('/')}/data/"
        files = []
        with self._named():
            for task in table.scan().plan_files():
                if task.delete_files:
                    raise ExportDataError(f"{self.name} has deleted rows, which kctl does not read")
                path = task.file.file_path
                files.append((path.removeprefix(base), task.file.record_count, task.file.file_size_in_bytes))
        return manifest_of(files, {})

    def _commit(self, table: "Table", paths: Sequence[str], words: Mapping[str, str]) -> None:
        location = f"{table.location().rstrip('/')}/data"
        with self._named():
            transaction = table.transaction()
            transaction.set_properties(dict(words))
            if paths:
                files = [f"{location}/{path}" for path in paths]
                transaction.add_files(files, snapshot_properties=dict(words), check_duplicate_files=False)
            else:  # offsets without a record: the positions alone
                with transaction.update_snapshot(snapshot_properties=dict(words)).fast_append():
                    pass
        self._asked(transaction.commit_transaction)

    def _is_committed(self, number: int) -> bool:
        table = self._loaded()
        return table is not None and (table.properties.get(RUN), table.properties.get(ROUND)) == (
            self._run_id,
            str(number),
        )

    def _positions_of(self, table: "Table") -> tuple[int, Points]:
        snapshot = table.current_snapshot()
        while snapshot is not None:
            words = dict(snapshot.summary.additional_properties) if snapshot.summary is not None else {}
            if POSITIONS in words:
                return int(words.get(ROUND, 0)), _read(words[POSITIONS], self.name)
            parent = snapshot.parent_snapshot_id
            snapshot = table.snapshot_by_id(parent) if parent is not None else None
        text = table.properties.get(POSITIONS)
        return (0, {}) if text is None else (int(table.properties.get(ROUND, 0)), _read(text, self.name))

    def _loaded(self) -> "Table | None":
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        def load() -> "Table | None":
            with suppress(NoSuchTableError, NoSuchNamespaceError):
                return self._catalog.load_table(self._table.identifier)
            return None

        return self._asked(load)

    def _opened(self) -> "Catalog":
        from pyiceberg.catalog import load_catalog

        library = logging.getLogger("pyiceberg")
        if library.level == logging.NOTSET:  # it warns of columns without statistics, in the middle of the progress
            library.setLevel(logging.ERROR)

        def load() -> "Catalog":
            try:
                return load_catalog(self._table.catalog)
            except ValueError as e:
                if type(e) is not ValueError:  # of what a catalog answers
                    raise
                raise StoreMissingError(
                    f"catalog {self._table.catalog} is not configured: {without_credentials(str(e))[:200]}",
                    f"PYICEBERG_CATALOG__{self._table.catalog.upper()}__URI, or ~/.pyiceberg.yaml",
                ) from None

        return self._asked(load)

    def _asked(self, request: Callable[[], T]) -> T:
        """Return what the catalog answers; pyiceberg itself waits for it without an end."""
        with self._named():
            return ended(request, self.name, self._timeouts.api_ms)

    def _named(self) -> Named:
        return Named(self.name)


def _written(points: Points) -> str:
    """Return positions as text: by topic its id, then by partition offset and end of the log."""
    found: dict[str, dict[str, Any]] = {}
    for (topic, partition), point in sorted(points.items()):
        of_topic = found.setdefault(topic, {"id": point.topic_id, "at": {}})
        of_topic["id"] = point.topic_id or of_topic["id"]
        of_topic["at"][str(partition)] = [point.offset, point.log_end]
    return json.dumps(found, separators=(",", ":"))


def _read(text: str, name: str) -> Points:
    try:
        return {
            (topic, int(partition)): ResumePoint(int(offset), str(of_topic["id"]), int(log_end))
            for topic, of_topic in json.loads(text).items()
            for partition, (offset, log_end) in of_topic["at"].items()
        }
    except (ValueError, TypeError, KeyError, AttributeError) as e:
        raise ExportDataError(f"{name}: {POSITIONS} is damaged: {type(e).__name__}: {e}") from None
