"""IcebergTarget: export into an Iceberg table, with one snapshot for each round and positions in its summary.

The summaries of kctl's snapshots have all positions (`kctl.positions`). A table property also has them, because
snapshots expire. The newest ancestor of the current snapshot with positions applies, so the export continues there
after a rollback. A catalog accepts a commit only if the branch is unchanged since it was read. Retries of pyiceberg are
disabled, because they would ignore another export's commit.
"""

import io
import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kctl.grammar.integers import integer_in
from kctl.pipeline.export_files.column_layout import column_of, name_of, with_column
from kctl.pipeline.export_files.folder import COLUMN_LAYOUT
from kctl.pipeline.export_files.manifests import ExportedFile, Manifest
from kctl.pipeline.job_errors import (
    ExportDataError,
    FolderError,
    StoreError,
    StoreMissingError,
    reason_of,
)
from kctl.pipeline.lake_tables.catalog_errors import Named, ended, secrets_in
from kctl.pipeline.lake_tables.foreign_code import refuse_foreign_code, refuse_working_directory
from kctl.pipeline.lake_tables.table_files import LiveFile, base_of, decoded_in, manifest_of, partitions_in
from kctl.pipeline.lake_tables.table_target import (
    CARRIED,
    COMMIT_TIME,
    POSITIONS,
    ROUND,
    RUN,
    CommitConflictError,
    Points,
    Round,
    TableTarget,
    positions_text,
)
from kctl.pipeline.locations import IcebergTable, StoreUrl
from kctl.pipeline.object_store.store import StoreTimeouts, check_lakes

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.catalog import Catalog
    from pyiceberg.manifest import DataFile
    from pyiceberg.partitioning import PartitionField
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.snapshots import Snapshot
    from pyiceberg.types import NestedField

T = TypeVar("T")
ANY_REGION = "us-east-1"
"""Region for signatures to servers other than Amazon's, which have no region."""
TIME_BOUNDS = "write.metadata.metrics.column.timestamp"
"""Property that omits the minimum and maximum timestamp of each file."""
_SPECS = {"topic": [], "date": ["day"], "hour": ["hour"]}


