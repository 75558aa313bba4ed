"""Options of `kctl pipeline sync`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli import click
from kctl.cli.changes import YesUnneeded
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import SHAPES, Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common, duration_ms, with_common, with_options
from kctl.cli.output_options import Output
from kctl.cli.pipeline.decode_options import ColumnOptions, column_options
from kctl.cli.pipeline.export import STARTS, parsed_topics, size_of
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
from kctl.cli.pipeline.spark_options import AllowLossOption, SparkOptions, plan_of, run_job, spark_options
from kctl.pipeline.bad_record_policies import FAIL
from kctl.pipeline.locations import parse_location

if TYPE_CHECKING:
    from kctl.pipeline.jobs.sync import SyncPlan

PLAN_COLUMNS = ("topic", "partition", "start", "end", "offsets")


@with_common(*SHAPES)
@with_options(columns=column_options, spark=spark_options)
def sync(
    common: Common,
    columns: ColumnOptions,
    spark: SparkOptions,
    topics: Annotated[
        list[str],
        typer.Argument(
            metavar="TOPIC...", help="Topics to sync, or '/orders-.*/' for all topics that match, including new topics."
        ),
    ],
    to: ToOption,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            metavar="FOLDER",
            help="Directory on this machine where Spark stores offsets. Required if --to is not a directory "
            "[default: _checkpoint in --to].",
        ),
    ] = None,
    start: StartOption = "earliest",
    trigger: Annotated[
        int | None,
        typer.Option(
            "--trigger", parser=duration_ms, metavar="DURATION", help="Interval between batches [default: 10s]."
        ),
    ] = None,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="Exit after the last record that existed at startup.")
    ] = False,
    max_records: Annotated[
        int | None,
        typer.Option(
            "--max-records-per-batch",
            min=1,
            metavar="N",
            help="Maximum number of offsets in a batch [default: 10000000, or no limit with --available-now].",
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            "-g",
            metavar="GROUP",
            help="Consumer group that receives the progress as committed offsets. The group must not have members.",
        ),
    ] = None,
    file_format: FileFormatOption = "parquet",
    layout: LayoutOption = "topic",
    level: LevelOption = 1,
    on_bad_record: BadRecordOption = FAIL,
    range_size: RangeSizeOption = "64MiB",
    round_time: RoundTimeOption = None,
    file_size: FileSizeOption = None,
    allow_loss: AllowLossOption = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
) -> int:
    """Keep files or a table up to date until Ctrl-C, each record exactly once.

    Runs as a Spark streaming query. Run the command again to continue.
    """
    names, pattern = parsed_topics(topics)
    range_bytes = size_of(range_size)
    click.one_of("--start", start, STARTS)
    if available_now and trigger is not None:
        raise click.UsageError("--trigger cannot be combined with --available-now.")
    output = common.choose_output(*SHAPES)

    from kctl.pipeline.export_files.folder import FORMATS, LAYOUTS

    click.one_of("--file-format", file_format, tuple(FORMATS))
    click.one_of("--layout", layout, LAYOUTS)
    from kctl.pipeline.jobs.export import ExportRequest  # the client: not wanted for --help
    from kctl.pipeline.jobs.export_rounds import ROUND_MS
    from kctl.pipeline.jobs.sync import MAX_BATCH_RECORDS, TRIGGER_MS, SyncRequest, plan_sync
    from kctl.pipeline.jobs.sync import sync as job
    from kctl.pipeline.ranges import FROM_EARLIEST, TO_LATEST, Selection

    export = ExportRequest(
        Selection(topics=names, pattern=pattern),
        parse_location(to),
        {},
        format=file_format,
        layout=layout,
        start=FROM_EARLIEST if start == "earliest" else TO_LATEST,
        range_bytes=range_bytes,
        allow_loss=allow_loss,
        compression_level=level,
        file_bytes=0 if file_size is None else size_of(file_size, "--file-size", "a file"),
        decode=columns.request(),
        on_bad_record=on_bad_record,
        round_ms=ROUND_MS if round_time is None else round_time,
    )
    request = SyncRequest(
        export,
        checkpoint,
        trigger_ms=None if available_now else TRIGGER_MS if trigger is None else trigger,
        max_batch_records=max_records or (0 if available_now else MAX_BATCH_RECORDS),
        group=group,
    )
    if spark.dry_run:
        plan = plan_of(common, spark, lambda export: plan_sync(request._replace(export=export)), export)
        return _show_plan(common, output, plan)
    result = run_job(
        common,
        spark,
        lambda properties, options, on_progress: job(
            request._replace(export=export._replace(properties=properties, events=common.events)),
            options=options,
            on_progress=on_progress,
            say=common.say if common.notices is None else common.notices.say,
        ),
    )
    row: Row = result._asdict()
    write_listing(common.environment, output, Listing("result", tuple(row), [row]))
    return ExitCode.OK


def _show_plan(common: Common, output: Output, plan: "SyncPlan") -> int:
    rows: list[Row] = [
        dict(zip(PLAN_COLUMNS, (*tp, start, plan.ends[tp], max(0, plan.ends[tp] - start)), strict=True))
        for tp, start in sorted(plan.starts.items())
    ]
    write_listing(common.environment, output, Listing("plan", PLAN_COLUMNS, rows))
    common.say(
        f"kctl pipeline: dry run: would sync {plan.offsets} existing offsets with checkpoint {plan.checkpoint}. "
        f"Partitions continued from an earlier run: {plan.resumed}"
    )
    return ExitCode.OK
