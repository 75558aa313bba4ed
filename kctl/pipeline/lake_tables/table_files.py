"""Parquet files of one range for a lake table, which become part of the table when committed.

File names have topic, partition, offsets and a digest of the attempt, so attempts never share a name. Uncommitted files
remain until the maintenance of the table format removes them.
"""

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from kctl.grammar.integers import integer_in
from kctl.pipeline.export_files.cluster_facts import NO_FACTS, ClusterFacts
from kctl.pipeline.export_files.folder import ERRORS, inside
from kctl.pipeline.export_files.manifests import ExportedFile, ExportedRange, Manifest, checked, resume_points, sync
from kctl.pipeline.export_files.range_files import RangeName
from kctl.pipeline.job_errors import ExportDataError, reason_of
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.object_store.object_files import Spill, SpilledFiles
from kctl.pipeline.object_store.store import ObjectStore, StoreTimeouts

if TYPE_CHECKING:
    import pyarrow as pa

    from kctl.pipeline.targets import FileKind

V = TypeVar("V", str, int)
_NAME = re.compile(r"(?:(?P<at>@))?.+-(?P<partition>\d+)-(?P<start>\d+)-(?P<end>\d+)(?:\.\d+)?\.[0-9a-f]{32}\.parquet")
_DIGEST = re.compile(r"\.[0-9a-f]{32}(?=\.parquet$)")

LONGEST_PATH = 300
"""Maximum characters of a path in an error."""
MAGIC = b"PAR1"
"""First and last bytes of a Parquet file. The length of its metadata precedes the last ones."""
LARGEST_FOOTER_BYTES = 16 * 1024
"""Maximum size of a footer to send to the driver, which holds all footers of a round."""


@dataclass(frozen=True)
class TablePlace:
    """Destination of the tasks of one round, without secrets.

    Attributes:
        base: URL or path to which the paths of files are relative.
        errors: the same for files with undecodable records, below ERRORS.
    """

    base: Path | StoreUrl
    errors: Path | StoreUrl | None
    timeouts: StoreTimeouts
    kind: "FileKind"
    run_id: str
    sends_footers: bool = False

    @cached_property
    def stores(self) -> Callable[[StoreUrl], ObjectStore]:
        return cache(lambda url: ObjectStore(url, self.timeouts))

    def open(self, name: RangeName, attempt: int) -> SpilledFiles:
        return SpilledFiles(_TableSpill(self, attempt), name)


class _TableSpill(Spill):
    """Spill whose files are moved below the table's data with their final names."""

    is_table = True

    def __init__(self, place: TablePlace, attempt: int) -> None:
        super().__init__(place.kind, attempt, place.run_id)
        self._base = place.base
        self._errors = place.errors
        self._stores = place.stores
        self._sends_footers = place.sends_footers

    def footer(self, draft: Path) -> bytes:
        return footer_of(draft) if self._sends_footers else b""

    def put(self, draft: Path, path: str) -> str:
        key = self.key_of(path)
        base, name = self._base, key
        if self._errors is not None and key.startswith(f"{ERRORS}/"):
            base, name = self._errors, key.removeprefix(f"{ERRORS}/")
        if isinstance(base, Path):
            placed = inside(base, name)
            placed.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(draft, placed)
            sync(placed)
            sync(placed.parent)
        else:
            self._stores(base).upload(name, draft)
        draft.unlink()
        return key


def footer_of(path: Path) -> bytes:
    """Return the metadata and the end of a Parquet file, or empty bytes if larger than LARGEST_FOOTER_BYTES."""
    with path.open("rb") as file:
        file.seek(-len(MAGIC) - 4, os.SEEK_END)
        size_bytes = int.from_bytes(file.read(4), "little") + 4 + len(MAGIC)
        if size_bytes > LARGEST_FOOTER_BYTES:
            return b""
        file.seek(-size_bytes, os.SEEK_END)
        return file.read()