class IcebergTarget(TableTarget):
    can_widen = takes_footers = True
    target_property = "write.target-file-size-bytes"

    def __init__(self, table: IcebergTable, timeouts: StoreTimeouts) -> None:
        check_lakes("pyiceberg")
        super().__init__(f"iceberg:{table}", timeouts)
        self._table = table
        self._base: Path | StoreUrl | None = None
        self._secrets = self._configured_secrets()
        self._catalog = self._opened()

    def positions(self) -> tuple[int, Points]:
        table = self._loaded()
        return (0, {}) if table is None else self._positions_of(table)

    def check_layout(self, layout: str) -> None:
        table = self._loaded()
        if table is not None and (table.current_snapshot() is not None or table.spec().fields):
            column = column_of(layout)
            found = [_shown(table, field) for field in table.spec().fields]
            if found != (_SPECS[layout] if column is None else [f"{COLUMN_LAYOUT}{name_of(column)}"]):
                words = ", ".join(found) or "nothing"
                raise FolderError(f"{self.name} is partitioned by {words}, which does not match layout {layout}")

    def rules(self) -> list[str]:
        """Return the required columns. They conflict with files of kctl, whose columns are all optional."""
        table = self._loaded()
        fields = () if table is None else table.schema().fields
        return [f"column {each.name} does not allow null" for each in fields if each.required]

    def create(self, layout: str) -> None:
        from pyiceberg.exceptions import CommitFailedException
        from pyiceberg.transforms import DayTransform, HourTransform, IdentityTransform

        catalog, identifier = self._catalog, self._table.identifier
        namespace, column = identifier.rpartition(".")[0], column_of(layout)

        def create() -> None:
            _create_once(
                lambda: catalog.create_namespace_if_not_exists(namespace), lambda: catalog.namespace_exists(namespace)
            )
            _create_once(
                lambda: catalog.create_table_if_not_exists(identifier, with_column(self.schema, layout)),
                lambda: catalog.table_exists(identifier),
            )
            table = catalog.load_table(identifier)
            if layout == "topic" or table.current_snapshot() is not None or table.spec().fields:
                return
            with suppress(CommitFailedException), table.update_spec() as update:  # another run has just done it
                if column is not None:
                    update.add_field(name_of(column), IdentityTransform(), name_of(column))
                else:
                    transform: Any = DayTransform() if layout == "date" else HourTransform()
                    update.add_field("timestamp", transform, "day" if layout == "date" else "hour")

        self._asked(create)

    def base(self) -> Path | StoreUrl:
        """Return the location of the table's data, read once for each run."""
        if self._base is None:
            table = self._loaded()
            assert table is not None
            self._base = base_of(f"{table.location().rstrip('/')}/data")
        return self._base

    def columns(self) -> "pa.Schema | None":
        table = self._loaded()
        return None if table is None else table.schema().as_arrow()

    def newest_facts(self) -> Mapping[str, str]:
        table = self._loaded()
        return {} if table is None else self._words_of(table)

    def properties(self) -> Mapping[str, str]:
        table = self._loaded()
        return {} if table is None else {name: str(text) for name, text in table.properties.items()}

    def sibling(self, suffix: str) -> "IcebergTarget":
        return IcebergTarget(IcebergTable(f"{self._table}{suffix}"), self._timeouts)

    def append(self, added: Round) -> None:
        words = {POSITIONS: positions_text(added.points), **added.facts}
        self.until_committed(lambda: self._append_once(added, words), added.number)

    def _append_once(self, added: Round, words: Mapping[str, str]) -> None:
        from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

        table = self._asked(lambda: self._catalog.load_table(self._table.identifier))
        if self._positions_of(table) != (self.last_number, self._points):
            raise self.taken()
        table.metadata.properties["commit.retry.num-retries"] = "0"  # affects only this object
        try:
            self._commit(table, added.files, words, added.carried)
        except CommitFailedException as e:
            raise CommitConflictError(reason_of(type(e)(self._named().shown(e)))) from None
        except CommitStateUnknownException:
            if not self._is_committed(words):
                raise StoreError(
                    f"{self.name}: the catalog did not report the result of round {added.number}"
                ) from None

    def live_partitions(self, wanted: Collection[tuple[str, int]]) -> set[tuple[str, int]]:
        table = self._loaded()
        if table is None or POSITIONS in self._words_of(table):  # positions of all partitions
            return set()
        base, fields = f"{table.location().rstrip('/')}/data/", {each.name: each for each in table.schema().fields}
        if not {"topic", "partition"} <= fields.keys():
            return set()
        topic, partition = fields["topic"], fields["partition"]
        with self._named():
            files = [
                LiveFile(
                    task.file.file_path.removeprefix(base), _bounds(task.file, topic), _bounds(task.file, partition)
                )
                for task in table.scan().plan_files()
            ]
        return partitions_in(files, wanted)

    def sizes(self) -> tuple[int, int, int]:
        table = self._loaded()
        snapshot = None if table is None else table.current_snapshot()
        words = {} if snapshot is None else _words_in(snapshot)
        records, files, size_bytes = (
            integer_in(str(words.get(name, "0"))) or 0
            for name in ("total-records", "total-data-files", "total-files-size")
        )
        return records, files, size_bytes

    def manifests(self) -> list[Manifest]:
        table = self._loaded()
        if table is None:
            return []
        base = f"{table.location().rstrip('/')}/data/"
        files = []
        with self._named():
            for task in table.scan().plan_files():
                if task.delete_files:
                    raise ExportDataError(f"cannot read {self.name}: kctl does not support tables with deleted rows")
                path = task.file.file_path
                files.append((path.removeprefix(base), task.file.record_count, task.file.file_size_in_bytes))
        return manifest_of(files, decoded_in(self.columns()), self.carried_facts())

    def _commit(self, table: "Table", files: Sequence[ExportedFile], words: Mapping[str, str], carried: str) -> None:
        from kctl.pipeline.lake_tables.footers import FootersAtHand

        location = f"{table.location().rstrip('/')}/data"
        paths = [f"{location}/{file.path}" for file in files]
        table.io = FootersAtHand(table.io, dict(zip(paths, files, strict=True)))  # affects only this object

        def stage() -> "Transaction":
            transaction = table.transaction()
            with transaction.update_schema() as update:
                update.union_by_name(with_column(self.schema, self._layout))
            transaction.set_properties({**words, **({CARRIED: carried} if carried else {})})
            if paths:
                with redirect_stdout(io.StringIO()):  # pyiceberg prints a table of columns that do not match
                    transaction.add_files(paths, snapshot_properties=dict(words), check_duplicate_files=False)
            else:  # offsets without records: only positions
                with transaction.update_snapshot(snapshot_properties=dict(words)).fast_append():
                    pass
            return transaction

        def stage_any_time() -> "Transaction":
            try:
                return stage()
            except OverflowError:  # pyiceberg converts bounds to datetimes, which end with year 9999
                table.metadata.properties[TIME_BOUNDS] = "counts"
                return stage()

        self._asked(self._asked(stage_any_time).commit_transaction)

    def _is_committed(self, words: Mapping[str, str]) -> bool:
        table = self._loaded()
        return table is not None and _is_round(words, table.properties)

    def _positions_of(self, table: "Table") -> tuple[int, Points]:
        words = self._words_of(table)
        return (self.number_in(words), self.points_in(words)) if POSITIONS in words else (0, {})

    def _words_of(self, table: "Table") -> dict[str, str]:
        """Return the facts of kctl's newest ancestor, or of the table properties if that snapshot may have expired."""
        snapshot, seen, is_first = table.current_snapshot(), set(), False
        while snapshot is not None and snapshot.snapshot_id not in seen:
            seen.add(snapshot.snapshot_id)
            words = _words_in(snapshot)
            if POSITIONS in words:
                return words
            parent = snapshot.parent_snapshot_id
            is_first = parent is None  # or pyiceberg has expired its parent
            snapshot = None if parent is None else table.snapshot_by_id(parent)
        found = {name: str(text) for name, text in table.properties.items()}
        if not _is_rolled_back(table, found):
            return found
        if is_first:  # the table has no files of kctl, or `live_partitions` finds them
            return {}
        raise ExportDataError(
            f"{self.name} was rolled back to a version whose export positions have expired", "export to another table"
        )

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
        if library.level == logging.NOTSET:  # warnings about statistics would disturb the progress display
            library.setLevel(logging.ERROR)

        def load() -> "Catalog":
            refuse_foreign_code()
            refuse_working_directory()
            try:
                catalog = load_catalog(self._table.catalog)
            except ValueError as e:
                if type(e) is not ValueError:  # an error in a catalog's response
                    raise
                raise StoreMissingError(
                    f"catalog {self._table.catalog} is not configured: {self._named().shown(e)[:200]}",
                    f"set PYICEBERG_CATALOG__{self._table.catalog.upper()}__URI, or add the catalog to "
                    f"~/.pyiceberg.yaml",
                ) from None
            catalog.properties = {**self._store_defaults(catalog.properties), **catalog.properties}
            return catalog

        return self._asked(load)

    def _configured_secrets(self) -> list[str]:
        from pyiceberg.utils.config import Config

        return secrets_in(Config().get_catalog_config(self._table.catalog) or {})

    def _store_defaults(self, given: Mapping[str, str | None]) -> dict[str, str]:
        """Return properties that the catalog omits. Setting the region avoids a slow request to Amazon."""
        found = {
            "s3.connect-timeout": str(self._timeouts.connect_ms / 1000),
            "s3.request-timeout": str(self._timeouts.request_ms / 1000),
        }
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        if region is None and "s3.endpoint" in given:
            region = ANY_REGION
        if region is not None and not {"s3.region", "client.region"} & set(given):
            found["s3.region"] = region
        return found

    def _asked(self, request: Callable[[], T]) -> T:
        with self._named():
            return ended(request, self.name, self._timeouts.api_ms)

    def _named(self) -> Named:
        return Named(self.name, self._secrets)


