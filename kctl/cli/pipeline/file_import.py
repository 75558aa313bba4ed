"""Options of `kctl pipeline import`."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli.changes import YesUnneeded
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import SHAPES, Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common, with_common, with_options
from kctl.cli.output_options import Output
from kctl.cli.pipeline.spark_options import (
    AllowLossOption,
    SparkOptions,
    files_at,
    files_text,
    plan_of,
    result_of,
    spark_options,
    target_text,
)
from kctl.cli.pipeline.target_options import (
    KeepPartitionsOption,
    KeepTimestampsOption,
    ToTopicOption,
    facts_text,
    group_selection,
    say_groups,
    say_problems,
    say_refused_configs,
)
from kctl.client.wording import counted, listed, one_line
from kctl.pipeline.locations import parse_location

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
            parser=target_text,
            metavar="LOCATION",
            help="Export to read: a directory, an s3://, gs://, or abfs:// URL, or a table.",
        ),
    ],
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="TOPIC", help="Exported topic to import. Repeatable [default: all]."),
    ] = None,
    to_topic: ToTopicOption = None,
    keep_partitions: KeepPartitionsOption = False,
    keep_timestamps: KeepTimestampsOption = False,
    unordered: Annotated[
        bool,
        typer.Option(
            "--unordered", help="Import the ranges of a partition in parallel, without keeping the order of records."
        ),
    ] = False,
    create: Annotated[
        bool,
        typer.Option(
            "--create", help="Create missing topics with the partition counts and configs of the exported topics."
        ),
    ] = False,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--groups",
            metavar="GROUP",
            help="Group, or '/app-.*/', whose exported offsets are restored. Repeatable.",
        ),
    ] = None,
    allow_loss: AllowLossOption = False,
    progress: Annotated[
        str | None,
        typer.Option(
            "--progress",
            parser=files_text,
            metavar="LOCATION",
            help="Location where the progress of the import is stored. Required for tables [default: in the export].",
        ),
    ] = None,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
) -> int:
    """Produce the records of an export, each at least once.

    Run the command again to continue. Completed ranges are skipped.
    """
    output = common.choose_output(*SHAPES)

    from kctl.pipeline.jobs.file_import import ImportRequest, import_files, plan_import  # not wanted for --help

    request = ImportRequest(
        parse_location(folder),
        {},
        topics=tuple(dict.fromkeys(topics or ())),
        topic=to_topic,
        keep_partitions=keep_partitions,
        keep_timestamps=keep_timestamps,
        is_ordered=not unordered,
        create=create,
        groups=group_selection(groups),
        allow_loss=allow_loss,
        progress=None if progress is None else files_at(progress),
    )
    if spark.dry_run:
        plan = partial(plan_import, options=spark.session_options())
        return _show_plan(common, output, plan_of(common, spark, plan, request), allow_loss=allow_loss)
    found = result_of(common, spark, import_files, request)
    row: Row = {name: getattr(found, name) for name in ("records", "ranges", "skipped")}
    facts: dict[str, object] = {}
    if create:
        facts["created"] = list(found.created)
        facts["created_topics"] = [
            {"topic": topic, "partitions": each.partitions, "configs": dict(each.configs or {})}
            for topic, each in found.created.items()
        ]
    if found.refused_configs:
        facts["refused_configs"] = [each._asdict() for each in found.refused_configs]
    if groups:
        facts["groups"] = [each._asdict() for each in found.group_offsets]
    write_listing(common.environment, output, Listing("result", tuple(row), [row], facts))
    for topic, of_topic in found.created.items():
        common.say(f"kctl pipeline: topic {topic} created with {facts_text(of_topic)}")
    say_refused_configs(common, found.refused_configs)
    say_groups(common, found.group_offsets)
    is_whole = not found.refused_configs and not any(each.is_left_behind for each in found.group_offsets)
    return ExitCode.OK if is_whole else ExitCode.PARTIAL_FAILURE


def _show_plan(common: Common, output: Output, plan: "ImportPlan", *, allow_loss: bool) -> int:
    groups: list[object] = [
        {"group": group, "topic": topic, "partition": number, "source_offset": offset}
        for group in plan.groups
        for topic, some in sorted(plan.facts.groups[group].items())
        for number, offset in sorted(some.items())
    ]
    more = {"groups": groups} if plan.groups else {}
    write_listing(common.environment, output, Listing("plan", PLAN_COLUMNS, _plan_rows(plan), more))
    common.say(
        f"kctl pipeline: dry run: would import {plan.records} records ({plan.size_bytes} bytes) in "
        f"{counted(len(plan.tasks), 'task')}. Ranges already imported: {plan.done}"
    )
    for topic, facts in plan.missing.items():
        common.say(f"kctl pipeline: dry run: would create topic {topic} with {facts_text(facts)}")
    for group in plan.groups:
        places = listed(
            f"{topic}-{number} at {offset}"
            for topic, some in sorted(plan.facts.groups[group].items())
            for number, offset in sorted(some.items())
        )
        what = one_line(f"dry run: group {group} would continue with the records at these exported offsets: {places}")
        common.say(f"kctl pipeline: {what}")
    say_problems(common, plan.problems)
    return ExitCode.DATA if plan.problems and not allow_loss else ExitCode.OK


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