def base_of(location: str) -> Path | StoreUrl:
    if location.startswith("file:"):
        return Path(unquote(urlsplit(location).path))
    return StoreUrl(location.rstrip("/")) if "://" in location else Path(location)


def decoded_in(columns: "pa.Schema | None") -> dict[str, str]:
    if columns is None:
        return {}
    for each in ("key", "value"):
        if each not in columns.names:
            raise ExportDataError(f"the table was not written by kctl: it has no column {each}")
    names = [each for each in ("key", "value") if not _is_bytes(columns.field(each).type)]
    return {"decode": ",".join(names)} if names else {}


def _is_bytes(kind: "pa.DataType") -> bool:
    return str(kind) in ("binary", "large_binary")


class LiveFile(NamedTuple):
    """A file of a table.

    Attributes:
        path: path below the table's data.
        topics, partitions: bounds of the columns. None if unknown.
    """

    path: str
    topics: tuple[str | None, str | None]
    partitions: tuple[int | None, int | None]


def partitions_in(files: Iterable[LiveFile], wanted: Collection[tuple[str, int]]) -> set[tuple[str, int]]:
    """Return the wanted partitions whose records are in the files.

    File names have topic and partition, except after a compaction. In compacted files, the bounds decide. Files without
    bounds may have any partition.
    """
    missing = set(wanted)
    for file in files:
        if not missing:
            break
        name = _NAME.fullmatch(file.path.rpartition("/")[2])
        if name is not None:
            topic, partition = file.path.partition("/")[0].removeprefix("@"), integer_in(name["partition"])
            if partition is not None:
                missing.discard((topic, partition))
            continue
        missing = {
            (topic, partition)
            for topic, partition in missing
            if not (_is_within(topic, file.topics) and _is_within(partition, file.partitions))
        }
    return set(wanted) - missing


def _is_within(value: V, bounds: tuple[V | None, V | None]) -> bool:
    low, high = bounds
    return (low is None or low <= value) and (high is None or value <= high)


def manifest_of(
    files: Iterable[tuple[str, Any, Any]], settings: Mapping[str, str], facts: ClusterFacts = NO_FACTS
) -> list[Manifest]:
    """Return the live files of a table as one round of an export.

    Args:
        files: path relative to the table's data, records and bytes of each file.
    """
    ranges: dict[tuple[str, int, int, int], list[ExportedFile]] = {}
    for path, records, size_bytes in files:
        found, shown = _NAME.fullmatch(path.rpartition("/")[2]), repr(path[:LONGEST_PATH])[1:-1]
        if found is None:
            raise ExportDataError(
                f"file {shown} was not written by kctl: the table was compacted, or another program added files",
                "compare the rows with a query of the columns topic, partition, and offset",
            )
        topic = path.partition("/")[0].removeprefix("@")
        try:
            file = ExportedFile(path, int(records), int(size_bytes))
            key = topic, int(found["partition"]), int(found["start"]), int(found["end"])
            checked(ExportedRange(*key, file.records, (file,)))
        except (ValueError, TypeError) as e:
            raise ExportDataError(f"{shown} is not an export file: {reason_of(e)}") from None
        ranges.setdefault(key, []).append(file)
    made = [
        ExportedRange(*key, sum(file.records for file in kept), tuple(sorted(kept))) for key, kept in ranges.items()
    ]
    try:
        for each in made:
            checked(each)
            _check_once(each)
    except ValueError as e:
        raise ExportDataError(f"the table has duplicate records: {reason_of(e)}") from None
    manifests = [Manifest(1, settings, tuple(sorted(made)), 1, facts)] if made else []
    resume_points(manifests)
    return manifests


def _check_once(given: ExportedRange) -> None:
    """Raise ValueError if the range has files of two attempts, whose names differ only in their digests."""
    names = Counter(_DIGEST.sub("", file.path) for file in given.files)
    path, count = names.most_common(1)[0]
    if count > 1:
        raise ValueError(f"{count} files have the name {path[:LONGEST_PATH]!r} and differ only in the digest")
