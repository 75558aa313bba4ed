"""A task of `export` and `sync`: ranges read and written, each into files of its own; runs on a worker.

Shown by tests/pipeline/test_many_partitions.py, and as of `export`.
"""

from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from kctl.pipeline import isolation
from kctl.pipeline.export_files.manifests import ExportedRange
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.references import resolve
from kctl.pipeline.running import Attempt
from kctl.pipeline.targets import RoundPlace

if TYPE_CHECKING:
    from kctl.pipeline.decoding.plan import DecodePlan
    from kctl.pipeline.decoding.record_decoding import DecodedTypes, RecordDecoding


class ExportTask(NamedTuple):
    """What a task is given; the secrets in it are references."""

    ranges: tuple[OffsetRange, ...]
    place: RoundPlace
    allow_loss: bool
    properties: dict[str, object]
    decoding: "Mapping[str, DecodePlan]"
    types: "DecodedTypes | None" = None


def _decode_of(task: ExportTask, topic: str) -> "RecordDecoding | None":
    from kctl.pipeline.record_columns import COLUMN_NAMES

    if topic not in task.decoding:
        return None
    from kctl.pipeline.decoding.record_decoding import task_decoding

    return task_decoding(task.decoding[topic], COLUMN_NAMES, task.types)


def export_ranges(task: ExportTask, attempt: Attempt) -> Iterator[ExportedRange]:
    """Write ranges and yield each; runs on a worker, whose tasks have one consumer after the other."""
    from kctl.pipeline.client_pool import TASK_CONSUMERS
    from kctl.pipeline.export_files.range_files import RangeName
    from kctl.pipeline.range_reader import read_ranges
    from kctl.pipeline.record_columns import COLUMN_NAMES

    found = read_ranges(
        isolation.of_source(resolve(task.properties)),
        task.ranges,
        COLUMN_NAMES,
        fail_on_data_loss=not task.allow_loss,
        pool=TASK_CONSUMERS,
    )
    decode_of = cache(partial(_decode_of, task))  # of a topic; small ranges are many
    for offsets, batches in found:
        name = RangeName(offsets.topic, offsets.partition, offsets.start_offset, offsets.end_offset)
        decode = decode_of(offsets.topic)
        with task.place.open(name, attempt.task_id) as files:
            for batch in batches:
                for part in (batch,) if decode is None else decode.split(batch):
                    if part is not None and part.num_rows:
                        files.write(part)
            written = files.finish()
            yield ExportedRange(*name, files.records, written, offsets.topic_id, offsets.log_end)
