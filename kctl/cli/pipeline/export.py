"""`kctl pipeline export`: its options; kctl.pipeline.jobs.export does what they say, imported only then.

Shown by tests/cli/test_pipeline.py and tests/pipeline/test_export_command.py.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import typer

from kctl.cli.data_out import DataOut
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.rows import Row, json_text, table_lines
from kctl.cli.options import Common, DurationType, Output, with_common
from kctl.cli.pipeline.spark_options import (
    DryRunOption,
    MasterOption,
    SparkChoice,
    SparkConfOption,
    SparkLogOption,
    WorkerPythonOption,
    run_job,
    spark_choice,
)
from kctl.cli.words.sizes import parse_size_bytes
from kctl.cli.words.topics import parse_topics

if TYPE_CHECKING:
    from kctl.pipeline.jobs.export import ExportPlan, ExportRequest, ExportResult

PLAN_COLUMNS = ("topic", "partition", "start", "end", "offsets", "bytes", "tasks")
SHAPES = (Output.TABLE, Output.JSON)


@with_common(*SHAPES)
def export(
    common: Common,
    topics: Annotated[
        list[str],
        typer.Argument(metavar="TOPIC...", help="What to export: names, or '/orders-.*/' for all that match."),
    ],
    to: Annotated[
        Path,
        typer.Option("--to", metavar="FOLDER", help="Where to; on a cluster all workers see it under this path."),
    ],
    format: Annotated[
        str, typer.Option("--format", metavar="NAME", help="Of the files: parquet or json (lines), with zstd.")
    ] = "parquet",
    layout: Annotated[
        str,
        typer.Option("--layout", metavar="NAME", help="Folders below a topic's: topic (none), date, or hour; in UTC."),
    ] = "topic",
    level: Annotated[int, typer.Option("--level", min=1, max=22, metavar="N", help="How much zstd tries.")] = 1,
    start: Annotated[
        str,
        typer.Option("--start", metavar="WHERE", help="Where what is new to the export begins: start or end."),
    ] = "start",
    continuous: Annotated[bool, typer.Option("--continuous", help="Go on with what comes, until Ctrl-C.")] = False,
    interval: Annotated[
        int | None,
        typer.Option(
            "--interval", click_type=DurationType(), metavar="DURATION", help="From one look to the next (10s)."
        ),
    ] = None,
    range_size: Annotated[
        str, typer.Option("--range-size", metavar="SIZE", help="About what one task reads, as it lies in the log.")
    ] = "64MiB",
    allow_loss: Annotated[
        bool, typer.Option("--allow-loss", help="Go on where records were deleted before they were exported.")
    ] = False,
    dry_run: DryRunOption = False,
    master: MasterOption = "local[*]",
    spark_conf: SparkConfOption = None,
    spark_log: SparkLogOption = None,
    worker_python: WorkerPythonOption = None,
) -> int:
    """Write topics to Parquet or JSON files, each record exactly once.

    Run it again to go on: after a kill at any point, or for what has come since. docs/pipeline.md has the files.
    """
    words = _parsed_topics(topics)
    range_bytes = _size(range_size)
    if start not in ("start", "end"):
        raise click.BadParameter(f"{start[:80]!r} is neither start nor end", param_hint="'--start'")
    if interval is not None and not continuous:
        raise click.UsageError("--interval is for --continuous.")
    choice = spark_choice(master, spark_conf, spark_log, worker_python)
    output = common.choose_output(*SHAPES)

    from kctl.pipeline.jobs.export import INTERVAL_MS, ExportRequest  # the client: not wanted for --help
    from kctl.pipeline.ranges import FROM_EARLIEST, TO_LATEST, Selection

    request = ExportRequest(
        Selection(topics=words[0], pattern=words[1]),
        to,
        {},
        format=format,
        layout=layout,
        start=FROM_EARLIEST if start == "start" else TO_LATEST,
        range_bytes=range_bytes,
        interval_ms=(interval or INTERVAL_MS) if continuous else None,
        allow_loss=allow_loss,
        compression_level=level,
    )
    if dry_run:
        return _show_plan(common, output, request, choice)
    result = _run(common, request, choice)
    out = DataOut(common.environment.stdout)
    row: Row = dict(result._asdict())
    for line in [json_text([row])] if output is Output.JSON else table_lines(tuple(row), [row]):
        out.write_line(line)
    out.flush()
    return ExitCode.OK


def _run(common: Common, request: "ExportRequest", choice: SparkChoice) -> "ExportResult":
    from kctl.pipeline.jobs.export import export as job

    return run_job(
        common,
        choice,
        "export",
        lambda properties, options, on_progress: job(
            request._replace(properties=properties), options=options, on_progress=on_progress
        ),
    )


def _show_plan(common: Common, output: Output, request: "ExportRequest", choice: SparkChoice) -> int:
    from kctl.pipeline.jobs.export import plan_export

    plan = run_job(
        common,
        choice,
        "export",
        lambda properties, options, _: plan_export(request._replace(properties=properties), options),
    )
    out = DataOut(common.environment.stdout)
    rows = _plan_rows(plan)
    for line in [json_text(rows)] if output is Output.JSON else table_lines(PLAN_COLUMNS, rows):
        out.write_line(line)
    out.flush()
    size_bytes, tasks = sum(plan.topic_bytes.values()), len(plan.ranges)
    common.say(
        f"kctl pipeline export: dry run, nothing was written: {plan.offsets} offsets, about {size_bytes} bytes in the "
        f"log, {tasks} task{'' if tasks == 1 else 's'}; {plan.resumed} partitions go on where an earlier run ended"
    )
    return ExitCode.OK


def _plan_rows(plan: "ExportPlan") -> list[Row]:
    rows: dict[tuple[str, int], Row] = {}
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
    return list(rows.values())


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value


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
