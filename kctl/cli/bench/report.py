"""The figures of a `kctl bench`, as a list for people or as a row."""

from collections.abc import Iterator
from typing import NamedTuple

from kctl.cli.bench.command import Kind
from kctl.cli.bench.latencies import LatencyHistogram
from kctl.cli.formats.rows import Row

PERCENTS = (50, 95, 99, 99.9)
MEANINGS = {
    Kind.PRODUCE: "from send() to the acknowledgement",
    Kind.CONSUME: "of a poll that returned records",
    Kind.END_TO_END: "from send() to the consumer",
}


class Figures(NamedTuple):
    """What was measured.

    Attributes:
        size_bytes: of keys and values, uncompressed.
        elapsed_us: from the first to the last record.
        failed: records that were not delivered.
    """

    kind: Kind
    topic: str
    records: int
    size_bytes: int
    elapsed_us: int
    failed: int
    latencies: LatencyHistogram

    @property
    def records_per_second(self) -> float:
        return self.records * 1_000_000 / self.elapsed_us if self.elapsed_us else 0.0

    @property
    def megabytes_per_second(self) -> float:
        return self.size_bytes / self.elapsed_us if self.elapsed_us else 0.0

    def latencies_ms(self) -> dict[str, float | None]:
        """Return the percentiles by name, and the longest."""
        found = {f"p{percent}": self.latencies.percentile_us(percent) for percent in PERCENTS}
        found["max"] = self.latencies.longest_us if self.latencies.count else None
        return {name: None if us is None else us / 1000 for name, us in found.items()}


def as_lines(figures: Figures) -> Iterator[str]:
    """Yield a line a figure; narrow enough for 40 columns."""
    yield f"records     {figures.records}"
    if figures.failed:
        yield f"failed      {figures.failed}"
    yield f"bytes       {figures.size_bytes}"
    yield f"time        {figures.elapsed_us / 1_000_000:.3f} s"
    yield f"records/s   {figures.records_per_second:.1f}"
    yield f"MB/s        {figures.megabytes_per_second:.3f}"
    yield "latency"
    yield f"  {MEANINGS[figures.kind]}"
    for name, latency_ms in figures.latencies_ms().items():
        yield f"  {name:<9} {'-' if latency_ms is None else f'{latency_ms:.3f} ms'}"


def as_row(figures: Figures) -> Row:
    """Return the figures as one row."""
    return {
        "test": figures.kind.value,
        "topic": figures.topic,
        "records": figures.records,
        "failed": figures.failed,
        "bytes": figures.size_bytes,
        "elapsed_ms": figures.elapsed_us / 1000,
        "records_per_s": round(figures.records_per_second, 3),
        "mb_per_s": round(figures.megabytes_per_second, 6),
        **{f"{name.replace('.', '')}_ms": latency_ms for name, latency_ms in figures.latencies_ms().items()},
    }
