"""Translation of a consumer group's offset into the mirror of a topic. Executes on a worker.

A mirror has equal records in equal order, but other offsets. Both logs are equal up to the last mirrored record. So the
task counts the records after the committed offset in the source, and goes back as many records from the target's end.
The records at both offsets must be equal.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kctl.pipeline import isolation
from kctl.pipeline.fingerprints import COLUMNS, Compared, fingerprints
from kctl.pipeline.isolation import ReadingProperties
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.references import resolve
from kctl.pipeline.task_rounds import Attempt

if TYPE_CHECKING:
    import pyarrow as pa

    from kctl.pipeline.export_files.manifests import ExportedRange
    from kctl.pipeline.locations import StoreUrl

_COMPARED = Compared(timestamps=False)  # the target's broker may set timestamps
_MARGIN_OFFSETS = 1_000
"""Additional offsets to read, because some offsets are markers."""


class TranslationTask(NamedTuple):
    """Input of a task, with secrets as references.

    Attributes:
        source: range from the first offset of the topic to the last mirrored record.
        target: range from the first offset of the target partition to the copy of the last mirrored record.
        offsets: committed offsets of groups in the source.
        exported: ranges of the source in an export. Empty for a topic.
    """

    source: OffsetRange
    target: OffsetRange
    offsets: tuple[int, ...]
    properties: dict[str, object]
    target_properties: dict[str, object]
    exported: "tuple[ExportedRange, ...]" = ()
    folder: "Path | StoreUrl | None" = None

    def source_from(self, offset: int, columns: Sequence[str]) -> "Iterator[pa.RecordBatch]":
        start = max(self.source.start_offset, offset)
        if self.folder is None:
            return read_side(
                isolation.of_source(resolve(self.properties)), self.source._replace(start_offset=start), columns
            )
        return exported_from(self.folder, self.exported, start, self.target_properties)

    def target_from(self, offset: int, columns: Sequence[str]) -> "Iterator[pa.RecordBatch]":
        start = max(self.target.start_offset, offset)
        return read_side(
            isolation.of_target(resolve(self.target_properties)), self.target._replace(start_offset=start), columns
        )


class Translated(NamedTuple):
    """An offset of the source in the target. If there is no translation, target_offset is None and `problem` has the
    reason.
    """

    offset: int
    target_offset: int | None
    problem: str = ""


def translate_offsets(task: TranslationTask, _attempt: Attempt) -> list[Translated]:
    asked = sorted(set(task.offsets))
    reachable = [offset for offset in asked if offset <= task.source.end_offset]
    ahead = [Translated(offset, None, _why_not_reachable(task, offset)) for offset in asked[len(reachable) :]]
    if not reachable:
        return ahead
    following = _following(task, reachable)
    places = _places(task, max(following.values()))
    return [_translated(task, places, offset, following[offset]) for offset in reachable] + ahead


def _why_not_reachable(task: TranslationTask, offset: int) -> str:
    if task.folder is not None:
        return f"the records before offset {offset} are not exported yet"
    if offset > task.source.log_end:
        return f"offset {offset} is after the log end of the source ({task.source.log_end})"
    return f"the records before offset {offset} are not mirrored yet"


def _translated(task: TranslationTask, places: "Runs", offset: int, following: int) -> Translated:
    if not following:
        return Translated(offset, task.target.end_offset)
    if following > places.count:
        text = f"the source has {following} records from offset {offset} on, but the target has only {places.count}"
        return Translated(offset, None, text)
    found = places.offset_of(places.count - following)
    ours = _first_fingerprint(task.source_from(offset, COLUMNS))
    if ours != _first_fingerprint(task.target_from(found, COLUMNS)):
        text = (
            f"the record at offset {offset} of the source differs from the record at offset {found} of the target. "
            f"The source was compacted, or another program writes to the target"
        )
        return Translated(offset, None, text)
    return Translated(offset, found)


def _following(task: TranslationTask, offsets: Sequence[int]) -> dict[int, int]:
    runs = Runs.of(task.source_from(offsets[0], ("offset",)))
    return {offset: runs.count - runs.before(offset) for offset in offsets}


def _places(task: TranslationTask, wanted: int) -> "Runs":
    size = wanted + wanted // 1000 + _MARGIN_OFFSETS
    while True:
        start = max(task.target.start_offset, task.target.end_offset - size)
        runs = Runs.of(task.target_from(start, ("offset",)))
        if runs.count >= wanted or start == task.target.start_offset:
            return runs
        size *= 2


def _first_fingerprint(batches: "Iterator[pa.RecordBatch]") -> int | None:
    for batch in batches:
        for _, fingerprint in fingerprints(batch.slice(0, 1), _COMPARED):
            return fingerprint
    return None


def exported_from(
    folder: "Path | StoreUrl", exported: "Sequence[ExportedRange]", start: int, properties: Mapping[str, object]
) -> "Iterator[pa.RecordBatch]":
    import pyarrow.compute as pc

    from kctl.pipeline.export_files.exported_records import read_exported

    for each in exported:
        if each.end > start:
            for batch in read_exported(folder, each, properties):
                kept = batch.filter(pc.greater_equal(batch.column("offset"), start))
                if kept.num_rows:
                    yield kept


def read_side(reading: ReadingProperties, side: OffsetRange, columns: Sequence[str]) -> "Iterator[pa.RecordBatch]":
    from kctl.pipeline.range_reader import read_range

    yield from read_range(reading, side, columns, is_exact=True)


class Runs:
    """Increasing offsets, stored as intervals without gaps."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._counts_before: list[int] = []
        self._next = -1
        self.count = 0

    @classmethod
    def of(cls, batches: "Iterable[pa.RecordBatch]") -> "Runs":
        runs = cls()
        for batch in batches:
            offsets = batch.column("offset")
            first, last = offsets[0].as_py(), offsets[-1].as_py()
            if last - first + 1 == len(offsets):
                runs.add(first, len(offsets))
            else:
                for offset in offsets.to_pylist():
                    runs.add(offset, 1)
        return runs

    def add(self, first: int, count: int) -> None:
        if first != self._next:
            self._firsts.append(first)
            self._counts_before.append(self.count)
        self.count += count
        self._next = first + count

    def before(self, offset: int) -> int:
        at = bisect_right(self._firsts, offset) - 1
        if at < 0:
            return 0
        end = self._counts_before[at + 1] if at + 1 < len(self._firsts) else self.count
        return min(end, self._counts_before[at] + offset - self._firsts[at])

    def offset_of(self, index: int) -> int:
        at = bisect_right(self._counts_before, index) - 1
        return self._firsts[at] + index - self._counts_before[at]
