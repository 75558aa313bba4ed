"""The `kctl bench` commands and their options."""

from typing import Annotated, NamedTuple

import typer

from kctl.cli import click
from kctl.cli.commands import Commands
from kctl.cli.formats.listing import SHAPES
from kctl.cli.options import Common, with_common, with_options
from kctl.cli.setting import Setting
from kctl.grammar.sizes import parse_rate, parse_size_bytes

MOST_RECORDS = 10**12
MOST_RECORD_BYTES = 1 << 30
LEAST_RECORD_BYTES = 24
"""Size of the mark that identifies the records of `end-to-end`."""

app = Commands(no_args_is_help=True)

Records = Annotated[
    int, typer.Option("--max-records", "-n", min=1, max=MOST_RECORDS, metavar="N", help="Number of records.")
]


class Load(NamedTuple):
    """Size and topic of the records."""

    record_size: str
    topic: str | None
    partitions: int | None
    replication_factor: int | None
    compression: str | None


def load_options(
    record_size: Annotated[
        str, typer.Option("--record-size", metavar="SIZE", help="Size of each value, such as 100B or 1KiB.")
    ] = "100B",
    topic: Annotated[
        str | None,
        typer.Option("--topic", metavar="TOPIC", help="Existing topic [default: a temporary topic]."),
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option("--partitions", "-p", min=1, metavar="N", help="Partitions of the temporary topic."),
    ] = None,
    replication_factor: Annotated[
        int | None,
        typer.Option(
            "--replication-factor", "-r", min=1, metavar="N", help="Replication factor of the temporary topic."
        ),
    ] = None,
    compression: Annotated[
        str | None,
        typer.Option(
            "--compression", metavar="NAME", help="Compression: none, gzip, snappy, lz4, or zstd [default: none]."
        ),
    ] = None,
) -> Load:
    return Load(record_size, topic, partitions, replication_factor, compression)


class Sending(NamedTuple):
    """Rate and acknowledgments of the producer."""

    per_second: float | None
    acks: str | None


def sending_options(
    rate: Annotated[str | None, typer.Option("--rate", metavar="N/s", help="Maximum rate, such as 500/s.")] = None,
    acks: Annotated[
        str | None,
        typer.Option("--acks", metavar="ACKS", help="Required acknowledgments: all, 1, or 0 [default: all]."),
    ] = None,
) -> Sending:
    try:
        return Sending(None if rate is None else parse_rate(rate), acks)
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint="'--rate'") from None


@app.callback()
def bench() -> None:
    """Measure throughput and latency."""


@app.command()
@with_common(*SHAPES)
@with_options(load=load_options, sending=sending_options)
def produce(common: Common, load: Load, sending: Sending, records: Records = 100_000) -> int:
    """Measure how fast records are sent. The latency is the time from send() to the acknowledgment."""
    return _run(common, "produce", records, load, sending)


@app.command()
@with_common(*SHAPES)
@with_options(load=load_options)
def consume(common: Common, load: Load, records: Records = 100_000) -> int:
    """Measure how fast records are read. The latency is the time of polls that return records.

    Without --topic, kctl sends the records first. If the topic has fewer records, the measurement
    ends early.
    """
    return _run(common, "consume", records, load, Sending(None, None))


@app.command("end-to-end")
@with_common(*SHAPES)
@with_options(load=load_options, sending=sending_options)
def end_to_end(common: Common, load: Load, sending: Sending, records: Records = 1_000) -> int:
    """Measure the latency from send() to the consumer.

    Sends one record at a time, or --rate records per second.
    """
    return _run(common, "end-to-end", records, load, sending)


def _run(common: Common, kind: str, records: int, load: Load, sending: Sending) -> int:
    from kctl.cli.bench.run import BenchRequest, Kind, run_bench  # deferred import: keeps --help fast

    request = BenchRequest(
        Kind(kind),
        records,
        _size(load.record_size, LEAST_RECORD_BYTES if kind == "end-to-end" else 0),
        load.topic,
        sending.per_second,
        load.partitions,
        load.replication_factor,
        {
            "acks": None if sending.acks is None else Setting(sending.acks, "--acks"),
            "compression.type": None if load.compression is None else Setting(load.compression, "--compression"),
        },
    )
    return run_bench(common, request)


def _size(text: str, least_bytes: int) -> int:
    try:
        size_bytes = parse_size_bytes(text)
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint="'--record-size'") from None
    if not least_bytes <= size_bytes <= MOST_RECORD_BYTES:
        problem = f"use a size of {least_bytes} B to {MOST_RECORD_BYTES} B instead of {text!r}"
        raise click.BadParameter(problem, param_hint="'--record-size'")
    return size_bytes
