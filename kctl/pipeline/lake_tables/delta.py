"""DeltaTarget: an export into a Delta table, one commit a round, with the positions as transactions of applications.

A Delta table keeps the newest version of each application's transaction (`txn`). Each partition is an application, and
its version the next offset; `kctl:round` counts rounds. A commit is based on the table in which the run found its own
round as the newest. Two commits with one application cannot pass each other, so the second is refused by the format
itself; appends of others are no conflict, and delta-rs commits behind them. Ids of topics are properties of the table,
which are written before the first record of a topic.
Shown by tests/unit/pipeline/lake_tables/test_table_targets.py and tests/pipeline/test_lake_tables.py.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from kctl.client.clock import SystemClock
from kctl.pipeline.export_files.manifests import ExportedRange, Manifest
from kctl.pipeline.job_errors import FolderError, StoreError
from kctl.pipeline.lake_tables.table_files import base_of, manifest_of, partition_values
from kctl.pipeline.lake_tables.table_target import Points, TableTarget
from kctl.pipeline.locations import DeltaTable, StoreUrl
from kctl.pipeline.object_store.store import StoreTimeouts, check_lakes, store_problem
from kctl.pipeline.resume_point import ResumePoint

if TYPE_CHECKING:
    import deltalake
    import pyarrow as pa

ROUND, TOPIC_ID = "kctl:round", "kctl.topic-id."
COLUMNS = {"topic": [], "date": ["date"], "hour": ["date", "hour"]}
"""Columns by which a layout partitions the table; they are in the names of folders alone."""


class DeltaTarget(TableTarget):
    """A table by its URL or path."""

    def __init__(self, table: DeltaTable, timeouts: StoreTimeouts) -> None:
        check_lakes("deltalake")
        super().__init__(f"delta:{table}", timeouts)
        self._url = str(table)
        self._clock = SystemClock()
        self._seen: deltalake.DeltaTable | None = None

    def positions(self) -> tuple[int, Points]:
        """Return the newest round; positions are looked up when they are asked for."""
        self._seen = self._loaded()
        return self._round_of(self._seen), {}

    def resume_points(self, wanted: Iterable[tuple[str, int]] = ()) -> Points:
        """Return where each partition continues, of those that are wanted and have been exported."""
        if self._seen is not None:
            ids = self._topic_ids(self._seen)
            for topic, partition in wanted:
                offset = self._seen.transaction_version(application_of(topic, partition))
                if offset is not None:
                    self._points[topic, partition] = ResumePoint(offset, ids.get(topic, ""))
        return dict(self._points)

    def check_layout(self, layout: str) -> None:
        """Raise FolderError where the table is partitioned otherwise."""
        if self._seen is not None and (found := list(self._seen.metadata().partition_columns)) != COLUMNS[layout]:
            words = ", ".join(found) or "nothing"
            raise FolderError(f"{self.name} is partitioned by {words}, which is not layout {layout}")

    def create(self, layout: str) -> None:
        """Create the table unless it is there."""
        import deltalake

        with self._named():
            deltalake.DeltaTable.create(
                self._url,
                schema_with(COLUMNS[layout]),
                mode="ignore",
                partition_by=COLUMNS[layout],
                storage_options=self._options(),
            )

    def base(self) -> Path | StoreUrl:
        """Return the table's own URL or path."""
        return base_of(self._url)

    def append(self, number: int, ranges: Sequence[ExportedRange], points: Points) -> None:
        """Commit the files with the round's number and the positions of its partitions."""
        from deltalake import CommitProperties, Transaction
        from deltalake.exceptions import CommitFailedError

        self._keep_topic_ids(ranges)
        table = self._loaded()
        if table is None or self._round_of(table) != self.last_number:
            raise self.taken()
        now_ms = self._clock.wall_ms()
        advanced = sorted({(each.topic, each.partition) for each in ranges})
        versions = [Transaction(application_of(*key), points[key].offset, now_ms) for key in advanced]
        properties = CommitProperties(app_transactions=[Transaction(ROUND, number, now_ms), *versions])
        columns = list(table.metadata().partition_columns)
        with self._named():
            try:
                table.create_write_transaction(
                    [_add(file, columns, now_ms) for each in ranges for file in each.files],
                    "append",
                    schema_with(columns),
                    partition_by=columns,
                    commit_properties=properties,
                )
            except CommitFailedError:
                if self._round_of(self._loaded()) == self.last_number:
                    raise
                raise self.taken() from None

    def manifests(self) -> list[Manifest]:
        """Return the live files of the table as one round of an export."""
        table = self._loaded()
        if table is None:
            return []
        added = table.get_add_actions(flatten=True)
        names, sizes, counts = (added.column(each).to_pylist() for each in ("path", "size_bytes", "num_records"))
        return manifest_of(
            (
                (unquote(str(path)), int(count), int(size))
                for path, count, size in zip(names, counts, sizes, strict=True)
            ),
            {},
        )

    def _keep_topic_ids(self, ranges: Sequence[ExportedRange]) -> None:
        table = self._loaded()
        if table is None:
            return
        known = self._topic_ids(table)
        new = {each.topic: each.topic_id for each in ranges if each.topic_id and each.topic not in known}
        if new:
            with self._named():
                table.alter.set_table_properties(
                    {f"{TOPIC_ID}{topic}": topic_id for topic, topic_id in new.items()}, raise_if_not_exists=False
                )

    def _topic_ids(self, table: "deltalake.DeltaTable") -> dict[str, str]:
        words = table.metadata().configuration
        return {name.removeprefix(TOPIC_ID): str(text) for name, text in words.items() if name.startswith(TOPIC_ID)}

    def _round_of(self, table: "deltalake.DeltaTable | None") -> int:
        return 0 if table is None else table.transaction_version(ROUND) or 0

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
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
        return {
            "timeout": f"{self._timeouts.request_ms}ms",
            "connect_timeout": f"{self._timeouts.connect_ms}ms",
            **({"allow_http": "true"} if endpoint.startswith("http://") else {}),
        }

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Raise what delta-rs and its store raise as an error of ours in one line."""
        from deltalake.exceptions import DeltaError, TableNotFoundError

        try:
            yield
        except TableNotFoundError:
            raise
        except (DeltaError, OSError) as e:
            raise store_problem(e, self.name) from None
        except ValueError as e:
            raise StoreError(f"{self.name}: {str(e).splitlines()[0][:300]}") from None


def application_of(topic: str, partition: int) -> str:
    """Return the name under which a table keeps the position of a partition."""
    return f"kctl:{topic}:{partition}"


def schema_with(columns: Sequence[str]) -> "pa.Schema":
    """Return the columns of records, and those that partition the table."""
    import pyarrow as pa

    from kctl.pipeline.record_columns import COLUMN_NAMES, schema_of

    schema = schema_of(COLUMN_NAMES)
    for name in columns:
        schema = schema.append(pa.field(name, pa.string()))
    return schema


def _add(file: Any, columns: Sequence[str], now_ms: int) -> Any:
    from deltalake.transaction import AddAction

    values = partition_values(file.path)
    return AddAction(
        file.path,
        file.size_bytes,
        {name: values[name] for name in columns},
        now_ms,
        True,
        json.dumps({"numRecords": file.records}),
    )
