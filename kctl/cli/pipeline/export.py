"""`kctl pipeline export`: its options; kctl.pipeline.jobs.export does what they say, imported only then.

Shown by tests/cli/test_pipeline.py and tests/pipeline/test_export.py.
"""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli import click
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import SHAPES, Listing, write_listing
from kctl.cli.formats.rows import Row, Value
from kctl.cli.options import Common, Output, with_common, with_options
from kctl.cli.pipeline.decode_options import ColumnOptions, column_options
from kctl.cli.pipeline.spark_options import (
    ContinuingOptions,
    SparkOptions,
    continuing_options,
    plan_of,
    result_of,
    spark_options,
    target_text,
)
from kctl.client.wording import counted
from kctl.grammar.sizes import parse_size_bytes
from kctl.grammar.topics import parse_topics
from kctl.pipeline.locations import parse_location

if TYPE_CHECKING:
    from kctl.pipeline.jobs.export import ExportPlan

PLAN_COLUMNS = ("topic", "partition", "start", "end", "offsets", "bytes", "tasks")


@with_common(*SHAPES)
@with_options(columns=column_options, continuing=continuing_options, spark=spark_options)
def export(
    common: Common,
    columns: ColumnOptions,
    continuing: ContinuingOptions,
    spark: SparkOptions,
    topics: Annotated[
        list[str],
        typer.Argument(metavar="TOPIC...", help="What to export: names, or '/orders-.*/' for all that match."),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            parser=target_text,
            metavar="LOCATION",
            help="A folder, which on a cluster all workers see under this path; s3://, gs:// or abfs://; or a table, "
            "iceberg:CATALOG.DB.TABLE or delta:URL.",
        ),
    ],
    file_format: Annotated[
        str, typer.Option("--file-format", metavar="NAME", help="Format of files: parquet or json (lines), with zstd.")
    ] = "parquet",
    layout: Annotated[
        str,
        typer.Option("--layout", metavar="NAME", help="Subfolders of a topic: topic (none), date or hour, in UTC."),
    ] = "topic",
    level: Annotated[int, typer.Option("--level", min=1, max=22, metavar="N", help="Compression level of zstd.")] = 1,
    start: Annotated[
        str,
        typer.Option(
            "--start", metavar="WHERE", help="Where partitions that are new to the export begin: start or end."
        ),
    ] = "start",
    range_size: Annotated[
        str, typer.Option("--range-size", metavar="SIZE", help="About what one task reads, as it lies in the log.")
    ] = "64MiB",
) -> int:
    """Write topics to Parquet or JSON files, each record exactly once.

    Run it again to continue: after a kill at any point, or with new records. docs/pipeline.md has the files.
    """
    words = _parsed_topics(topics)
    range_bytes = _size(range_size)
    _one_of("--start", start, ("start", "end"))
    output = common.choose_output(*SHAPES)

    from kctl.pipeline.export_files.folder import FORMATS, LAYOUTS

    _one_of("--file-format", file_format, tuple(FORMATS))
    _one_of("--layout", layout, LAYOUTS)
    from kctl.pipeline.jobs.export import INTERVAL_MS, ExportRequest, plan_export  # the client: not wanted for --help
    from kctl.pipeline.jobs.export import export as job
    from kctl.pipeline.ranges import FROM_EARLIEST, TO_LATEST, Selection

    request = ExportRequest(
        Selection(topics=words[0], pattern=words[1]),
        parse_location(to),
        {},
        format=file_format,
        layout=layout,
        start=FROM_EARLIEST if start == "start" else TO_LATEST,
        range_bytes=range_bytes,
        interval_ms=continuing.interval_ms_or(INTERVAL_MS),
        allow_loss=continuing.allow_loss,
        compression_level=level,
        decode=columns.request(),
    )
    if spark.dry_run:
        plan = partial(plan_export, options=spark.session_options())
        return _show_plan(common, output, plan_of(common, spark, plan, request))
    row: Row = result_of(common, spark, job, request)._asdict()
    write_listing(common.environment, output, Listing("result", tuple(row), [row]))
    return ExitCode.OK


def _show_plan(common: Common, output: Output, plan: "ExportPlan") -> int:
    write_listing(common.environment, output, Listing("plan", PLAN_COLUMNS, _plan_rows(plan)))
    size_bytes, tasks = sum(plan.topic_bytes.values()), len(plan.ranges)
    common.say(
        f"kctl pipeline: dry run, nothing was written: {plan.offsets} offsets, about {size_bytes} bytes in the "
        f"log, {counted(tasks, 'task')}; {plan.resumed} partitions continue where an earlier run ended"
    )
    return ExitCode.OK


def _plan_rows(plan: "ExportPlan") -> list[Row]:
    rows: dict[tuple[str, int], dict[str, Value]] = {}
    totals: dict[str, int] = {}
    for each in plan.ranges:
        totals[each.topic] = totals.get(each.topic, 0) + each.size
    for each in sorted(plan.ranges):
        row = rows.setdefault(
            each.topic_partition,
            dict(zip(PLAN_COLUMNS, (each.topic, each.partition, each.start_offset, 0, 0, 0, 0), strict=True)),
        )
        share = plan.topic_bytes[each.topic] * each.size // max(1, totals[each.topic])
        row |= {
            "end": each.end_offset,
            "offsets": _number(row["offsets"]) + each.size,
            "bytes": _number(row["bytes"]) + share,
            "tasks": _number(row["tasks"]) + 1,
        }
    return [*rows.values()]


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value


def _one_of(flag: str, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        raise click.BadParameter(f"{word[:80]!r} is none of {', '.join(known)}", param_hint=f"'{flag}'")


def _parsed_topics(topics: list[str]) -> tuple[tuple[str, ...], str]:
    """Return names, or the one pattern that stands for all that is meant."""
    try:
        words = parse_topics(topics)
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint="TOPIC") from None
    return (words.names, "") if not words.patterns else ((), words.as_pattern().pattern)


def _size(text: str) -> int:
    try:
        size_bytes = parse_size_bytes(text)
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint="'--range-size'") from None
    if size_bytes <= 0:
        raise click.BadParameter("a range has at least a byte", param_hint="'--range-size'")
    return size_bytes
