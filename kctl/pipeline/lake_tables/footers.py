"""Footers of the files that a commit adds to an Iceberg table. The tasks that wrote the files send the footers.

Otherwise pyiceberg would read them from the storage, with several requests for each file and commit.
"""

import io
from collections.abc import Mapping

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile

from kctl.pipeline.export_files.manifests import ExportedFile
from kctl.pipeline.lake_tables.table_files import MAGIC


class FootersAtHand(FileIO):
    """Storage of a table that serves the footers of some files from memory.

    Args:
        files: files by location. A file without a footer is read from the storage.
    """

    def __init__(self, storage: FileIO, files: Mapping[str, ExportedFile]) -> None:
        super().__init__(storage.properties)
        self._storage = storage
        self._files = files

    def new_input(self, location: str) -> InputFile:
        file = self._files.get(location)
        return _Footer(location, file) if file is not None and file.footer else self._storage.new_input(location)

    def new_output(self, location: str) -> OutputFile:
        return self._storage.new_output(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        self._storage.delete(location)


class _Footer(InputFile):
    """Footer that pyarrow reads as a whole Parquet file."""

    def __init__(self, location: str, file: ExportedFile) -> None:
        super().__init__(location)
        self._file = file

    def __len__(self) -> int:
        return self._file.size_bytes

    def exists(self) -> bool:
        return True

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002 - of pyiceberg
        return io.BytesIO(MAGIC + self._file.footer)
