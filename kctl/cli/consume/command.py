"""The `kctl consume` command, its options, and their conflicts. run.py is imported only for execution."""

from collections.abc import Sequence
from typing import Annotated

import typer

from kctl.cli import click
from kctl.cli.commands import Commands
from kctl.cli.decode.options import NO_DECODING, DecodeRequest, decode_options
from kctl.cli.formats.record_options import (
    SHAPES,
    CsvSafeOption,
    DelimiterOption,
    FormatOption,
    GrepOption,
    KeySeparatorOption,
    NullOption,
    PrintOffsetsOption,
)
from kctl.cli.options import Common, duration_ms, with_common, with_options
from kctl.cli.output_options import Words
from kctl.grammar.durations import parse_duration_ms
from kctl.grammar.offset_grammar import parse_offset
from kctl.grammar.offsets import OffsetSpec
from kctl.grammar.sizes import parse_size_bytes
from kctl.grammar.topics import parse_partitions, parse_topics

MOST_TAIL = 1_000_000
"""Maximum of --tail."""


LEAST_MEMORY_BYTES = 64 * 1024

app = Commands()
_BAD_RECORD_POLICIES = Words(("error", "skip"))


@app.command()
@with_common(*SHAPES)
@with_options(decoding=decode_options)
def consume(
    common: Common,
    topics: Annotated[
        list[str],
        typer.Argument(metavar="TOPIC...", help="Topics to read, or '/orders-.*/' for all topics that match."),
    ],
    offset: Annotated[
        list[str] | None,
        typer.Option(
            "--offset",
            "-o",
            metavar="RANGE",
            help="Offsets to read: start, end, 42, -10 (last 10), 100:200, @-1h:end, stored. P=OFFSET applies "
            "to partition P. Repeatable [default: start].",
            show_default=False,
        ),
    ] = None,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="Start at the first record, like -o start.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="TIME",
            help="Start at a time, or at a duration before now. --since 1h is the same as -o @-1h.",
        ),
    ] = None,
    tail: Annotated[
        int | None,
        typer.Option(
            "--tail", min=0, max=MOST_TAIL, metavar="N", help="Print the newest N records of all partitions, then exit."
        ),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="With --tail, continue with new records.")] = False,
    limit: Annotated[
        int | None,
        typer.Option("--max-records", "-n", min=0, metavar="N", help="Exit after N records.", show_default=False),
    ] = None,
    exit_at_end: Annotated[
        bool, typer.Option("--exit-at-end", "-e", help="Exit after the last record that existed at startup.")
    ] = False,
    exit_on_loss: Annotated[
        bool, typer.Option("--exit-on-loss", help="Exit with 24 if records were deleted before kctl read them.")
    ] = False,
    idle_timeout: Annotated[
        int | None,
        typer.Option(
            "--idle-timeout", parser=duration_ms, metavar="DURATION", help="Exit after this time without a record."
        ),
    ] = None,
    isolation: Annotated[
        str | None,
        typer.Option(
            "--isolation-level",
            metavar="LEVEL",
            help="Records to read: read_uncommitted or read_committed [default: read_uncommitted].",
        ),
    ] = None,
    max_memory: Annotated[
        str | None,
        typer.Option(
            "--max-memory",
            metavar="SIZE",
            help="Maximum memory for fetched records, and for a decompressed batch [default: 64MiB].",
        ),
    ] = None,
    on_bad_record: Annotated[
        str,
        typer.Option(
            "--on-bad-record",
            parser=_BAD_RECORD_POLICIES,
            metavar="POLICY",
            help="Action for records and batches that are damaged, exceed a limit, or are rejected by --strict or "
            "--jq: error or skip. kctl reports skipped records on stderr.",
        ),
    ] = "error",
    template: FormatOption = None,
    key_separator: KeySeparatorOption = None,
    delimiter: DelimiterOption = None,
    print_offsets: PrintOffsetsOption = False,
    null: NullOption = None,
    csv_safe: CsvSafeOption = False,
    grep: GrepOption = None,
    partitions: Annotated[
        list[str] | None,
        typer.Option(
            "--partition",
            "-p",
            metavar="N",
            help="Partitions to read, such as '0', '0,2', or '2-4'. Repeatable [default: all].",
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            "-g",
            metavar="GROUP",
            help="Join this consumer group and commit the offsets of printed records. -o applies only to "
            "partitions without a committed offset.",
        ),
    ] = None,
    decoding: DecodeRequest = NO_DECODING,
) -> int:
    """Print records from topics.

    Runs until Ctrl-C unless -n, -e, or an end offset is set. --output jsonl prints a JSON object per line, which
    `kctl produce -i jsonl` reads.
    """
    words = click.parsed(parse_topics, topics, "TOPIC")
    if since is not None and (offset or from_beginning or tail is not None):
        raise click.UsageError("--since cannot be combined with --offset, --from-beginning, or --tail.")
    if (key_separator is not None or delimiter is not None) and (template or common.output):
        raise click.UsageError("--key-separator and --delimiter cannot be combined with another format.")
    wall_ms = common.environment.clock.wall_ms()
    if since is None:
        specs = _read_offsets(offset or (), wall_ms, from_beginning=from_beginning)
    else:
        specs = [click.parsed(lambda text: parse_offset(_at_time(text), wall_ms), since, "'--since'")]
    wanted = click.parsed(parse_partitions, partitions or (), "'--partition' / '-p'")
    memory_bytes = None if max_memory is None else click.parsed(_memory_bytes, max_memory, "'--max-memory'")
    if tail is not None and (offset or from_beginning or group is not None):
        raise click.UsageError("--tail cannot be combined with --offset, --from-beginning, or --group.")
    if follow and (tail is None or exit_at_end):
        raise click.UsageError("--follow requires --tail and cannot be combined with --exit-at-end.")
    from kctl.cli.formats.choice import choose_record_output  # templates and patterns: not wanted for --help

    output = choose_record_output(
        common,
        template=template if key_separator is None and delimiter is None else _separated(key_separator, delimiter),
        print_offsets=print_offsets,
        null=null,
        greps=grep or (),
        is_csv_safe=csv_safe,
        decoding=decoding,
    )
    from kctl.cli.consume.run import ReadRequest, run_reading  # deferred import: the client

    request = ReadRequest(
        topics=words,
        specs=specs,
        partitions=wanted,
        group=group,
        isolation=isolation,
        exit_at_end=exit_at_end,
        tail=tail,
        follow=follow,
        records=limit,
        idle_ms=idle_timeout,
        prefetch_bytes=memory_bytes,
        decodes=decoding.decodes,
        exits_on_loss=exit_on_loss,
        skips_bad_records=on_bad_record == "skip",
    )
    return run_reading(common, request, output)


