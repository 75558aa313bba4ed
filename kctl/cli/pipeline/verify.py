"""Options of `kctl pipeline verify`."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli import click
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import SHAPES, Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common, with_common, with_options
from kctl.cli.output_options import Output
from kctl.cli.pipeline.spark_options import SparkOptions, plan_of, result_of, spark_options, target_text
from kctl.cli.pipeline.target_options import TargetOptions, group_selection, target_options
from kctl.client.wording import counted
from kctl.pipeline.locations import parse_location

if TYPE_CHECKING:
    from kctl.pipeline.jobs.group_proofs import GroupProof
    from kctl.pipeline.jobs.verify import VerifyPlan, VerifyResult
    from kctl.pipeline.record_diff import Sample

KINDS = ("missing", "changed", "duplicate", "reordered", "extra", "behind")
COLUMNS = ("partition", "source_records", "target_records", *KINDS)
PLAN_COLUMNS = ("side", "partition", "records", "tasks")


@with_common(*SHAPES)
@with_options(target=target_options, spark=spark_options)
def verify(
    common: Common,
    target: TargetOptions,
    spark: SparkOptions,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Source topic.")],
    export: Annotated[
        str | None,
        typer.Option(
            "--to-export",
            parser=target_text,
            metavar="LOCATION",
            help="Export or table to compare with the source. The comparison includes offsets.",
        ),
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--groups",
            metavar="GROUP",
            help="Group, or '/app-.*/', whose next record must be the same in the target. Repeatable.",
        ),
    ] = None,
    ignore_timestamps: Annotated[
        bool, typer.Option("--ignore-timestamps", help="Ignore differences in timestamps.")
    ] = False,
    allow_behind: Annotated[
        bool,
        typer.Option("--allow-behind", help="Ignore records that are missing at the end of the target."),
    ] = False,
) -> int:
    """Compare two topics, or a topic and its export.

    Exits with 3 if records are missing, changed, duplicate, or reordered. Partitions are compared by number. See
    docs/pipeline-import.md.
    """
    if export is not None and target.is_given:
        raise click.UsageError("--to-export cannot be combined with another --to option.")
    if export is None and (target.topic or topic) == topic and not target.is_another_cluster:
        raise click.UsageError("Choose a target to compare with: --to-topic, --to-bootstrap, or --to-export.")
    output = common.choose_output(*SHAPES)

    from kctl.pipeline.fingerprints import Compared  # the client: not wanted for --help
    from kctl.pipeline.jobs.verify import VerifyRequest, plan_verify
    from kctl.pipeline.jobs.verify import verify as job

    with target.properties(spark.settings_of(common), is_local=spark.is_local) as to_properties:
        folder = None if export is None else parse_location(export)
        compared = Compared(timestamps=not ignore_timestamps)
        chosen = group_selection(groups)
        request = VerifyRequest(topic, {}, target.topic or topic, to_properties, folder, compared, groups=chosen)
        if spark.dry_run:
            plan = partial(plan_verify, options=spark.session_options())
            return _show_plan(common, output, plan_of(common, spark, plan, request))
        result = result_of(common, spark, job, request)
    return _show(common, output, result, allow_behind=allow_behind)


def _show_plan(common: Common, output: Output, plan: "VerifyPlan") -> int:
    sizes: dict[tuple[bool, int], list[int]] = {}
    for piece in plan.pieces:
        sizes.setdefault((piece.is_target, piece.partition), []).append(piece.size)
    rows: list[Row] = []
    for is_target, side in ((False, "source"), (True, "target")):
        for partition in plan.partitions:
            each = sizes.get((is_target, partition), [])
            rows.append(dict(zip(PLAN_COLUMNS, (side, partition, sum(each), len(each)), strict=True)))
    write_listing(common.environment, output, Listing("plan", PLAN_COLUMNS, rows))
    common.say(
        f"kctl pipeline: dry run: would compare {plan.offsets} offsets (about {plan.size_bytes} bytes) in "
        f"{counted(len(plan.tasks), 'task')}, and read different ranges again"
    )
    return ExitCode.OK


def _show(common: Common, output: Output, result: "VerifyResult", *, allow_behind: bool) -> int:
    rows: list[Row] = [
        {
            "partition": each.partition,
            "source_records": each.source_records,
            "target_records": each.target_records,
            **{kind: getattr(each.differences, kind) for kind in KINDS},
        }
        for each in result.partitions
    ]
    samples_of = [[sample._asdict() for sample in each.differences.samples] for each in result.partitions]
    objects = [{**row, "samples": samples} for row, samples in zip(rows, samples_of, strict=True)]
    facts: dict[str, object] = {"equal": result.is_equal}
    if result.groups:
        facts["groups"] = [each._asdict() for each in result.groups]
    write_listing(common.environment, output, Listing("differences", COLUMNS, rows, facts, objects=objects))
    differing = [each for each in result.partitions if not each.is_equal]
    wrong = [each for each in differing if not (allow_behind and each.is_behind_only)]
    for each in differing:
        for kind in KINDS:
            samples = [sample for sample in each.differences.samples if sample.kind == kind]
            if samples:
                more = ", ..." if len(samples) < getattr(each.differences, kind) else ""
                common.say(f"  {kind} in partition {each.partition}: {_where(samples)}{more}")
    what = f"{len(wrong)} of {len(result.partitions)} partitions differ" if wrong else "no differences"
    records = sum(each.source_records for each in result.partitions)
    common.say(f"kctl pipeline: {records} records of the source: {what}")
    lost = [proof for proof in result.groups if proof.continues != "same"]
    for proof in lost:
        common.say(f"  group {proof.group} on {proof.topic}-{proof.partition}: {_continues(proof)}")
    if result.groups:
        same = len(result.groups) - len(lost)
        common.say(f"kctl pipeline: {same} of {len(result.groups)} group offsets continue at the same record")
    return ExitCode.PARTIAL_FAILURE if wrong or lost else ExitCode.OK


def _continues(proof: "GroupProof") -> str:
    at = f"at offset {proof.target_offset} (offset in the source: {proof.source_offset})"
    return {
        "repeats": f"repeats {counted(proof.records, 'record')} {at}",
        "skips": f"skips {counted(proof.records, 'record')} {at}",
        "differs": f"continues with a different record {at}",
        "missing": f"has no committed offset in the target (offset in the source: {proof.source_offset})",
    }[proof.continues]


def _where(samples: Sequence["Sample"]) -> str:
    first = samples[0]
    on_both = first.source_offset is not None and first.target_offset is not None
    side = "source/target" if on_both else "target" if first.source_offset is None else "source"
    offsets = [
        "/".join(str(offset) for offset in (sample.source_offset, sample.target_offset) if offset is not None)
        for sample in samples
    ]
    return f"{side} offset{'' if len(offsets) == 1 else 's'} {', '.join(offsets)}"
