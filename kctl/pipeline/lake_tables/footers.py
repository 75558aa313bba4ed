"""Footers of the files that a commit adds to an Iceberg table, from the tasks that wrote them.

pyiceberg takes counts, bounds and partition of each file from its footer, which it reads from the table's storage: some
requests a file, at each commit. The tasks have the footers on their disks and send them along, and FootersAtHand is the
table's storage but for these.
"""

import io
from collections.abc import Mapping

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile

from kctl.pipeline.export_files.manifests import ExportedFile
from kctl.pipeline.lake_tables.table_files import MAGIC


class FootersAtHand(FileIO):
    """A table's storage, in which some files have their footers alone.

    Args: files: by location; one without a footer is read from the storage.
    """

    def __init__(self, storage: FileIO, files: Mapping[str, ExportedFile]) -> None:
        super().__init__(storage.properties)
        self._storage = storage
        self._files = files

    def new_input(self, location: str) -> InputFile:
        """Return a file to read."""
        file = self._files.get(location)
        return _Footer(location, file) if file is not None and file.footer else self._storage.new_input(location)

    def new_output(self, location: str) -> OutputFile:
        """Return a file to write."""
        return self._storage.new_output(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Delete a file."""
        self._storage.delete(location)


class _Footer(InputFile):
    """A file of whose content there is the footer: to a reader of metadata, a Parquet file without data."""

    def __init__(self, location: str, file: ExportedFile) -> None:
        super().__init__(location)
        self._file = file

    def __len__(self) -> int:
        return self._file.size_bytes

    def exists(self) -> bool:
        return True

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002 - of pyiceberg
        return io.BytesIO(MAGIC + self._file.footer)