def _separated(key_separator: str | None, delimiter: str | None) -> str:
    from kctl.cli.formats.escapes import parse_literal  # as above

    for text, option in ((key_separator, "'--key-separator' / '-K'"), (delimiter, "'--delimiter' / '-D'")):
        click.parsed(parse_literal, text or "", option)
    key = "" if key_separator is None else f"%k{_literal(key_separator)}"
    end = "\\n" if delimiter is None else _literal(delimiter)
    return f"{key}%v{end}"


def _literal(text: str) -> str:
    return text.translate({ord(mark): f"%{mark}" for mark in "%{}"})


def _at_time(since: str) -> str:
    """Return the `-o` form of --since. A duration counts back from now."""
    try:
        parse_duration_ms(since)
    except ValueError:
        return f"@{since}"
    return f"@-{since}"


def _read_offsets(texts: Sequence[str], wall_ms: int, *, from_beginning: bool) -> list[OffsetSpec]:
    if from_beginning and texts:
        raise click.UsageError("--from-beginning cannot be combined with --offset.")
    return [click.parsed(lambda each: parse_offset(each, wall_ms), text, "'--offset' / '-o'") for text in texts]


def _memory_bytes(text: str) -> int:
    size = parse_size_bytes(text)
    if size < LEAST_MEMORY_BYTES:
        raise ValueError(f"{text!r} is too small: use at least {LEAST_MEMORY_BYTES // 1024}KiB")
    return size
