"""The files of one range on their way into a lake table: Parquet below the table's data, part of it once committed.

A file's name has topic, partition, offsets and a digest keyed with the attempt, so that no two attempts write one name.
What no commit names is no part of a table, and is removed by the format's own maintenance (removal of orphan files,
vacuum).
Runs in tasks; knows neither Spark nor Kafka. Shown by tests/unit/pipeline/lake_tables.
"""

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from kctl.pipeline.export_files.folder import inside
from kctl.pipeline.export_files.manifests import ExportedFile, ExportedRange, Manifest, sync
from kctl.pipeline.export_files.range_files import RangeName
from kctl.pipeline.job_errors import ExportDataError
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.object_store.object_files import Spill, SpilledFiles
from kctl.pipeline.object_store.store import ObjectStore, StoreTimeouts

if TYPE_CHECKING:
    from kctl.pipeline.targets import FileKind

_NAME = re.compile(r"(?:(?P<at>@))?.+-(?P<partition>\d+)-(?P<start>\d+)-(?P<end>\d+)(?:\.\d+)?\.[0-9a-f]{32}\.parquet")
_PARTITION = re.compile(r"(date|hour)=([^/]+)/")


class TablePlace(NamedTuple):
    """Where the tasks of one round write; there is no secret in it.

    Attributes: base: what paths are relative to: a URL of an object store, or a path.
    """

    base: Path | StoreUrl
    timeouts: StoreTimeouts
    kind: "FileKind"
    run_id: str

    def open(self, name: RangeName, attempt: int) -> SpilledFiles:
        """Return what writes one range."""
        return SpilledFiles(_TableSpill(self, attempt), name)


class _TableSpill(Spill):
    """A spill whose files are put below the table's data, under the names that they keep."""

    def __init__(self, place: TablePlace, attempt: int) -> None:
        super().__init__(place.kind, attempt, f"{place.run_id}-{attempt}")
        self._base = place.base
        self._timeouts = place.timeouts

    def put(self, draft: Path, path: str) -> str:
        """Put a complete file below the table's data, and return its path there."""
        key = self.key_of(draft, path)
        if isinstance(self._base, Path):
            placed = inside(self._base, key)
            placed.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(draft, placed)
            sync(placed)
            sync(placed.parent)
        else:
            ObjectStore(self._base, self._timeouts).upload(key, draft)
        draft.unlink()
        return key


def base_of(location: str) -> Path | StoreUrl:
    """Return where a table's data is, of the URL or path that its format has for it."""
    if location.startswith("file:"):
        return Path(unquote(urlsplit(location).path))
    return StoreUrl(location.rstrip("/")) if "://" in location else Path(location)


def partition_values(path: str) -> dict[str, str]:
    """Return the values of the columns that a path has in the names of its folders."""
    return dict(_PARTITION.findall(path))


def manifest_of(files: Iterable[tuple[str, int, int]], settings: Mapping[str, str]) -> list[Manifest]:
    """Return the live files of a table as one round of an export, for what compares records.

    Args: files: path relative to the table's data, records and bytes of each.
    Raises: ExportDataError: another program has rewritten a file, so that it has no offsets in its name.
    """
    ranges: dict[tuple[str, int, int, int], list[ExportedFile]] = {}
    for path, records, size_bytes in files:
        found = _NAME.fullmatch(path.rpartition("/")[2])
        topic = path.partition("/")[0].removeprefix("@")
        if found is None:
            raise ExportDataError(
                f"{path} was not written by kctl: the table's files were compacted or added to",
                "compare the rows with a query: topic, partition and offset are columns",
            )
        key = topic, int(found["partition"]), int(found["start"]), int(found["end"])
        ranges.setdefault(key, []).append(ExportedFile(path, records, size_bytes))
    made = [
        ExportedRange(*key, sum(file.records for file in kept), tuple(sorted(kept))) for key, kept in ranges.items()
    ]
    return [Manifest(1, settings, tuple(sorted(made)), 1)] if made else []
