"""`kctl pipeline import`: its options; kctl.pipeline.jobs.file_import does what they say, imported only then.

Shown by tests/cli/test_pipeline.py and tests/pipeline/test_import.py.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import SHAPES, Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common, Output, with_common, with_options
from kctl.cli.pipeline.spark_options import SparkOptions, files_at, files_text, plan_of, result_of, spark_options
from kctl.cli.pipeline.target_options import ToTopicOption
from kctl.client.wording import counted

if TYPE_CHECKING:
    from kctl.pipeline.jobs.file_import import ImportPlan

PLAN_COLUMNS = ("topic", "partition", "start", "end", "records", "bytes", "task")


@with_common(*SHAPES)
@with_options(spark=spark_options)
def import_(
    common: Common,
    spark: SparkOptions,
    folder: Annotated[
        str,
        typer.Argument(
            parser=files_text,
            metavar="LOCATION",
            help="What kctl pipeline export has written: a folder, or s3://, gs:// or abfs://.",
        ),
    ],
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="TOPIC", help="Only this exported topic; repeatable."),
    ] = None,
    to_topic: ToTopicOption = None,
    keep_partitions: Annotated[
        bool, typer.Option("--keep-partitions", help="Keep the partitions of records; else by key.")
    ] = False,
    keep_timestamps: Annotated[
        bool, typer.Option("--keep-timestamps", help="Keep the timestamps of records; else the time of the import.")
    ] = False,
    unordered: Annotated[
        bool, typer.Option("--unordered", help="Ranges of a partition at the same time: faster, in any order.")
    ] = False,
    progress: Annotated[
        str | None,
        typer.Option(
            "--progress",
            parser=files_text,
            metavar="LOCATION",
            help="Folder for what is imported already; else in the export.",
        ),
    ] = None,
) -> int:
    """Produce what was exported, each record at least once.

    Run it again to continue: ranges that were acknowledged whole are skipped.
    """
    output = common.choose_output(*SHAPES)

    from kctl.pipeline.jobs.file_import import ImportRequest, import_files, plan_import  # not wanted for --help

    request = ImportRequest(
        files_at(folder),
        {},
        topics=tuple(dict.fromkeys(topics or ())),
        topic=to_topic,
        keep_partitions=keep_partitions,
        keep_timestamps=keep_timestamps,
        is_ordered=not unordered,
        progress=None if progress is None else files_at(progress),
    )
    if spark.dry_run:
        return _show_plan(common, output, plan_of(common, spark, plan_import, request))
    row: Row = result_of(common, spark, import_files, request)._asdict()
    write_listing(common.environment, output, Listing("result", tuple(row), [row]))
    return ExitCode.OK


def _show_plan(common: Common, output: Output, plan: "ImportPlan") -> int:
    write_listing(common.environment, output, Listing("plan", PLAN_COLUMNS, _plan_rows(plan)))
    common.say(
        f"kctl pipeline: dry run, nothing was sent: {plan.records} records, {plan.size_bytes} bytes, "
        f"{counted(len(plan.tasks), 'task')}; {plan.done} ranges are imported already"
    )
    return ExitCode.OK


def _plan_rows(plan: "ImportPlan") -> list[Row]:
    return [
        {
            "topic": each.topic,
            "partition": each.partition,
            "start": each.start,
            "end": each.end,
            "records": each.records,
            "bytes": sum(file.size_bytes for file in each.files),
            "task": task,
        }
        for task, ranges in enumerate(plan.tasks)
        for each in ranges
    ]
