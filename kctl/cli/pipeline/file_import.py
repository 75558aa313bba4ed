"""`kctl pipeline import`: its options; kctl.pipeline.jobs.file_import does what they say, imported only then.

Shown by tests/cli/test_pipeline.py and tests/pipeline/test_import.py.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli.data_out import DataOut
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.rows import Row, json_text, table_lines
from kctl.cli.options import Common, Output, with_common
from kctl.cli.pipeline.spark_options import (
    DryRunOption,
    MasterOption,
    SparkConfOption,
    SparkLogOption,
    WorkerPythonOption,
    run_job,
    spark_choice,
)

if TYPE_CHECKING:
    from kctl.pipeline.jobs.file_import import ImportPlan

PLAN_COLUMNS = ("topic", "partition", "start", "end", "records", "bytes", "task")
SHAPES = (Output.TABLE, Output.JSON)


@with_common(*SHAPES)
def import_(
    common: Common,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="What kctl pipeline export has written.")],
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="NAME", help="Only this of the exported topics; repeatable."),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="TOPIC", help="Where all of it goes; else topics of the same names.")
    ] = None,
    keep_partitions: Annotated[
        bool, typer.Option("--keep-partitions", help="To the partitions that records came from; else by key.")
    ] = False,
    keep_timestamps: Annotated[
        bool, typer.Option("--keep-timestamps", help="Records keep their timestamps; else they get today's.")
    ] = False,
    unordered: Annotated[
        bool, typer.Option("--unordered", help="Ranges of a partition at the same time: faster, in any order.")
    ] = False,
    progress: Annotated[
        Path | None,
        typer.Option("--progress", metavar="FOLDER", help="Where what is done is kept; else in the export."),
    ] = None,
    dry_run: DryRunOption = False,
    master: MasterOption = "local[*]",
    spark_conf: SparkConfOption = None,
    spark_log: SparkLogOption = None,
    worker_python: WorkerPythonOption = None,
) -> int:
    """Produce what was exported, each record at least once.

    Run it again to go on: ranges that were acknowledged whole are passed over.
    """
    choice = spark_choice(master, spark_conf, spark_log, worker_python)
    output = common.choose_output(*SHAPES)

    from kctl.pipeline.jobs.file_import import ImportRequest, import_files, plan_import  # not wanted for --help

    request = ImportRequest(
        folder,
        {},
        topics=tuple(dict.fromkeys(topics or ())),
        topic=to,
        keep_partitions=keep_partitions,
        keep_timestamps=keep_timestamps,
        is_ordered=not unordered,
        progress=progress,
    )
    out = DataOut(common.environment.stdout)
    if dry_run:
        plan = run_job(
            common, choice, "import", lambda properties, _, __: plan_import(request._replace(properties=properties))
        )
        rows = _plan_rows(plan)
    else:
        result = run_job(
            common,
            choice,
            "import",
            lambda properties, options, on_progress: import_files(
                request._replace(properties=properties), options=options, on_progress=on_progress
            ),
        )
        rows = [dict(result._asdict())]
    for line in (
        [json_text(rows)] if output is Output.JSON else table_lines(tuple(rows[0]) if rows else PLAN_COLUMNS, rows)
    ):
        out.write_line(line)
    out.flush()
    if dry_run:
        common.say(
            f"kctl pipeline import: dry run, nothing was sent: {plan.records} records, {plan.size_bytes} bytes, "
            f"{len(plan.tasks)} task{'' if len(plan.tasks) == 1 else 's'}; {plan.done} ranges are imported already"
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
