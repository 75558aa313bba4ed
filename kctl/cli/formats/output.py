"""Record output of `kctl consume`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from kctl.cli.formats.numbers import ascii_number
from kctl.client.consumer import FetchedChunk
from kctl.client.errors import CorruptBatchError
from kctl.client.records import BatchReader, Condition, OutputField, OutputPlan, ValuePlaces


class ChunkField(NamedTuple):
    """Attribute of `FetchedChunk` to print, and the function that formats it."""

    name: str
    convert: Callable[[int], bytes] = ascii_number


Part = bytes | OutputField | ChunkField
Skip = Callable[[CorruptBatchError, int], None]
"""Function that receives the error of a skipped record or batch, and the next offset."""


class RecordOutput:
    """Conversion of records to bytes.

    Args:
        head: output before the first record.
        null: output for a null key or value.
        conditions: filters of records.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        *,
        head: bytes = b"",
        null: bytes = b"",
        conditions: Sequence[Condition] = (),
    ) -> None:
        self.head = head
        self._parts = list(parts)
        self._null = null
        self.conditions = conditions
        fixed = [part for part in parts if not isinstance(part, ChunkField)]
        self._plan = self._make_plan(fixed) if len(fixed) == len(parts) else None

    def read(
        self, reader: BatchReader, chunk: FetchedChunk, limit: int, skip: Skip | None = None
    ) -> Iterable[bytes | ValuePlaces]:
        """Return the output of the next records of a chunk, at most `limit`.

        Args: skip: receives a record or batch that cannot be read; if None, CorruptBatchError is raised.
        Raises: see `BatchReader.pieces`.
        """
        try:
            return reader.pieces(self.plan_for(chunk), limit)
        except CorruptBatchError as error:
            if skip is None or not self.is_of_record(error):
                raise
            skip(error, reader.skip(error))
            return []

    def is_of_record(self, error: CorruptBatchError) -> bool:  # noqa: ARG002 - for subclasses
        """Return whether the bad data is one record or batch, which can be skipped."""
        return True

    def end(self) -> list[str]:
        """Return notes about all written records."""
        return []

    def plan_for(self, chunk: FetchedChunk) -> OutputPlan:
        """Return the plan for a chunk. All chunks share one plan unless the output contains fields of the chunk."""
        if self._plan is not None:
            return self._plan
        return self._make_plan(
            part.convert(getattr(chunk, part.name)) if isinstance(part, ChunkField) else part for part in self._parts
        )

    def _make_plan(self, parts: Iterable[bytes | OutputField]) -> OutputPlan:
        return OutputPlan(list(_joined(parts)), self._null, self.conditions)


def _joined(parts: Iterable[bytes | OutputField]) -> Iterator[bytes | OutputField]:
    """Join adjacent literals."""
    for is_literal, run in groupby(parts, lambda part: isinstance(part, bytes)):
        if is_literal:
            yield b"".join(part for part in run if isinstance(part, bytes))
        else:
            yield from run
