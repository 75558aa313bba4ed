"""Files of one range: Arrow batches as Parquet or JSON lines, partitioned by the layout.

Either all files are written or none. When all are complete and synced, they move from the round's directory to hidden
names in the export. Each attempt at a range uses the same names.
"""

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kctl.pipeline.export_files.column_layout import (
    NULL,
    YEAR_1_MS,
    YEAR_10000_MS,
    column_of,
    divided,
    has_named_year,
    name_of,
)
from kctl.pipeline.export_files.folder import ERRORS, FORMATS, file_name, hidden, inside, topic_folder
from kctl.pipeline.export_files.json_lines import json_lines
from kctl.pipeline.export_files.manifests import ExportedFile, newer, sync
from kctl.pipeline.job_errors import FolderError, folder_error
from kctl.pipeline.record_columns import REASON
from kctl.version import VERSION

if TYPE_CHECKING:
    from kctl.pipeline.targets import FileKind

MOST_OPEN = 16
"""Maximum number of open files of a range, beyond which the least recently written file is closed."""
DICTIONARY_COLUMNS = ["topic", "partition", "timestampType"]
"""Columns with few distinct values. Dictionaries make other columns larger."""
COUNTED_COLUMNS = ("partition", "offset", "timestamp")
"""Columns whose minimum and maximum are in the footer of a file."""
ROW_GROUP_ROWS = 512 * 1024
ROW_GROUP_BYTES = 32 * 1024 * 1024
"""Maximum size of a row group, which limits the memory of a task."""
_UNITS = {"date": "day", "hour": "hour"}


class FilePlace(NamedTuple):
    """Destination of a range's files.

    Attributes:
        round_folder: directory from which files are renamed. Removing it ends the round.
        attempt: number that is unique to this attempt.
    """

    folder: Path
    round_folder: Path
    layout: str
    format: str
    compression_level: int
    attempt: int
    file_bytes: int = 0
    is_table: bool = False

    def settle(self, draft: Path) -> None:
        sync(draft)

    def footer(self, draft: Path) -> bytes:  # noqa: ARG002 - of Files
        return b""

    def put(self, draft: Path, path: str) -> str:
        placed = inside(self.folder, path)
        placed.parent.mkdir(parents=True, exist_ok=True)
        draft.rename(hidden(placed))
        return path

    def failed(self, error: OSError) -> FolderError:
        if not self.round_folder.exists():
            return FolderError(
                f"{self.round_folder} does not exist: another export writes to the directory, or this machine does "
                f"not share it",
                "run only one export at a time, and share the file system of the directory with all workers",
            )
        return folder_error(self.folder, error)


class FolderPlace(NamedTuple):
    folder: str
    round_folder: str
    kind: "FileKind"

    def open(self, name: "RangeName", attempt: int) -> "RangeFiles":
        kind = self.kind
        place = FilePlace(
            *(Path(self.folder), Path(self.round_folder), kind.layout, kind.format, kind.compression_level),
            *(attempt, kind.file_bytes),
        )
        return RangeFiles(place, name)


class Files(Protocol):
    """Interface of the destination that RangeFiles needs."""

    @property
    def is_table(self) -> bool: ...

    @property
    def round_folder(self) -> Path: ...

    @property
    def layout(self) -> str: ...

    @property
    def format(self) -> str: ...

    @property
    def compression_level(self) -> int: ...

    @property
    def attempt(self) -> int: ...

    @property
    def file_bytes(self) -> int: ...

    def settle(self, draft: Path) -> None: ...

    def footer(self, draft: Path) -> bytes: ...

    def put(self, draft: Path, path: str) -> str: ...

    def failed(self, error: OSError) -> FolderError: ...


class RangeName(NamedTuple):
    topic: str
    partition: int
    start: int
    end: int


