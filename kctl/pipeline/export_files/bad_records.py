"""Bad records: records with a value that the target of an export cannot hold, and the policy for them.

Brokers store 64-bit milliseconds, but Parquet has microseconds, time partitions of Iceberg the years 1 to 9999, and
directory names 255 bytes.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from kctl.pipeline.bad_record_policies import FAIL, NULL
from kctl.pipeline.export_files.column_layout import column_of, too_long
from kctl.pipeline.job_errors import RecordDataError

if TYPE_CHECKING:
    import pyarrow as pa

POLICY: Final = "on_bad_record"
"""Name of the policy in the settings of an export. FAIL is not stored."""
LARGEST_MS = (2**63 - 1) // 1000
_ReasonOf = Callable[[int], str]


class TargetLimits(NamedTuple):
    """Values that a target can hold, and the policy for records with other values.

    Attributes:
        policy: FAIL fails the task, NULL writes the record without the value, SKIP drops the record.
        first_ms, end_ms: half-open range of timestamps.
        is_exact: whether the target has timestamps in milliseconds.
    """

    policy: str = FAIL
    first_ms: int = -LARGEST_MS
    end_ms: int = LARGEST_MS + 1
    is_exact: bool = False
    layout: str = "topic"

    def fit_times(self, batch: "pa.RecordBatch") -> "tuple[pa.RecordBatch, pa.RecordBatch | None]":
        """Return the records as the target holds them, and the bad records with their reasons, or None if there are
        none.

        Raises: RecordDataError: a record is bad, and the policy is FAIL.
        """
        if self.is_exact or "timestamp" not in batch.schema.names:
            return batch, None
        import pyarrow as pa

        times, at = batch.column("timestamp"), batch.schema.get_field_index("timestamp")
        wrong = self._wrong_times(times)
        if wrong is not None:
            times = _without(times, wrong)
        kind = pa.timestamp("us", "UTC")
        whole = batch.set_column(at, pa.field("timestamp", kind), times.cast(kind))
        if wrong is None:
            return whole, None
        return self._divided(whole, whole, wrong, lambda row: _time_reason(batch, row))

    def _wrong_times(self, times: "pa.Array") -> "pa.Array | None":
        import pyarrow as pa
        import pyarrow.compute as pc

        values = times.view(pa.int64())
        bounds = pc.min_max(values)
        least, largest = bounds["min"].as_py(), bounds["max"].as_py()
        if least is None or (self.first_ms <= least and largest < self.end_ms):
            return None
        wrong = pc.or_(pc.less(values, self.first_ms), pc.greater_equal(values, self.end_ms))
        return wrong.fill_null(False)

    def fit_column(
        self, raw: "pa.RecordBatch", batch: "pa.RecordBatch"
    ) -> "tuple[pa.RecordBatch, pa.RecordBatch | None]":
        """Return the records to write, and the records whose partition name is too long, or None if there are none.

        With NULL, bad records are written without a partition value.
        """
        column = column_of(self.layout)
        wrong = None if column is None else too_long(column, batch)
        if wrong is None:
            return batch, None
        import pyarrow.compute as pc

        bytes_of = raw.take(pc.index_in(batch.column("offset"), raw.column("offset")))
        return self._divided(batch, bytes_of, wrong, lambda _row: f"the value of {column} is too long for a path")

    def _divided(
        self, batch: "pa.RecordBatch", raw: "pa.RecordBatch", wrong: "pa.Array", reason_of: _ReasonOf
    ) -> "tuple[pa.RecordBatch, pa.RecordBatch]":
        import pyarrow as pa
        import pyarrow.compute as pc

        from kctl.pipeline.record_columns import REASON

        rows = pc.indices_nonzero(wrong).to_pylist()
        if self.policy == FAIL:
            name, number, offset = (raw.column(each)[rows[0]].as_py() for each in ("topic", "partition", "offset"))
            raise RecordDataError(
                f"cannot write the record {name}-{number} offset {offset}: {reason_of(rows[0])} (--on-bad-record)",
                "continue and list bad records in _errors with: --on-bad-record null or skip",
            )
        listed = raw.filter(wrong).append_column(REASON, pa.array([reason_of(row) for row in rows], pa.string()))
        return batch if self.policy == NULL else batch.filter(pc.invert(wrong)), listed


def _time_reason(batch: "pa.RecordBatch", row: int) -> str:
    import pyarrow as pa

    return f"the target cannot store the timestamp {batch.column('timestamp').view(pa.int64())[row].as_py()} ms"


def _without(times: "pa.Array", wrong: "pa.Array") -> "pa.Array":
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(wrong, pa.scalar(None, times.type), times)