def _create_once(create: Callable[[], object], exists: Callable[[], bool]) -> None:
    """Call `create`, and ignore its error if the object exists. Catalogs report this with different errors."""
    try:
        create()
    except Exception:
        if not exists():
            raise


def _words_in(snapshot: "Snapshot") -> dict[str, str]:
    return dict(snapshot.summary.additional_properties) if snapshot.summary is not None else {}


def _is_round(words: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return all(words.get(name) == other.get(name) for name in (RUN, ROUND))


def _is_rolled_back(table: "Table", found: Mapping[str, str]) -> bool:
    """Return whether the current snapshot does not descend from the snapshot of these facts.

    If the snapshot of the facts has expired, a current snapshot that is older shows a rollback.
    """
    if any(POSITIONS in (words := _words_in(each)) and _is_round(words, found) for each in table.metadata.snapshots):
        return True
    current, committed_at_ms = table.current_snapshot(), integer_in(found.get(COMMIT_TIME, ""))
    return current is not None and committed_at_ms is not None and current.timestamp_ms < committed_at_ms


def _bounds(file: "DataFile", field: "NestedField") -> tuple[Any, Any]:
    from pyiceberg.conversions import from_bytes

    low, high = (file.lower_bounds or {}).get(field.field_id), (file.upper_bounds or {}).get(field.field_id)
    kind: Any = field.field_type
    return None if low is None else from_bytes(kind, low), None if high is None else from_bytes(kind, high)


def _shown(table: "Table", field: "PartitionField") -> str:
    transform = str(field.transform)
    return (
        f"{COLUMN_LAYOUT}{table.schema().find_column_name(field.source_id)}" if transform == "identity" else transform
    )
