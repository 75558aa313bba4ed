"""Options of `kctl pipeline mirror`."""

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli import click
from kctl.cli.changes import YesUnneeded
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import SHAPES, Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common, with_common, with_options
from kctl.cli.output_options import Output
from kctl.cli.pipeline.export import parsed_topics
from kctl.cli.pipeline.spark_options import (
    ContinuingOptions,
    SparkOptions,
    continuing_options,
    plan_of,
    result_of,
    spark_options,
)
from kctl.cli.pipeline.target_options import (
    TargetOptions,
    facts_text,
    group_selection,
    say_groups,
    say_problems,
    say_refused_configs,
    target_options,
)
from kctl.client.clock import duration_text
from kctl.client.wording import counted

if TYPE_CHECKING:
    from kctl.pipeline.jobs.mirror import MirrorPlan
    from kctl.pipeline.ranges import RangeBound

PLAN_COLUMNS = ("topic", "partition", "start", "end", "offsets")


@with_common(*SHAPES)
@with_options(target=target_options, continuing=continuing_options, spark=spark_options)
def mirror(
    common: Common,
    target: TargetOptions,
    continuing: ContinuingOptions,
    spark: SparkOptions,
    topics: Annotated[
        list[str],
        typer.Argument(
            metavar="TOPIC...",
            help="Topics to mirror, or '/orders-.*/' for all topics that match, including new topics.",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Name of the mirror. A run with the same name continues where the last one stopped.",
        ),
    ] = None,
    create: Annotated[
        bool,
        typer.Option("--create", help="Create missing topics and partitions with the configs of the source."),
    ] = False,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart", help="Copy all records again, and append them to the existing records of the target."
        ),
    ] = False,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--groups",
            metavar="GROUP",
            help="Group, or '/app-.*/', whose committed offsets are copied. Repeatable.",
        ),
    ] = None,
    from_position: Annotated[
        str | None,
        typer.Option(
            "--from-position",
            metavar="OFFSET",
            help="Source offsets to start at: 0=500,1=700 (PARTITION=OFFSET), or end to copy only new records "
            "[default: where the last run stopped].",
        ),
    ] = None,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
) -> int:
    """Copy topics to another cluster, each record exactly once.

    Partitions, headers, and timestamps stay the same. Run the command again to continue. See docs/pipeline-mirror.md.
    """
    if not target.is_given:
        raise click.UsageError("Choose a target: --to-bootstrap, --to-config, or --to-topic.")
    names, pattern = parsed_topics(topics)
    start = _start(names, from_position, restart=restart)
    output = common.choose_output(*SHAPES)

    from kctl.pipeline.jobs.mirror import INTERVAL_MS, MirrorRequest, plan_mirror  # the client: not for --help
    from kctl.pipeline.jobs.mirror import mirror as job

    with target.properties(spark.settings_of(common), is_local=spark.is_local) as to_properties:
        request = MirrorRequest(
            names,
            {},
            to_properties,
            target.topic,
            name,
            create,
            continuing.interval_ms_or(INTERVAL_MS),
            continuing.allow_loss,
            start,
            group_selection(groups),
            pattern=pattern,
        )
        if spark.dry_run:
            plan = partial(plan_mirror, options=spark.session_options())
            return _show_plan(common, output, plan_of(common, spark, plan, request), allow_loss=continuing.allow_loss)
        found = result_of(common, spark, job, request)
    row: Row = {
        name: value for name, value in found._asdict().items() if name not in ("group_offsets", "refused_configs")
    }
    facts: dict[str, object] = {"groups": [each._asdict() for each in found.group_offsets]} if groups else {}
    if found.refused_configs:
        facts["refused_configs"] = [each._asdict() for each in found.refused_configs]
    write_listing(common.environment, output, Listing("result", tuple(row), [row], facts))
    say_groups(common, found.group_offsets)
    say_refused_configs(common, found.refused_configs)
    is_whole = not found.refused_configs and not any(each.is_left_behind for each in found.group_offsets)
    return ExitCode.OK if is_whole else ExitCode.PARTIAL_FAILURE


def _offsets(text: str) -> dict[int, int]:
    offsets: dict[int, int] = {}
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,9})=(\d{1,18})\s*", part)
        if found is None:
            problem = f"{part[:40]!r} is not in the form PARTITION=OFFSET: use a list such as 0=500,1=700, or end"
            raise click.BadParameter(problem, param_hint="'--from-position'")
        offsets[int(found[1])] = int(found[2])
    return offsets


def _start(topics: Sequence[str], from_position: str | None, *, restart: bool) -> "RangeBound | None":
    if from_position is None and not restart:
        return None
    if from_position is not None and restart:
        raise click.UsageError("--restart cannot be combined with --from-position.")

    from kctl.client.cluster import TopicPartition  # the client: not for --help
    from kctl.pipeline.ranges import FROM_EARLIEST, TO_LATEST, RangeBound

    if from_position is None:
        return FROM_EARLIEST._replace(option="--restart")
    if from_position == "end":
        return TO_LATEST._replace(option="--from-position")
    if len(topics) != 1:
        raise click.UsageError("--from-position with offsets needs exactly one topic name.")
    offsets = {TopicPartition(topics[0], number): at for number, at in _offsets(from_position).items()}
    return RangeBound(partitions=tuple(sorted(offsets.items())), option="--from-position")


def _show_plan(common: Common, output: Output, plan: "MirrorPlan", *, allow_loss: bool) -> int:
    fields = ((each.topic, each.partition, each.start_offset, each.end_offset, each.size) for each in plan.ranges)
    rows: list[Row] = [dict(zip(PLAN_COLUMNS, each, strict=True)) for each in fields]
    write_listing(common.environment, output, Listing("plan", PLAN_COLUMNS, rows))
    for topic, facts in plan.missing.items():
        common.say(
            f"kctl pipeline: topic {topic} does not exist in the target. Add --create to create it with "
            f"{facts_text(facts)}"
        )
    for topic, count in plan.grown.items():
        common.say(
            f"kctl pipeline: dry run: would add partitions to target topic {topic} (current partitions: {count})"
        )
    for topic, limit_ms in plan.limits_ms.items():
        common.say(
            f"kctl pipeline: target topic {topic} rejects records with a timestamp more than "
            f"{duration_text(limit_ms)} in the future (default of message.timestamp.after.max.ms)"
        )
    say_problems(common, plan.problems)
    common.say(
        f"kctl pipeline: dry run: would mirror {plan.offsets} offsets (about {plan.size_bytes} bytes in the log) in "
        f"{counted(len(plan.tasks), 'task')}. Partitions continued from an earlier run: {plan.resumed}"
    )
    return ExitCode.DATA if plan.problems and not allow_loss else ExitCode.OK
