"""RecordOutput: everything about what `kctl consume` writes; made once, asked for a plan with each chunk.

Owns the difference between what is the same for all records and what a fetch tells (the ends of the partition).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from kctl.cli.formats.numbers import ascii_number
from kctl.client.consumer import FetchedChunk
from kctl.client.errors import CorruptBatchError
from kctl.client.records import BatchReader, Condition, OutputField, OutputPlan, ValuePlaces


class ChunkField(NamedTuple):
    """A number that a fetch tells of the whole partition: the name of an attribute of `FetchedChunk`, and its form."""

    name: str
    convert: Callable[[int], bytes] = ascii_number


Part = bytes | OutputField | ChunkField
Skip = Callable[[CorruptBatchError, int], None]
"""Gets the error of a record or batch that is skipped, and the offset to continue at."""


class RecordOutput:
    """How records become bytes.

    Args:
        parts: what to write for each record.
        head: what to write once, before the first.
        null: what a null key or value is written as, where its field does not say.
        conditions: only records for which all of them hold are written.
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
        """Return the output of the next records of a chunk, at most `limit` of them.

        Args: skip: gets skipped records and batches; None: the first bad record or batch is an error.
        Raises: as BatchReader.output.
        """
        try:
            return reader.pieces(self.plan_for(chunk), limit)
        except CorruptBatchError as error:
            if skip is None or not self.is_of_record(error):
                raise
            skip(error, reader.skip(error))
            return []

    def is_of_record(self, error: CorruptBatchError) -> bool:  # noqa: ARG002 - for subclasses
        """Return whether an error is about one record or batch, so that other records may be read without it."""
        return True

    def end(self) -> list[str]:
        """Return what is to be noted of the records when all are written."""
        return []

    def plan_for(self, chunk: FetchedChunk) -> OutputPlan:
        """Return the plan to run over the chunk: always the same one, unless something of the chunk is in it."""
        if self._plan is not None:
            return self._plan
        return self._make_plan(
            part.convert(getattr(chunk, part.name)) if isinstance(part, ChunkField) else part for part in self._parts
        )

    def _make_plan(self, parts: Iterable[bytes | OutputField]) -> OutputPlan:
        return OutputPlan(list(_joined(parts)), self._null, self.conditions)


def _joined(parts: Iterable[bytes | OutputField]) -> Iterator[bytes | OutputField]:
    """Yield the parts with neighbouring bytes as one, so that a value and what follows it are seen as just that."""
    for is_literal, run in groupby(parts, lambda part: isinstance(part, bytes)):
        if is_literal:
            yield b"".join(part for part in run if isinstance(part, bytes))
        else:
            yield from run
