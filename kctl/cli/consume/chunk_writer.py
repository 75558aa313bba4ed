"""ChunkWriter: output of fetched chunks, without creating an object for each record."""

from kctl.cli.data_out import DataOut
from kctl.cli.formats.output import RecordOutput, Skip
from kctl.client.consumer import FetchedChunk
from kctl.client.records import BatchReader

WRITE_RECORDS = 2000
"""Maximum records per write."""
WRITE_BYTES = 256 * 1024
"""Approximate bytes to join per write, which stay in the core's cache."""
BULK_BYTES = 512 * 1024
"""Chunk size above which freed memory is kept for later chunks."""


class ChunkWriter:
    """Writer of records, up to a maximum number.

    Args: skip: receives skipped records and batches; if None, the first bad record raises.
    Attributes: filtered: number of excluded records since the last written record.
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
        return self.written >= self._max_records

    @property
    def filters(self) -> bool:
        return bool(self._output.conditions)

    def write(self, chunk: FetchedChunk, end: int) -> int:
        """Write the records of a chunk before the offset `end`. Return the next offset to read."""
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
        """Write at most `max_records` of a reader. Return the number of bytes that were copied."""
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
        self._out.flush()

    def check_reader(self) -> None:
        self._out.check_reader()


def _next_at_once(records: int, joined_bytes: int) -> int:
    if not joined_bytes:
        return WRITE_RECORDS
    return max(1, min(WRITE_RECORDS, WRITE_BYTES * records // joined_bytes))
