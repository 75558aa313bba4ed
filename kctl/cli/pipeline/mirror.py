"""`kctl pipeline mirror`: its options; kctl.pipeline.jobs.mirror does what they say, imported only then.

Shown by tests/pipeline/test_mirror_command.py.
"""

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
    SparkConfOption,
    SparkLogOption,
    WorkerPythonOption,
    run_job,
    spark_choice,
)
from kctl.cli.pipeline.target_options import ToBootstrapOption, ToConfigOption, target_properties

if TYPE_CHECKING:
    from kctl.pipeline.jobs.mirror import MirrorPlan

PLAN_COLUMNS = ("topic", "partition", "start", "end", "offsets")
SHAPES = (Output.TABLE, Output.JSON)


@with_common(*SHAPES)
def mirror(
    common: Common,
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC...", help="What to mirror.")],
    to_bootstrap: ToBootstrapOption = None,
    to_config: ToConfigOption = None,
    to_topic: Annotated[
        str | None, typer.Option("--to-topic", metavar="TOPIC", help="Where one topic goes; else the same name.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Of this mirror: it goes on where the last run of it ended."),
    ] = None,
    create: Annotated[
        bool, typer.Option("--create", help="Make topics that the target lacks, with as many partitions.")
    ] = False,
    continuous: Annotated[bool, typer.Option("--continuous", help="Go on with what comes, until Ctrl-C.")] = False,
    interval: Annotated[
        int | None,
        typer.Option(
            "--interval", click_type=DurationType(), metavar="DURATION", help="From one look to the next (10s)."
        ),
    ] = None,
    allow_loss: Annotated[
        bool, typer.Option("--allow-loss", help="Go on where records were deleted before they were mirrored.")
    ] = False,
    dry_run: DryRunOption = False,
    master: MasterOption = "local[*]",
    spark_conf: SparkConfOption = None,
    spark_log: SparkLogOption = None,
    worker_python: WorkerPythonOption = None,
) -> int:
    """Copy topics to another cluster, each record exactly once.

    Partitions, headers and timestamps stay the same. Run it again to go on: after a kill at any point, or for what
    has come since. docs/pipeline.md.
    """
    if (to_topic, to_bootstrap, to_config) == (None, None, None):
        raise click.UsageError("where to? --to-bootstrap, --to-config or --to-topic say it.")
    if interval is not None and not continuous:
        raise click.UsageError("--interval is for --continuous.")
    choice = spark_choice(master, spark_conf, spark_log, worker_python)
    output = common.choose_output(*SHAPES)

    from kctl.pipeline.jobs.mirror import INTERVAL_MS, MirrorRequest, plan_mirror  # the client: not for --help
    from kctl.pipeline.jobs.mirror import mirror as job

    with target_properties(common, to_bootstrap, to_config, is_local=choice.is_local) as target:
        request = MirrorRequest(
            tuple(dict.fromkeys(topics)),
            {},
            target,
            to_topic,
            name,
            create,
            (INTERVAL_MS if interval is None else interval) if continuous else None,
            allow_loss,
        )
        if dry_run:
            plan = run_job(
                common, choice, "mirror", lambda properties, *_: plan_mirror(request._replace(properties=properties))
            )
            return _show_plan(common, output, plan)
        result = run_job(
            common,
            choice,
            "mirror",
            lambda properties, options, on_progress: job(
                request._replace(properties=properties), options=options, on_progress=on_progress
            ),
        )
    row: Row = dict(result._asdict())
    _print(common, output, tuple(row), [row])
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
    _print(common, output, PLAN_COLUMNS, rows)
    for topic, partitions in plan.missing.items():
        common.say(
            f"kctl pipeline mirror: the target has no topic {topic}; --create makes it with {partitions} partitions"
        )
    common.say(
        f"kctl pipeline mirror: dry run, nothing was written: {plan.offsets} offsets, about {plan.size_bytes} bytes in "
        f"the log, {len(plan.ranges)} tasks; {plan.resumed} partitions go on where an earlier run ended"
    )
    return ExitCode.OK


def _print(common: Common, output: Output, columns: tuple[str, ...], rows: list[Row]) -> None:
    out = DataOut(common.environment.stdout)
    for line in [json_text(rows)] if output is Output.JSON else table_lines(columns, rows):
        out.write_line(line)
    out.flush()