class _Writer(Protocol):
    @property
    def size_bytes(self) -> int: ...

    def write(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


class RangeFiles:
    """Writer of the files of one range; a context manager that removes the files unless `finish` is called.

    Raises: FolderError: from every method, with the file and the reason.
    """

    def __init__(self, place: Files, name: RangeName) -> None:
        self._place = place
        self._name = name
        self._open: OrderedDict[str, tuple[_Writer, _Part]] = OrderedDict()
        self._parts: list[_Part] = []
        self._rows = 0
        self._newest_ms: int | None = None

    def __enter__(self) -> "RangeFiles":
        return self

    def __exit__(self, *_error: object) -> None:
        for writer, _ in self._open.values():
            with suppress(OSError):  # the disk may be full; the draft is removed
                writer.close()
        for part in self._parts:
            with suppress(OSError):  # the next run removes it with the directory of the round
                part.draft.unlink(missing_ok=True)

    @property
    def records(self) -> int:
        return self._rows

    @property
    def newest_ms(self) -> int | None:
        return self._newest_ms

    def write(self, batch: pa.RecordBatch, *, is_copy: bool = False) -> None:
        """Write a batch that follows earlier ones in offset order. Records with the column REASON go to separate files.

        Args:
            is_copy: the records are also written without REASON, so they are not counted.
        """
        try:
            for folder, piece in self._split(batch):
                self._writer(folder, piece.schema).write(piece)
                if 0 < self._place.file_bytes <= self._open[folder][0].size_bytes:
                    self._close(folder)
        except OSError as e:
            raise self._place.failed(e) from e
        if not is_copy:
            self._rows += batch.num_rows
            self._newest_ms = newer(self._newest_ms, _newest_ms(batch))

    def close(self) -> None:
        """Close the files. `finish` may then be called in another thread."""
        try:
            while self._open:
                self._close(next(iter(self._open)))
        except OSError as e:
            raise self._place.failed(e) from e

    def finish(self) -> tuple[ExportedFile, ...]:
        """Sync the files, move them to their directories, and return them by path."""
        self.close()
        try:
            for part in self._parts:
                self._place.settle(part.draft)
            done = []
            for part in self._parts:
                footer = self._place.footer(part.draft)  # before the draft is moved
                path = self._place.put(part.draft, part.path)
                done.append(ExportedFile(path, part.records, part.size_bytes, footer))
        except OSError as e:
            raise self._place.failed(e) from e
        self._parts = []
        return tuple(sorted(done))

    def _split(self, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        base = topic_folder(self._name.topic)
        if REASON in batch.schema.names:
            base = f"{ERRORS}/{base}"
        column = column_of(self._place.layout)
        is_listed = REASON in batch.schema.names
        if self._place.layout == "topic" or (is_listed and column is not None):
            yield base, batch
            return
        if column is not None:
            for value, piece in divided(column, batch, adds_column=self._place.is_table):
                yield f"{base}/{value}", piece
            return
        for folder, piece in _by_time(batch, self._place.layout):
            yield f"{base}/{folder}", piece

    def _writer(self, folder: str, schema: pa.Schema) -> "_Counted":
        if folder not in self._open:
            if len(self._open) >= MOST_OPEN:
                self._close(next(iter(self._open)))
            number = sum(part.folder == folder for part in self._parts)
            part = _Part(self._place, self._name, folder, number, len(self._parts))
            self._parts.append(part)
            self._open[folder] = _writer(self._place, part.draft, schema, self._name), part
        self._open.move_to_end(folder)
        return _Counted(*self._open[folder])

    def _close(self, folder: str) -> None:
        writer, part = self._open.pop(folder)
        writer.close()
        part.size_bytes = part.draft.stat().st_size


def _newest_ms(batch: pa.RecordBatch) -> int | None:
    times = batch.column("timestamp")
    newest: int | None = pc.max(times.view(pa.int64())).as_py()
    return newest if newest is None or times.type.unit == "ms" else newest // 1000


def _by_time(batch: pa.RecordBatch, layout: str) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield a batch by days or hours. Null timestamps, and years before 1 or after 9999, go to the null directory."""
    times = batch.column("timestamp")
    per_ms = 1 if times.type.unit == "ms" else 1000
    bounds = pc.min_max(times.view(pa.int64()))
    least, largest = bounds["min"].as_py(), bounds["max"].as_py()
    is_named = least is not None and YEAR_1_MS * per_ms <= least and largest < YEAR_10000_MS * per_ms
    if times.null_count or not is_named:
        named = has_named_year(times).fill_null(False)
        yield f"date={NULL}" if layout == "date" else f"date={NULL}/hour={NULL}", batch.filter(pc.invert(named))
        batch = batch.filter(named)
    instants = pc.floor_temporal(batch.column("timestamp"), unit=_UNITS[layout])
    for instant in pc.unique(instants).sort():
        piece = batch if batch.num_rows == pc.sum(mask := pc.equal(instants, instant)).as_py() else batch.filter(mask)
        day = f"date={pc.strftime(instant, format='%Y-%m-%d').as_py()}"
        yield (day if layout == "date" else f"{day}/hour={pc.hour(instant).as_py():02}"), piece


class _Part:
    def __init__(self, place: Files, name: RangeName, folder: str, part: int, number: int) -> None:
        self.folder = folder
        self.path = f"{folder}/{file_name(*name, FORMATS[place.format], part)}"
        stem = file_name(*name, "")
        self.draft = inside(place.round_folder, f"{stem}.{place.attempt}.{number}")
        self.records = 0
        self.size_bytes = 0


class _Counted:
    def __init__(self, writer: _Writer, part: _Part) -> None:
        self._writer = writer
        self._part = part

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write(batch)
        self._part.records += batch.num_rows


def _writer(place: Files, path: Path, schema: pa.Schema, name: RangeName) -> _Writer:
    facts = {"kctl.version": VERSION, "kctl.range": json.dumps(name._asdict())}
    if place.format == "parquet":
        column = column_of(place.layout)
        counted = [*COUNTED_COLUMNS] if column is None else [*{*COUNTED_COLUMNS, name_of(column)} & set(schema.names)]
        return _ParquetFile(path, schema, place.compression_level, facts, counted, place.file_bytes)
    return _JsonFile(path)


class _ParquetFile:
    """Parquet writer with features that all readers support: zstd, plain and dictionary encoding, version 2.6 types.

    Args:
        enough_bytes: file size at which a row group is written immediately. 0 for no limit.
    """

    def __init__(
        self,
        path: Path,
        schema: pa.Schema,
        level: int,
        facts: Mapping[str, str],
        counted: list[str],
        enough_bytes: int,
    ) -> None:
        self._schema = schema.with_metadata({**(schema.metadata or {}), **{k: v.encode() for k, v in facts.items()}})
        self._file: Any = pa.OSFile(str(path), "wb")
        self._writer = pq.ParquetWriter(
            self._file,
            self._schema,
            compression="zstd",
            compression_level=level,
            use_dictionary=DICTIONARY_COLUMNS,
            write_statistics=counted,
        )
        self._held: list[pa.RecordBatch] = []
        self._held_rows = self._held_bytes = 0
        self._enough_bytes = enough_bytes
        self._written_bytes = 0
        """Uncompressed bytes of the written row groups."""

    @property
    def size_bytes(self) -> int:
        written = 0 if self._file.closed else int(self._file.tell())
        if not self._written_bytes:
            return written + self._held_bytes
        return written + self._held_bytes * written // self._written_bytes

    def write(self, batch: pa.RecordBatch) -> None:
        self._held.append(batch)
        self._held_rows += batch.num_rows
        self._held_bytes += batch.nbytes
        is_enough = 0 < self._enough_bytes <= self.size_bytes
        if self._held_rows >= ROW_GROUP_ROWS or self._held_bytes >= ROW_GROUP_BYTES or is_enough:
            self._write_group()

    def close(self) -> None:
        try:
            self._write_group()
            self._writer.close()
        finally:
            self._file.close()

    def _write_group(self) -> None:
        if self._held:
            table = pa.Table.from_batches(self._held)
            self._held.clear()
            self._written_bytes += self._held_bytes
            self._held_rows = self._held_bytes = 0
            self._writer.write_table(
                table.replace_schema_metadata(self._schema.metadata), row_group_size=ROW_GROUP_ROWS
            )


class _JsonFile:
    def __init__(self, path: Path) -> None:
        self._sink: Any = pa.OSFile(str(path), "wb")
        self._file: Any = pa.CompressedOutputStream(self._sink, "zstd")

    @property
    def size_bytes(self) -> int:
        return 0 if self._sink.closed else int(self._sink.tell())

    def write(self, batch: pa.RecordBatch) -> None:
        self._file.write(json_lines(batch))

    def close(self) -> None:
        try:
            self._file.close()
        finally:
            self._sink.close()
