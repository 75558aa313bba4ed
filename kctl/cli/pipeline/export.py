"""Options of `kctl pipeline export`."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli import click
from kctl.cli.changes import YesUnneeded
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import SHAPES, Listing, write_listing
from kctl.cli.formats.rows import Row, Value
from kctl.cli.options import Common, with_common, with_options
from kctl.cli.output_options import Output
from kctl.cli.pipeline.decode_options import ColumnOptions, column_options
from kctl.cli.pipeline.file_options import (
    BadRecordOption,
    FileFormatOption,
    FileSizeOption,
    LayoutOption,
    LevelOption,
    RangeSizeOption,
    RoundTimeOption,
    StartOption,
    ToOption,
)
from kctl.cli.pipeline.spark_options import (
    ContinuingOptions,
    SparkOptions,
    continuing_options,
    plan_of,
    result_of,
    spark_options,
)
from kctl.cli.pipeline.target_options import group_selection
from kctl.client.clock import duration_text
from kctl.client.wording import counted
from kctl.grammar.sizes import parse_size_bytes
from kctl.grammar.topics import parse_topics
from kctl.pipeline.bad_record_policies import FAIL
from kctl.pipeline.locations import parse_location

if TYPE_CHECKING:
    from kctl.pipeline.jobs.export import ExportPlan

STARTS = ("earliest", "latest")
_EARLIER_STARTS = {"start": "earliest", "end": "latest"}
"""Former values of --start."""
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
        typer.Argument(metavar="TOPIC...", help="Topics to export, or '/orders-.*/' for all topics that match."),
    ],
    to: ToOption,
    file_format: FileFormatOption = "parquet",
    layout: LayoutOption = "topic",
    partition_by: Annotated[
        str | None,
        typer.Option(
            "--partition-by",
            metavar="FIELD",
            help="Partitioning of files: day, hour, topic, partition, a decoded field such as value.country, or a "
            "decoded time such as day(value.created) or hour(value.created).",
        ),
    ] = None,
    level: LevelOption = 1,
    on_bad_record: BadRecordOption = FAIL,
    start: StartOption = "earliest",
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--groups",
            metavar="GROUP",
            help="Group, or '/app-.*/', whose committed offsets are exported. Repeatable.",
        ),
    ] = None,
    range_size: RangeSizeOption = "64MiB",
    round_time: RoundTimeOption = None,
    file_size: FileSizeOption = None,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
) -> int:
    """Write topics to Parquet or JSON files, each record exactly once.

    Run the command again to continue after a failure, or with new records. docs/pipeline-export.md describes the files.
    """
    words = parsed_topics(topics)
    range_bytes = size_of(range_size)
    start = _EARLIER_STARTS.get(start, start)
    click.one_of("--start", start, STARTS)
    output = common.choose_output(*SHAPES)

    from kctl.pipeline.export_files.folder import FORMATS, LAYOUTS

    click.one_of("--file-format", file_format, tuple(FORMATS))
    click.one_of("--layout", layout, LAYOUTS)
    from kctl.pipeline.jobs.export import INTERVAL_MS, ExportRequest, plan_export  # the client: not wanted for --help
    from kctl.pipeline.jobs.export import export as job
    from kctl.pipeline.jobs.export_rounds import ROUND_MS
    from kctl.pipeline.ranges import FROM_EARLIEST, TO_LATEST, Selection

    request = ExportRequest(
        Selection(topics=words[0], pattern=words[1]),
        parse_location(to),
        {},
        format=file_format,
        layout=_layout(layout, partition_by),
        start=FROM_EARLIEST if start == "earliest" else TO_LATEST,
        range_bytes=range_bytes,
        interval_ms=continuing.interval_ms_or(INTERVAL_MS),
        allow_loss=continuing.allow_loss,
        compression_level=level,
        file_bytes=0 if file_size is None else size_of(file_size, "--file-size", "a file"),
        decode=columns.request(),
        groups=group_selection(groups),
        on_bad_record=on_bad_record,
        round_ms=ROUND_MS if round_time is None else round_time,
    )
    if spark.dry_run:
        plan = partial(plan_export, options=spark.session_options())
        return _show_plan(common, output, plan_of(common, spark, plan, request), request.round_ms)
    row: Row = result_of(common, spark, job, request)._asdict()
    write_listing(common.environment, output, Listing("result", tuple(row), [row]))
    return ExitCode.OK


def _show_plan(common: Common, output: Output, plan: "ExportPlan", round_ms: int) -> int:
    write_listing(common.environment, output, Listing("plan", PLAN_COLUMNS, _plan_rows(plan)))
    size_bytes, tasks = sum(plan.topic_bytes.values()), len(plan.tasks)
    common.say(
        f"kctl pipeline: dry run: would export {plan.offsets} offsets (about {size_bytes} bytes in the log) in "
        f"{counted(tasks, 'task')}. Partitions continued from an earlier run: {plan.resumed}. Interval of commits: "
        f"{duration_text(round_ms)} (--round-time)"
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


def _layout(layout: str, partition_by: str | None) -> str:
    if partition_by is None:
        return layout
    if layout != "topic":
        raise click.UsageError("Choose --layout or --partition-by.")
    by_record_time = {"day": "date", "day(timestamp)": "date", "hour": "hour", "hour(timestamp)": "hour"}
    return by_record_time.get(partition_by, f"column:{partition_by}")


def parsed_topics(topics: list[str]) -> tuple[tuple[str, ...], str]:
    """Return names and "", or () and a pattern that matches all words."""
    try:
        words = parse_topics(topics)
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint="TOPIC") from None
    return (words.names, "") if not words.patterns else ((), words.as_pattern().pattern)


def size_of(text: str, flag: str = "--range-size", what: str = "a range") -> int:
    """Parse a size in bytes. Raises: click.BadParameter: the size is invalid or 0."""
    try:
        size_bytes = parse_size_bytes(text)
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint=f"'{flag}'") from None
    if size_bytes <= 0:
        raise click.BadParameter(f"{what} must have at least 1 byte.", param_hint=f"'{flag}'")
    return size_bytes
