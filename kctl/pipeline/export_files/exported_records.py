"""Reading of an exported range in offset order."""

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kctl.client.config import open_regular
from kctl.pipeline.export_files.folder import ERRORS, FORMATS, inside, placed
from kctl.pipeline.export_files.json_lines import limited_lines, read_json_lines
from kctl.pipeline.export_files.manifests import ExportedFile, ExportedRange
from kctl.pipeline.export_files.range_files import DICTIONARY_COLUMNS
from kctl.pipeline.job_errors import ExportDataError, folder_error
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.record_columns import TYPES

BATCH_ROWS = 16_384
MOST_GROUP_BYTES = 1 << 30
"""Maximum size of a row group. Larger than the writer's limit, which the last batch may exceed."""
_FOOTER_LIMITS = {"thrift_string_size_limit": 16 << 20, "thrift_container_size_limit": 100_000}
"""Limits of strings and lists in the footer of a file."""
COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
"""Columns of every file of an export."""


def read_exported(
    folder: Path | StoreUrl, exported: ExportedRange, properties: Mapping[str, object]
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a range, merged from its files, without bad records.

    Raises:
        ExportDataError: a file is damaged or differs from its manifest.
    """
    files = [file for file in exported.files if not file.path.startswith(f"{ERRORS}/")]
    wanted = exported.records if len(files) == len(exported.files) else sum(file.records for file in files)
    found = 0
    try:
        for batch in _merged([_batches(folder, exported, file, properties) for file in files]):
            found += batch.num_rows
            yield batch
    except OSError as e:
        raise folder_error(folder, e) from e
    except pa.ArrowException as e:
        raise ExportDataError(f"{folder} has a damaged file for {_name(exported)}: {e}") from e
    if found != wanted:
        raise _miscounted(f"{folder}: {_name(exported)}", found, wanted)


def _miscounted(what: str, found: int, wanted: int) -> ExportDataError:
    return ExportDataError(f"{what} has {found} records, but its manifest lists {wanted}")


def _name(exported: ExportedRange) -> str:
    return f"{exported.topic}-{exported.partition} [{exported.start}, {exported.end})"


def _batches(
    folder: Path | StoreUrl, exported: ExportedRange, file: ExportedFile, properties: Mapping[str, object]
) -> Iterator[pa.RecordBatch]:
    path = f"{folder}/{file.path}"
    with _opened(folder, file, properties) as (size_bytes, opened):
        if size_bytes != file.size_bytes:
            raise ExportDataError(f"{path} has {size_bytes} bytes, but its manifest lists {file.size_bytes}")
        if file.path.endswith(FORMATS["parquet"]):
            with pq.ParquetFile(opened, **_FOOTER_LIMITS) as parquet:
                _check_types(parquet.schema_arrow, path)
                _check_sizes(parquet.metadata, path)
                if parquet.metadata.num_rows != file.records:
                    raise _miscounted(path, parquet.metadata.num_rows, file.records)
                for batch in parquet.iter_batches(batch_size=BATCH_ROWS):
                    _check_places(batch, exported, path)
                    yield batch
        else:
            with pa.input_stream(opened, compression="zstd") as stream:
                for batch in read_json_lines(limited_lines(io.BufferedReader(stream), path), path):
                    _check_places(batch, exported, path)
                    yield batch


def _check_types(schema: pa.Schema, path: str) -> None:
    for name in COLUMNS:
        if schema.get_field_index(name) < 0:
            raise ExportDataError(f"{path} has no column {name}")
        found = schema.field(name).type
        if found != TYPES[name] and not (name == "timestamp" and pa.types.is_timestamp(found)):
            raise ExportDataError(f"{path}: column {name} has type {found}, expected {TYPES[name]}")


def _check_sizes(footer: pq.FileMetaData, path: str) -> None:
    """Raise ExportDataError if the footer announces more memory than kctl's own files need.

    Dictionaries are rejected, because a value that is once in the dictionary can be in every row.
    """
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        sizes = [(group.column(at).path_in_schema, group.column(at)) for at in range(group.num_columns)]
        for name, column in sizes:
            has_dictionary = column.has_dictionary_page or any("DICTIONARY" in each for each in column.encodings)
            if has_dictionary and name not in DICTIONARY_COLUMNS:
                raise ExportDataError(f"{path} was not written by kctl: its column {name} has a dictionary")
        if (found := sum(column.total_uncompressed_size for _, column in sizes)) > MOST_GROUP_BYTES:
            raise ExportDataError(
                f"{path} has a row group of {found} bytes, which is over the limit of {MOST_GROUP_BYTES} bytes"
            )


def _check_places(batch: pa.RecordBatch, exported: ExportedRange, path: str) -> None:
    for name, first, last in (
        ("topic", exported.topic, exported.topic),
        ("partition", exported.partition, exported.partition),
        ("offset", exported.start, exported.end - 1),
    ):
        column = batch.column(name)
        least, most = pc.min_max(column).values()
        if column.null_count or (batch.num_rows and not first <= least.as_py() <= most.as_py() <= last):
            raise ExportDataError(
                f"{path} has records with {name} {least} to {most}, which do not belong to {_name(exported)}"
            )


@contextmanager
def _opened(folder: Path | StoreUrl, file: ExportedFile, properties: Mapping[str, object]) -> Iterator[tuple[int, Any]]:
    if isinstance(folder, Path):
        with open_regular(placed(inside(folder, file.path))) as regular:
            yield os.fstat(regular.fileno()).st_size, regular
        return
    from kctl.pipeline.object_store.object_export import find_object
    from kctl.pipeline.object_store.store import ObjectStore, StoreTimeouts

    store = ObjectStore(folder, StoreTimeouts.of(properties))
    found = find_object(store, file.path)
    with store.open(found.key, found.size_bytes) as opened:
        yield found.size_bytes, opened


class _Head:
    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self.batch = next(batches, None)

    @property
    def offset(self) -> int:
        assert self.batch is not None
        offset: int = self.batch.column("offset")[0].as_py()
        return offset

    def pop_below(self, limit: int | None) -> pa.RecordBatch:
        batch = self.batch
        assert batch is not None
        count = batch.num_rows
        if limit is not None:
            count = pc.sum(pc.less(batch.column("offset"), limit)).as_py()
        self.batch = batch.slice(count) if count < batch.num_rows else next(self._batches, None)
        return batch.slice(0, count)


def _merged(files: Sequence[Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    heads = [head for head in map(_Head, files) if head.batch is not None]
    while heads:
        heads.sort(key=lambda head: head.offset)
        taken = heads[0].pop_below(heads[1].offset if len(heads) > 1 else None)
        if taken.num_rows == 0:
            raise ExportDataError("two files of a range have records with the same offset")
        yield taken
        heads = [head for head in heads if head.batch is not None]
