"""DeltaTarget: an export into a Delta table, one commit a round, with the positions as transactions of applications.

A Delta table keeps the newest version of each application's transaction (`txn`). Each partition is an application, and
its version the next offset; `kctl:round` counts rounds. A commit is based on the table in which the run found its own
round as the newest. Two commits with one application cannot pass each other, so the second is refused by the format
itself; appends of others are no conflict, and delta-rs commits behind them. Ids of topics are properties of the table,
which are written before the first record of a topic.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from kctl.pipeline.export_files.column_layout import column_of, name_of, values_in, with_column
from kctl.pipeline.export_files.manifests import Manifest
from kctl.pipeline.job_errors import ExportDataError, FolderError, StoreError
from kctl.pipeline.lake_tables.table_files import base_of, decoded_in, manifest_of
from kctl.pipeline.lake_tables.table_schema import evolved
from kctl.pipeline.lake_tables.table_target import CARRIED, RUN, CommitConflictError, Points, Round, TableTarget
from kctl.pipeline.locations import DeltaTable, StoreUrl
from kctl.pipeline.object_store.store import (
    BACKOFF_MS,
    MOST_BACKOFF_MS,
    MOST_RETRIES,
    StoreTimeouts,
    allows_http,
    check_lakes,
    first_line,
    no_response,
    store_problem,
)
from kctl.pipeline.resume_point import ResumePoint
from kctl.pipeline.store_waits import waiting_for

if TYPE_CHECKING:
    import deltalake
    import pyarrow as pa

APPLICATION, TOPIC_ID = "kctl:round", "kctl.topic-id."
_DAMAGE = re.compile(
    r"(Kernel error: )?(Json error|Arrow error|Parquet error|Invalid Checkpoint|Invalid JSON|Invalid log|"
    r"No table metadata|No protocol|Missing|Malformed|Unable to)",
    re.IGNORECASE,
)
"""How delta-rs reports a log that it cannot read, in the only class that it has for most errors."""
MOST_COMMITS = 1000
"""Commits of others among which the newest of ours is looked for."""
COLUMNS = {"topic": [], "date": ["date"], "hour": ["date", "hour"]}
"""Columns by which a layout partitions the table; they are in the names of folders alone."""


class DeltaTarget(TableTarget):
    """A table by its URL or path."""

    target_property = "delta.targetFileSize"

    def __init__(self, table: DeltaTable, timeouts: StoreTimeouts) -> None:
        check_lakes("deltalake")
        super().__init__(f"delta:{table}", timeouts)
        self._url = str(table)
        self._seen: deltalake.DeltaTable | None = None

    def positions(self) -> tuple[int, Points]:
        """Return the newest round; positions are looked up when they are asked for."""
        self._seen = self._loaded()
        return self._round_of(self._seen), {}

    def resume_points(self, wanted: Iterable[tuple[str, int]] = ()) -> Points:
        """Return where each partition continues, of those that are wanted and have been exported."""
        if self._seen is not None:
            ids = self._topic_ids(self._seen)
            for topic, partition in set(wanted) - set(self._points):  # what this run has committed is newer
                offset = self._seen.transaction_version(application_of(topic, partition))
                if offset is not None:
                    self._points[topic, partition] = ResumePoint(offset, ids.get(topic, ""))
        return dict(self._points)

    def check_layout(self, layout: str) -> None:
        """Raise FolderError where the table is partitioned otherwise."""
        if self._seen is not None and (found := list(self._seen.metadata().partition_columns)) != columns_of(layout):
            words = ", ".join(found) or "nothing"
            raise FolderError(f"{self.name} is partitioned by {words}, which is not layout {layout}")

    def create(self, layout: str) -> None:
        """Create the table unless it is there."""
        import deltalake

        with self._named():
            deltalake.DeltaTable.create(
                self._url,
                schema_with(self.schema, layout),
                mode="ignore",
                partition_by=columns_of(layout),
                storage_options=self._options(),
            )

    def base(self) -> Path | StoreUrl:
        """Return the table's own URL or path."""
        return base_of(self._url)

    def columns(self) -> "pa.Schema | None":
        """Return the columns of the table but those of COLUMNS."""
        import pyarrow as pa

        from kctl.pipeline.record_columns import TYPES

        table = self._loaded()
        if table is None:
            return None
        own = set(table.metadata().partition_columns) - set(TYPES)
        return pa.schema([field for field in pa.schema(table.schema().to_arrow()) if field.name not in own])

    def newest_facts(self) -> Mapping[str, str]:
        """Return what the newest commit of ours says of itself."""
        table = self._loaded()
        with self._named():
            commits = [] if table is None else table.history(MOST_COMMITS)
        return next(({name: str(text) for name, text in each.items()} for each in commits if RUN in each), {})

    def properties(self) -> Mapping[str, str]:
        """Return the properties of the table."""
        table = self._loaded()
        return {} if table is None else dict(table.metadata().configuration)

    def sibling(self, suffix: str) -> "DeltaTarget":
        """Return the table whose URL has a suffix."""
        return DeltaTarget(DeltaTable(f"{self._url}{suffix}"), self._timeouts)

    def append(self, added: Round) -> None:
        """Commit the files with the round's number and the positions of its partitions."""
        self.until_committed(lambda: self._append_once(added), added.number)

    def _append_once(self, added: Round) -> None:
        try:
            self._keep_properties(added)
            self._add_columns()
            self._write(added)
        except CommitConflictError:
            if self._round_of(self._loaded()) != self.last_number:
                raise self.taken() from None
            raise

    def _write(self, added: Round) -> None:
        from deltalake import CommitProperties, Transaction

        table = self._loaded()
        if table is None or self._round_of(table) != self.last_number:
            raise self.taken()
        now_ms = self._clock.wall_ms()
        advanced = sorted({(each.topic, each.partition) for each in added.ranges})
        versions = [Transaction(application_of(*key), added.points[key].offset, now_ms) for key in advanced]
        properties = CommitProperties(
            custom_metadata=dict(added.facts),
            app_transactions=[Transaction(APPLICATION, added.number, now_ms), *versions],
        )
        columns = list(table.metadata().partition_columns)
        with self._named():
            table.create_write_transaction(
                [_add(file, columns, now_ms) for file in added.files],
                "append",
                schema_with(self.schema, self._layout),
                partition_by=columns,
                commit_properties=properties,
            )

    def manifests(self) -> list[Manifest]:
        """Return the live files of the table as one round of an export."""
        table = self._loaded()
        if table is None:
            return []
        added = table.get_add_actions(flatten=True)
        names, sizes, counts = (added.column(each).to_pylist() for each in ("path", "size_bytes", "num_records"))
        return manifest_of(
            ((unquote(str(path)), count, size) for path, count, size in zip(names, counts, sizes, strict=True)),
            decoded_in(self.columns()),
            self.carried_facts(),
        )

    def _add_columns(self) -> None:
        """Add what the schema has and the table has not; delta-rs does so in a commit before that of the records."""
        from deltalake import Schema

        found, table = self.columns(), self._loaded()
        if table is None or found is None:
            return
        if evolved(found, self.schema, self.name, can_widen=False) == evolved(found, found, self.name, can_widen=False):
            return
        with self._named():
            table.alter.add_columns(list(Schema.from_arrow(self.schema).fields))

    def _keep_properties(self, added: Round) -> None:
        """Write ids of topics, and what is carried of the cluster, in a commit before that of the records."""
        table = self._loaded()
        if table is None:
            return
        known = self._topic_ids(table)
        new = {
            f"{TOPIC_ID}{each.topic}": each.topic_id
            for each in added.ranges
            if each.topic_id and each.topic not in known
        }
        if added.carried:
            new[CARRIED] = added.carried
        if new:
            with self._named():
                table.alter.set_table_properties(new, raise_if_not_exists=False)

    def _topic_ids(self, table: "deltalake.DeltaTable") -> dict[str, str]:
        words = table.metadata().configuration
        return {name.removeprefix(TOPIC_ID): str(text) for name, text in words.items() if name.startswith(TOPIC_ID)}

    def _round_of(self, table: "deltalake.DeltaTable | None") -> int:
        return 0 if table is None else table.transaction_version(APPLICATION) or 0

    def _loaded(self) -> "deltalake.DeltaTable | None":
        import deltalake
        from deltalake.exceptions import TableNotFoundError

        if isinstance(self.base(), Path) and not Path(self._url).exists():
            return None
        with self._named():
            try:
                return deltalake.DeltaTable(self._url, storage_options=self._options())
            except TableNotFoundError:
                return None

    def _options(self) -> dict[str, str]:
        base = self.base()
        return {
            "timeout": f"{self._timeouts.attempt_ms}ms",
            "connect_timeout": f"{self._timeouts.connect_ms}ms",
            "max_retries": str(MOST_RETRIES),
            "retry_timeout": f"{self._timeouts.retry_ms}ms",
            "backoff_config.init_backoff": f"{BACKOFF_MS}ms",
            "backoff_config.max_backoff": f"{MOST_BACKOFF_MS}ms",
            **({"allow_http": str(allows_http(base)).lower()} if isinstance(base, StoreUrl) else {}),
        }

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Raise what delta-rs and its store raise as an error of ours in one line."""
        from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

        base = self.base()
        try:
            with waiting_for(no_response(base)) if isinstance(base, StoreUrl) else nullcontext():
                yield
        except TableNotFoundError:
            raise
        except CommitFailedError as e:
            problem = store_problem(e, self.name)
            raise (CommitConflictError(str(problem)) if type(problem) is StoreError else problem) from None
        except (DeltaError, OSError) as e:
            if _DAMAGE.match(str(e)):
                raise ExportDataError(f"{self.name}: the table's log is damaged: {first_line(str(e))}") from None
            raise store_problem(e, self.name) from None
        except ValueError as e:
            raise StoreError(f"{self.name}: {first_line(str(e))}") from None


def application_of(topic: str, partition: int) -> str:
    """Return the name under which a table keeps the position of a partition."""
    return f"kctl:{topic}:{partition}"


def columns_of(layout: str) -> list[str]:
    """Return the columns by which a layout partitions the table."""
    column = column_of(layout)
    return COLUMNS[layout] if column is None else [name_of(column)]


def schema_with(schema: "pa.Schema", layout: str) -> "pa.Schema":
    """Return the columns of records, and those that partition the table."""
    import pyarrow as pa

    for name in COLUMNS.get(layout, ()):
        schema = schema.append(pa.field(name, pa.string()))
    return with_column(schema, layout)


def _add(file: Any, columns: Sequence[str], now_ms: int) -> Any:
    from deltalake.transaction import AddAction

    values = values_in(file.path)
    return AddAction(
        file.path,
        file.size_bytes,
        {name: values[name] for name in columns},
        now_ms,
        True,
        json.dumps({"numRecords": file.records}),
    )
