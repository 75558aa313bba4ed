"""Task of `export` and `sync`: reads ranges and writes each into separate files.

Threads sync or upload the files of finished ranges while further ranges are read.
"""

from collections import deque
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from kctl.pipeline import isolation
from kctl.pipeline.bad_record_policies import NULL
from kctl.pipeline.export_files.bad_records import TargetLimits
from kctl.pipeline.export_files.manifests import ExportedRange
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.references import resolve
from kctl.pipeline.targets import RangeWriter, RoundPlace
from kctl.pipeline.task_rounds import Attempt

if TYPE_CHECKING:
    import pyarrow as pa

    from kctl.pipeline.decoding.plan import DecodePlan
    from kctl.pipeline.decoding.record_decoding import DecodedTypes, RecordDecoding

FINISHED_AT_ONCE = 8
"""Maximum number of ranges whose files are synced or uploaded in parallel."""


class ExportTask(NamedTuple):
    ranges: tuple[OffsetRange, ...]
    place: RoundPlace
    allow_loss: bool
    properties: dict[str, object]
    decoding: "Mapping[str, DecodePlan]"
    types: "Mapping[str, DecodedTypes] | None" = None
    limits: TargetLimits = TargetLimits()


def _decode_of(task: ExportTask, topic: str) -> "RecordDecoding | None":
    from kctl.pipeline.record_columns import COLUMN_NAMES

    if topic not in task.decoding:
        return None
    from kctl.pipeline.decoding.record_decoding import task_decoding

    return task_decoding(task.decoding[topic], COLUMN_NAMES, (task.types or {}).get(topic))


def export_ranges(task: ExportTask, attempt: Attempt) -> Generator[ExportedRange]:
    """Write each range into files and yield the result. Executes on a worker, whose tasks reuse one consumer."""
    from kctl.pipeline.client_pool import TASK_CONSUMERS
    from kctl.pipeline.export_files.range_files import RangeName
    from kctl.pipeline.range_reader import read_ranges
    from kctl.pipeline.record_columns import COLUMN_NAMES

    found = read_ranges(
        isolation.of_source(resolve(task.properties)),
        task.ranges,
        COLUMN_NAMES,
        fail_on_data_loss=not task.allow_loss,
        is_exact=True,
        pool=TASK_CONSUMERS,
    )
    decode_of = cache(partial(_decode_of, task))  # once for each topic, because ranges may be small and many
    # The pool waits for its threads even after an error.
    with closing(found), ThreadPoolExecutor(FINISHED_AT_ONCE) as pool:
        finishing = _Finishing(pool)
        try:
            for offsets, batches in found:
                name = RangeName(offsets.topic, offsets.partition, offsets.start_offset, offsets.end_offset)
                decode = decode_of(offsets.topic)
                with ExitStack() as stack:
                    files = stack.enter_context(task.place.open(name, attempt.task_id))
                    for batch in batches:
                        _write(files, batch, task.limits, decode)
                    files.close()
                    stack.pop_all()  # a thread closes them
                yield from finishing.add(offsets, files)
        except Exception:
            yield from finishing.rest()
            raise
        yield from finishing.rest()


def _write(files: RangeWriter, batch: "pa.RecordBatch", limits: TargetLimits, decode: "RecordDecoding | None") -> None:
    raw, bad_times = limits.fit_times(batch)
    decoded, broken = (raw, None) if decode is None else decode.split(raw)
    good, bad_names = limits.fit_column(raw, decoded)
    for part in (good, broken):
        if part is not None and part.num_rows:
            files.write(part)
    for part in (bad_times, bad_names):
        if part is not None:
            files.write(part, is_copy=limits.policy == NULL)


class _Finishing:
    """Ranges that threads finish, yielded in order up to the first failure."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._under_way: deque[Future[ExportedRange]] = deque()

    def add(self, offsets: OffsetRange, files: RangeWriter) -> Iterator[ExportedRange]:
        """Start finishing a range, and yield finished ranges. Wait if too many are unfinished."""
        self._under_way.append(self._pool.submit(_finished, offsets, files))
        while self._under_way and (self._under_way[0].done() or len(self._under_way) > FINISHED_AT_ONCE):
            yield self._next()

    def rest(self) -> Iterator[ExportedRange]:
        while self._under_way:
            yield self._next()

    def _next(self) -> ExportedRange:
        try:
            return self._under_way.popleft().result()
        except BaseException:
            self._under_way.clear()
            raise


def _finished(offsets: OffsetRange, files: RangeWriter) -> ExportedRange:
    with files:
        written = files.finish()
        bounds = offsets.topic, offsets.partition, offsets.start_offset, offsets.end_offset
        return ExportedRange(*bounds, files.records, written, offsets.topic_id, offsets.log_end, files.newest_ms)
