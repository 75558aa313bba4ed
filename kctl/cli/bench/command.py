"""`kctl bench`: records a second and latencies of producing, consuming, and from one end to the other.

Owns the options; bench_run.py measures, imported only then. Shown by tests/cli/test_bench.py.
"""

from typing import Annotated

import click
import typer

from kctl.cli.bench.request import SHAPES, BenchRequest, Kind
from kctl.cli.options import Common, with_common
from kctl.cli.settings import Setting
from kctl.cli.words.records import parse_rate
from kctl.cli.words.sizes import parse_size_bytes

MOST_RECORDS = 10**12
MOST_RECORD_BYTES = 1 << 30
LEAST_RECORD_BYTES = 24
"""What the mark takes by which `end-to-end` knows its records."""

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True)

Records = Annotated[
    int | None, typer.Option("--records", "-n", min=1, max=MOST_RECORDS, metavar="N", help="How many records.")
]
RecordSize = Annotated[
    str, typer.Option("--record-size", metavar="SIZE", help="Size of each value, such as 100B or 1KiB.")
]
TopicOption = Annotated[
    str | None,
    typer.Option("--topic", metavar="TOPIC", help="A topic that is there; else one is made, and deleted at the end."),
]
RateOption = Annotated[
    str | None, typer.Option("--rate", metavar="N/s", help="At most so many records a second, such as 500/s.")
]
Partitions = Annotated[
    int | None,
    typer.Option("--partitions", min=1, metavar="N", help="Partitions of a topic that is made.", show_default=False),
]
Replicas = Annotated[
    int | None,
    typer.Option(
        "--replication-factor", min=1, metavar="N", help="Copies of a topic that is made.", show_default=False
    ),
]
Acks = Annotated[str | None, typer.Option("--acks", metavar="WHO", help="Who must have a record: all, 1 or 0 (all).")]
Compression = Annotated[
    str | None,
    typer.Option("--compression", metavar="NAME", help="Codec of batches: none, gzip, snappy, lz4 or zstd (none)."),
]


@app.callback()
def bench() -> None:
    """Measure producing, consuming, or both: records/s, MB/s and latencies."""


@app.command()
@with_common(*SHAPES)
def produce(
    common: Common,
    records: Records = 100_000,
    record_size: RecordSize = "100B",
    topic: TopicOption = None,
    rate: RateOption = None,
    partitions: Partitions = None,
    replication_factor: Replicas = None,
    acks: Acks = None,
    compression: Compression = None,
) -> int:
    """Send records as fast as they are taken; latency is from send() to the acknowledgement."""
    flags = _flags(acks, compression)
    return _run(
        common,
        BenchRequest(
            Kind.PRODUCE, records or 1, _size(record_size, 0), topic, _rate(rate), partitions, replication_factor, flags
        ),
    )


@app.command()
@with_common(*SHAPES)
def consume(
    common: Common,
    records: Records = 100_000,
    record_size: RecordSize = "100B",
    topic: TopicOption = None,
    partitions: Partitions = None,
    replication_factor: Replicas = None,
    compression: Compression = None,
) -> int:
    """Read records from the start of a topic; latency is that of a poll that returned some.

    Without --topic the records are sent first, which is not measured. A topic with fewer ends it at its end.
    """
    flags = _flags(None, compression)
    return _run(
        common,
        BenchRequest(
            Kind.CONSUME, records or 1, _size(record_size, 0), topic, None, partitions, replication_factor, flags
        ),
    )


@app.command("end-to-end")
@with_common(*SHAPES)
def end_to_end(
    common: Common,
    records: Records = 1_000,
    record_size: RecordSize = "100B",
    topic: TopicOption = None,
    rate: RateOption = None,
    partitions: Partitions = None,
    replication_factor: Replicas = None,
    acks: Acks = None,
    compression: Compression = None,
) -> int:
    """Send records and read them; latency is from send() to the consumer.

    One at a time; with --rate so many a second, whether the one before has come or not.
    """
    flags = _flags(acks, compression)
    size_bytes = _size(record_size, LEAST_RECORD_BYTES)
    return _run(
        common,
        BenchRequest(
            Kind.END_TO_END, records or 1, size_bytes, topic, _rate(rate), partitions, replication_factor, flags
        ),
    )


def _run(common: Common, request: BenchRequest) -> int:
    from kctl.cli.bench.run import run_bench  # the whole client, which --help and mistakes do without

    return run_bench(common, request)


def _flags(acks: str | None, compression: str | None) -> dict[str, Setting | None]:
    return {
        "acks": None if acks is None else Setting(acks, "--acks"),
        "compression.type": None if compression is None else Setting(compression, "--compression"),
    }


def _rate(text: str | None) -> float | None:
    try:
        return None if text is None else parse_rate(text)
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint="'--rate'") from None


def _size(text: str, least_bytes: int) -> int:
    try:
        size_bytes = parse_size_bytes(text)
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint="'--record-size'") from None
    if not least_bytes <= size_bytes <= MOST_RECORD_BYTES:
        problem = f"{text!r}: from {least_bytes} B to {MOST_RECORD_BYTES} B is possible"
        raise click.BadParameter(problem, param_hint="'--record-size'")
    return size_bytes
