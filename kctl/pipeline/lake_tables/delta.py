"""DeltaTarget: export into a Delta table, with one commit for each round and positions as application transactions.

Each partition is an application (`txn`) whose version is the next offset, and `kctl:round` counts rounds. If two
commits of one application conflict, the format rejects the second. Appends of other programs do not conflict. Topic IDs
are table properties, written before the first record of a topic.

Application transactions may expire (`delta.setTransactionRetentionDuration`), and RESTORE does not revert them. So the
commit information also has all positions, and the export continues from kctl's newest commit whose content is in the
table. If that commit is no longer in the log, transactions apply, and each commit renews all known ones.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from kctl.grammar.integers import integer_in
from kctl.pipeline.export_files.column_layout import column_of, name_of, values_in, with_column
from kctl.pipeline.export_files.manifests import ExportedFile, Manifest
from kctl.pipeline.export_files.merged_schema import evolved
from kctl.pipeline.job_errors import ExportDataError, FolderError, StoreError, folder_error
from kctl.pipeline.lake_tables.delta_statistics import bounds_in
from kctl.pipeline.lake_tables.table_files import LiveFile, base_of, decoded_in, manifest_of, partitions_in
from kctl.pipeline.lake_tables.table_target import (
    CARRIED,
    FILLED,
    POSITIONS,
    RUN,
    CommitConflictError,
    Points,
    Round,
    TableTarget,
    positions_text,
)
from kctl.pipeline.locations import DeltaTable, StoreUrl
from kctl.pipeline.object_store.store import (
    BACKOFF_MS,
    MOST_BACKOFF_MS,
    MOST_RETRIES,
    ObjectStore,
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
"""Messages of delta-rs for an unreadable log, which has no separate error class."""
MOST_COMMITS = 1000
"""Maximum number of commits searched for the newest commit of kctl."""
CONSTRAINT = "delta.constraints."
MODES = {"delta.columnMapping.mode": "none", "delta.enableRowTracking": "false"}
"""Properties that change column names or add metadata in files, with their defaults."""
COLUMN_RULES = {
    "delta.invariants": "an invariant constraint",
    "delta.generationExpression": "a generation expression",
    "delta.identity.start": "an identity definition",
}
"""Rules in the metadata of columns."""
BY_TIME = -1
"""Restored version if the log has only a time. No commit is then known to be in the table."""
COLUMNS = {"topic": [], "date": ["date"], "hour": ["date", "hour"]}
"""Partition columns of each layout, which exist only in directory names."""


class DeltaTarget(TableTarget):
    takes_footers = True
    target_property = "delta.targetFileSize"

    def __init__(self, table: DeltaTable, timeouts: StoreTimeouts) -> None:
        check_lakes("deltalake")
        super().__init__(f"delta:{table}", timeouts)
        self._url = str(table)
        self._seen: deltalake.DeltaTable | None = None
        self._newest = _NOTHING

    def positions(self) -> tuple[int, Points]:
        self._seen = self._loaded()
        self._newest = self._newest_of(self._seen)
        points = self._newest.points
        return self._round_of(self._seen), self._points_by_transaction() if points is None else points

    def _points_by_transaction(self) -> Points:
        assert self._seen is not None
        ids, topics = self._topic_ids(self._seen), self.carried_facts().topics
        found: Points = {}
        for topic, facts in topics.items():
            for number in range(facts.partitions):
                offset = self._seen.transaction_version(application_of(topic, number))
                if offset is not None:
                    found[topic, number] = ResumePoint(offset, ids.get(topic, ""))
        return found

    def resume_points(self, wanted: Iterable[tuple[str, int]] = ()) -> Points:
        """Return the positions of exported partitions, at least of the wanted ones.

        Raises: ExportDataError: a partition was exported, but its position has expired.
        """
        if self._seen is not None and self._newest.points is None:
            ids = self._topic_ids(self._seen)
            fresh = sorted(set(wanted) - set(self._points))  # positions committed by this run are newer
            for topic, partition in fresh:
                offset = self._seen.transaction_version(application_of(topic, partition))
                if offset is not None:
                    self._points[topic, partition] = ResumePoint(offset, ids.get(topic, ""))
            gone = [key for key in fresh if key not in self._points and key[0] in ids]
            if gone and self._seen.transaction_version(APPLICATION) is None:  # each commit renews all known positions
                raise self.lost(gone)
        return super().resume_points(wanted)

    def check_layout(self, layout: str) -> None:
        """Raise FolderError if the partitioning differs, or if the location has files but no table."""
        if self._seen is None and not self._is_empty():
            raise FolderError(f"{self._url} is not empty and is not a Delta table", "choose a location without files")
        if self._seen is not None and (found := list(self._seen.metadata().partition_columns)) != columns_of(layout):
            words = ", ".join(found) or "nothing"
            raise FolderError(f"{self.name} is partitioned by {words}, which does not match layout {layout}")

    def rules(self) -> list[str]:
        """Return constraints, computed columns and required columns. delta-rs does not check them in these commits."""
        if self._seen is None:
            return []
        words = self._seen.metadata().configuration
        found = [
            f"constraint {name.removeprefix(CONSTRAINT)} ({str(text)[:100]})"
            for name, text in words.items()
            if name.startswith(CONSTRAINT)
        ]
        found += [f"{name}={words[name]}" for name, usual in MODES.items() if words.get(name, usual) != usual]
        for field in json.loads(self._seen.schema().to_json())["fields"]:
            name, facts = field["name"], field.get("metadata") or {}
            if not field["nullable"] and name not in FILLED:
                found.append(f"column {name} does not allow null")
            found += [f"column {name} has {rule}" for key, rule in COLUMN_RULES.items() if key in facts]
        return found

    def create(self, layout: str) -> None:
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
        return base_of(self._url)

    def columns(self) -> "pa.Schema | None":
        import pyarrow as pa

        from kctl.pipeline.record_columns import TYPES

        table = self._loaded()
        if table is None:
            return None
        own = set(table.metadata().partition_columns) - set(TYPES)
        return pa.schema([field for field in pa.schema(table.schema().to_arrow()) if field.name not in own])

    def newest_facts(self) -> Mapping[str, str]:
        return self._newest_of(self._loaded()).facts

    def _newest_of(self, table: "deltalake.DeltaTable | None") -> "_Newest":
        if table is None:
            return _NOTHING
        for most in (1, 20, MOST_COMMITS):  # each commit is a file of the log, and usually the newest is kctl's
            with self._named():
                commits = table.history(most)
            commit, restored = _newest_in(commits)
            if commit is not None or len(commits) < most:
                break
        if commit is None:
            if restored == BY_TIME or (restored is not None and commits[-1]["version"]):
                raise self._restored()
            if commits and commits[-1]["version"] == 0:
                return _NOTHING
            return _Newest({}, None)
        facts = {name: str(text) for name, text in commit.items()}
        if POSITIONS not in facts and restored is not None:
            raise self._restored()
        return _Newest(facts, self.points_in(facts) if POSITIONS in facts else None)

    def _restored(self) -> ExportDataError:
        return ExportDataError(
            f"{self.name} was restored to a version without export positions", "export to another table"
        )

    def properties(self) -> Mapping[str, str]:
        table = self._loaded()
        return {} if table is None else dict(table.metadata().configuration)

    def sibling(self, suffix: str) -> "DeltaTarget":
        return DeltaTarget(DeltaTable(f"{self._url}{suffix}"), self._timeouts)

    def append(self, added: Round) -> None:
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
        points = self._newest_of(table).points
        if points not in (None, self._points) or table is None or self._round_of(table) != self.last_number:
            raise self.taken()
        now_ms = self._clock.wall_ms()
        versions = [Transaction(application_of(*key), point.offset, now_ms) for key, point in added.points.items()]
        properties = CommitProperties(
            custom_metadata={POSITIONS: positions_text(added.points), **added.facts},
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

    def live_partitions(self, wanted: Collection[tuple[str, int]]) -> set[tuple[str, int]]:
        if self._seen is None or POSITIONS in self._newest.facts:  # positions of all partitions
            return set()
        if not {"topic", "partition"} <= {field.name for field in self._seen.schema().fields}:
            return set()
        names = ("path", "min.topic", "max.topic", "min.partition", "max.partition")
        files = (
            LiveFile(unquote(path), (first, last), (least, most))
            for path, first, last, least, most in self._live_files(self._seen, *names)
        )
        return partitions_in(files, wanted)

    def sizes(self) -> tuple[int, int, int]:
        table = self._loaded()
        if table is None:
            return 0, 0, 0
        found = self._live_files(table, "num_records", "size_bytes")
        return sum(count or 0 for count, _ in found), len(found), sum(size_bytes for _, size_bytes in found)

    def manifests(self) -> list[Manifest]:
        table = self._loaded()
        if table is None:
            return []
        found = self._live_files(table, "path", "num_records", "size_bytes")
        return manifest_of(
            ((unquote(str(path)), count, size_bytes) for path, count, size_bytes in found),
            decoded_in(self.columns()),
            self.carried_facts(),
        )

    def _live_files(self, table: "deltalake.DeltaTable", *names: str) -> list[tuple[Any, ...]]:
        with self._named():
            added = table.get_add_actions(flatten=True)
        unknown = [None] * len(added)
        columns = [added.column(name).to_pylist() if name in added.schema.names else unknown for name in names]
        return list(zip(*columns, strict=True))

    def _add_columns(self) -> None:
        from deltalake import Schema

        found, table = self.columns(), self._loaded()
        if table is None or found is None:
            return
        if evolved(found, self.schema, self.name, can_widen=False) == evolved(found, found, self.name, can_widen=False):
            return
        with self._named():
            table.alter.add_columns(list(Schema.from_arrow(self.schema).fields))

    def _keep_properties(self, added: Round) -> None:
        """Write topic IDs and cluster facts, which needs a separate commit."""
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
        if table is None:
            return 0
        number = table.transaction_version(APPLICATION)
        return self.number_in(self._newest_of(table).facts) if number is None else number

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

    def _is_empty(self) -> bool:
        base = self.base()
        if isinstance(base, StoreUrl):
            return next(iter(ObjectStore(base, self._timeouts).list()), None) is None
        try:
            return not base.exists() or next(base.iterdir(), None) is None
        except OSError as e:
            raise folder_error(base, e) from e

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
                raise ExportDataError(f"{self.name}: the log of the table is damaged: {first_line(str(e))}") from None
            raise store_problem(e, self.name) from None
        except ValueError as e:
            raise StoreError(f"{self.name}: {first_line(str(e))}") from None


class _Newest(NamedTuple):
    """Newest commit of kctl. `points` is None if the positions are unknown."""

    facts: Mapping[str, str]
    points: Points | None


_NOTHING = _Newest({}, {})
"""Newest commit of a table without commits of kctl."""


def _newest_in(commits: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any] | None, int | None]:
    """Return the newest commit of kctl whose content is in the table, and the restored version, if any."""
    restored: int | None = None
    for each in commits:
        if restored is not None and each["version"] > restored:
            continue
        if RUN in each:
            return each, restored
        if each.get("operation") == "RESTORE":
            version = integer_in(str((each.get("operationParameters") or {}).get("version")))
            restored = BY_TIME if version is None else version
    return None, restored


def application_of(topic: str, partition: int) -> str:
    return f"kctl:{topic}:{partition}"


def columns_of(layout: str) -> list[str]:
    column = column_of(layout)
    return COLUMNS[layout] if column is None else [name_of(column)]


def schema_with(schema: "pa.Schema", layout: str) -> "pa.Schema":
    import pyarrow as pa

    for name in COLUMNS.get(layout, ()):
        schema = schema.append(pa.field(name, pa.string()))
    return with_column(schema, layout)


def _add(file: ExportedFile, columns: Sequence[str], now_ms: int) -> Any:
    from deltalake.transaction import AddAction

    values = values_in(file.path)
    return AddAction(
        file.path,
        file.size_bytes,
        {name: values[name] for name in columns},
        now_ms,
        True,
        json.dumps({"numRecords": file.records, **bounds_in(file, columns)}),
    )
