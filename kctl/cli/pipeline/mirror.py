"""`kctl pipeline mirror`: its options; kctl.pipeline.jobs.mirror does what they say, imported only then.

Shown by tests/pipeline/test_mirror_command.py.
"""

from typing import TYPE_CHECKING, Annotated

import click
import typer

from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.rows import Row
from kctl.cli.formats.rows_out import write_rows
from kctl.cli.options import Common, Output, with_common, with_options
from kctl.cli.pipeline.continuing_options import ContinuingOptions, continuing_options
from kctl.cli.pipeline.spark_options import SparkOptions, plan_of, result_of, spark_options
from kctl.cli.pipeline.target_options import TargetOptions, target_options

if TYPE_CHECKING:
    from kctl.pipeline.jobs.mirror import MirrorPlan

PLAN_COLUMNS = ("topic", "partition", "start", "end", "offsets")
SHAPES = (Output.TABLE, Output.JSON)


@with_common(*SHAPES)
@with_options(target=target_options, continuing=continuing_options, spark=spark_options)
def mirror(
    common: Common,
    target: TargetOptions,
    continuing: ContinuingOptions,
    spark: SparkOptions,
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC...", help="What to mirror.")],
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Of this mirror: it goes on where the last run of it ended."),
    ] = None,
    create: Annotated[
        bool, typer.Option("--create", help="Make topics that the target lacks, with as many partitions.")
    ] = False,
) -> int:
    """Copy topics to another cluster, each record exactly once.

    Partitions, headers and timestamps stay the same. Run it again to go on: after a kill at any point, or for what
    has come since. docs/pipeline.md.
    """
    if not target.is_given:
        raise click.UsageError("where to? --to-bootstrap, --to-config or --to-topic say it.")
    output = common.choose_output(*SHAPES)

    from kctl.pipeline.jobs.mirror import INTERVAL_MS, MirrorRequest, plan_mirror  # the client: not for --help
    from kctl.pipeline.jobs.mirror import mirror as job

    with target.properties(common, is_local=spark.is_local) as to_properties:
        request = MirrorRequest(
            tuple(dict.fromkeys(topics)),
            {},
            to_properties,
            target.topic,
            name,
            create,
            continuing.interval_ms_or(INTERVAL_MS),
            continuing.allow_loss,
        )
        if spark.dry_run:
            return _show_plan(common, output, plan_of(common, spark, plan_mirror, request))
        row: Row = result_of(common, spark, job, request)._asdict()
    write_rows(common, output, tuple(row), [row])
    return ExitCode.OK


def _show_plan(common: Common, output: Output, plan: "MirrorPlan") -> int:
    rows: list[Row] = [
        dict(
            zip(
                PLAN_COLUMNS,
                (each.topic, each.partition, each.start_offset, each.end_offset, each.size),
                strict=True,
            )
        )
        for each in plan.ranges
    ]
    write_rows(common, output, PLAN_COLUMNS, rows)
    for topic, partitions in plan.missing.items():
        common.say(f"kctl pipeline: the target has no topic {topic}; --create makes it with {partitions} partitions")
    common.say(
        f"kctl pipeline: dry run, nothing was written: {plan.offsets} offsets, about {plan.size_bytes} bytes in "
        f"the log, {len(plan.ranges)} tasks; {plan.resumed} partitions go on where an earlier run ended"
    )
    return ExitCode.OK
