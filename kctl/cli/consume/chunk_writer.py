"""ChunkWriter: fetched chunks become output, a bounded number of records and bytes at a time,
without an object each.
"""

from kctl.cli.data_out import DataOut
from kctl.cli.formats.output import RecordOutput, Skip
from kctl.client.consumer import FetchedChunk
from kctl.client.records import BatchReader

WRITE_RECORDS = 2000
"""Records that become output at once, at most."""
WRITE_BYTES = 256 * 1024
"""About how many bytes of them are joined: then these still lie in the core's cache when they are written."""
BULK_BYTES = 512 * 1024
"""From here on more is likely to come: memory that is freed is kept for it."""


class ChunkWriter:
    """Writes records until there are enough.

    Args: skip: gets skipped records and batches; None: the first bad record or batch is an error.
    Attributes:
        written: records so far.
        filtered: records left out since one was written.
    """

    def __init__(
        self,
        output: RecordOutput,
        out: DataOut,
        max_records: int,
        skip: Skip | None = None,
    ) -> None:
        self.written = 0
        self.filtered = 0
        self._output = output
        self._out = out
        self._out.write(output.head)
        self._max_records = max_records
        self._skip = skip
        self._read_bytes, self._at_once = 0, WRITE_RECORDS

    @property
    def is_full(self) -> bool:
        """Whether no more records are wanted."""
        return self.written >= self._max_records

    @property
    def filters(self) -> bool:
        """Whether records may be left out."""
        return bool(self._output.conditions)

    def write(self, chunk: FetchedChunk, end: int) -> int:
        """Write the records of a chunk before the offset `end`; return the offset behind the last that was read."""
        reader = chunk.reader(end)
        already = self.written
        while not reader.exhausted and not self.is_full:
            before = self.written
            joined_bytes = self.write_from(reader, chunk, min(self._at_once, self._max_records - before))
            if self.written > before:
                self._at_once = _next_at_once(self.written - before, joined_bytes)
        self.filtered = 0 if self.written > already else self.filtered + reader.filtered_records
        self._count_read(chunk.size_bytes)
        return reader.next_offset

    def _count_read(self, size_bytes: int) -> None:
        self._read_bytes, before = self._read_bytes + size_bytes, self._read_bytes
        if before < BULK_BYTES <= self._read_bytes and not self.is_full:
            from kctl.cli.freed_memory import keep_freed_memory  # a few records do without

            keep_freed_memory()

    def write_from(self, reader: BatchReader, chunk: FetchedChunk, max_records: int) -> int:
        """Write the next records of a reader, at most that many; return how many bytes were joined for that."""
        reader.count = already = self.written  # so that %i continues counting
        joined_bytes = 0
        for piece in self._output.read(reader, chunk, max_records, self._skip):
            if isinstance(piece, bytes):
                joined_bytes += len(piece)
                self._out.write(piece)
            else:
                self._out.write_places(piece)
        self.written = max(already, reader.count)
        return joined_bytes

    def flush(self) -> None:
        """Write whatever has gathered; raises as `DataOut.flush`."""
        self._out.flush()

    def check_reader(self) -> None:
        """Notice that the reader of the output has left; raises as `DataOut.check_reader`."""
        self._out.check_reader()


def _next_at_once(records: int, joined_bytes: int) -> int:
    """Return how many records to turn into output next, by the number of bytes that were joined for the last ones."""
    if not joined_bytes:
        return WRITE_RECORDS
    return max(1, min(WRITE_RECORDS, WRITE_BYTES * records // joined_bytes))
