"""The records of an exported range, read back from its files in the order of their offsets.

Runs in tasks; knows neither Spark nor Kafka.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kctl.pipeline.export_files.folder import ERRORS, FORMATS, inside, placed
from kctl.pipeline.export_files.json_lines import read_json_lines
from kctl.pipeline.export_files.manifests import ExportedFile, ExportedRange
from kctl.pipeline.job_errors import ExportDataError, folder_error
from kctl.pipeline.locations import StoreUrl

BATCH_ROWS = 16_384


def read_exported(
    folder: Path | StoreUrl, exported: ExportedRange, properties: Mapping[str, object]
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a range, whose layout may have spread them over several files; bad records are left out.

    Args: folder: of the export, or its prefix in an object store. properties: Kafka properties, for their timeouts.
    Raises: ExportDataError: a file is damaged, or has not the records that its manifest says.
        FolderError: a file cannot be read. StoreError.
    """
    files = [file for file in exported.files if not file.path.startswith(f"{ERRORS}/")]
    wanted = exported.records if len(files) == len(exported.files) else sum(file.records for file in files)
    found = 0
    try:
        for batch in _merged([_batches(folder, file, properties) for file in files]):
            found += batch.num_rows
            yield batch
    except OSError as e:
        raise folder_error(folder, e) from e
    except pa.ArrowException as e:
        raise ExportDataError(f"{folder}: a file of {_name(exported)} is damaged: {e}") from e
    if found != wanted:
        raise ExportDataError(f"{folder}: {_name(exported)} has {found} records, but its manifest has {wanted}")


def _name(exported: ExportedRange) -> str:
    return f"{exported.topic}-{exported.partition} [{exported.start}, {exported.end})"


def _batches(folder: Path | StoreUrl, file: ExportedFile, properties: Mapping[str, object]) -> Iterator[pa.RecordBatch]:
    with _opened(folder, file, properties) as (size_bytes, opened):
        if size_bytes != file.size_bytes:
            raise ExportDataError(
                f"{folder}/{file.path} has {size_bytes} bytes, but its manifest has {file.size_bytes}"
            )
        if file.path.endswith(FORMATS["parquet"]):
            with pq.ParquetFile(opened) as parquet:
                yield from parquet.iter_batches(batch_size=BATCH_ROWS)
        else:
            with pa.input_stream(opened, compression="zstd") as stream:
                yield from read_json_lines(io.BufferedReader(stream), f"{folder}/{file.path}")


@contextmanager
def _opened(folder: Path | StoreUrl, file: ExportedFile, properties: Mapping[str, object]) -> Iterator[tuple[int, Any]]:
    """Yield the size of a file, and what pyarrow reads it from."""
    if isinstance(folder, Path):
        path = placed(inside(folder, file.path))
        yield path.stat().st_size, str(path)
        return
    from kctl.pipeline.object_store.object_export import find_object
    from kctl.pipeline.object_store.store import ObjectStore, StoreTimeouts

    store = ObjectStore(folder, StoreTimeouts.of(properties))
    found = find_object(store, file.path)
    with store.open(found.key, found.size_bytes) as opened:
        yield found.size_bytes, opened


class _Head:
    """Where the reading of one file is."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self.batch = next(batches, None)

    @property
    def offset(self) -> int:
        assert self.batch is not None
        offset: int = self.batch.column("offset")[0].as_py()
        return offset

    def pop_below(self, limit: int | None) -> pa.RecordBatch:
        """Take what is before an offset."""
        batch = self.batch
        assert batch is not None
        count = batch.num_rows
        if limit is not None:
            count = pc.sum(pc.less(batch.column("offset"), limit)).as_py()
        self.batch = batch.slice(count) if count < batch.num_rows else next(self._batches, None)
        return batch.slice(0, count)


def _merged(files: Sequence[Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of files, each in offset order, in the order of all."""
    heads = [head for head in map(_Head, files) if head.batch is not None]
    while heads:
        heads.sort(key=lambda head: head.offset)
        taken = heads[0].pop_below(heads[1].offset if len(heads) > 1 else None)
        if taken.num_rows == 0:
            raise ExportDataError("an offset is in two files of a range")
        yield taken
        heads = [head for head in heads if head.batch is not None]
