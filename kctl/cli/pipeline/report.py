"""`kctl pipeline report`: its options; kctl.pipeline.jobs.report does what they say, imported only then.

Shown by tests/pipeline/test_report_command.py.
"""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import typer

from kctl.cli.data_out import DataOut
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.formats.rows import Row
from kctl.cli.formats.rows_out import write_rows
from kctl.cli.formats.terminal import harmless_text
from kctl.cli.options import Common, DurationType, Output, with_common, with_options
from kctl.cli.pipeline.path_type import PathType
from kctl.cli.pipeline.spark_options import SparkOptions, run_job, spark_options

if TYPE_CHECKING:
    from kctl.pipeline.jobs.report.job import ReportPlan
    from kctl.pipeline.jobs.report.result import FleetReport

LEAST_QUANTILE, MOST_QUANTILE = 0.5, 0.99999
MOST_HEADROOM = 100.0
PLAN_COLUMNS = ("place", "bytes", "file")
SHAPES = (Output.TABLE, Output.JSON)


@with_common(*SHAPES, fetches=False)
@with_options(spark=spark_options)
def report(
    common: Common,
    spark: SparkOptions,
    paths: Annotated[
        list[Path],
        typer.Argument(
            click_type=PathType(),
            metavar="PATH...",
            help="Files of probe --output jsonl and --trace-file, and folders of them.",
        ),
    ],
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            click_type=PathType(),
            metavar="FILE",
            help="Write one page with plots too; it needs nothing else.",
        ),
    ] = None,
    place: Annotated[
        str | None,
        typer.Option("--place", metavar="REGEX", help="Finds the place in a path: its group. Else: the first folder."),
    ] = None,
    quantile: Annotated[
        float, typer.Option("--quantile", metavar="SHARE", help="Of healthy attempts, so many must not expire.")
    ] = 0.999,
    headroom: Annotated[
        float, typer.Option("--headroom", metavar="FACTOR", help="So much longer than what was seen are limits.")
    ] = 1.5,
    cert_warn: Annotated[
        int | None,
        typer.Option(
            "--cert-warn",
            click_type=DurationType(),
            metavar="DURATION",
            help="Tell of certificates that end within this time (21d).",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 3 for any finding that is no note, bad lines among them.")
    ] = False,
) -> int:
    """Sum up probe and trace files of a fleet.

    Shows latencies, expiries, flapping and certificates. For each place it tells the --connect-timeout,
    --request-timeout and --api-timeout to use, and how many healthy attempts would have expired with them.
    Spark is used for much input, or with --master. docs/pipeline-report.md has the method.
    """
    if not LEAST_QUANTILE <= quantile <= MOST_QUANTILE:
        raise click.BadParameter(f"{quantile:g} is not from 0.5 to 0.99999", param_hint="'--quantile'")
    if not 1 <= headroom <= MOST_HEADROOM:
        raise click.BadParameter(f"{headroom:g} is not from 1 to 100", param_hint="'--headroom'")
    output = common.choose_output(*SHAPES)

    from kctl.pipeline.jobs.report.findings import CERT_WARN_MS
    from kctl.pipeline.jobs.report.job import plan_report, run_report
    from kctl.pipeline.jobs.report.limits import Wanted

    plan = plan_report(paths, place=_pattern(place), spark=True if spark.asked else None)
    if spark.dry_run:
        return _show_plan(common, output, plan)
    found = run_job(
        common,
        spark,
        lambda _, options, on_progress: run_report(
            plan,
            wanted=Wanted(quantile, headroom),
            cert_warn_ms=CERT_WARN_MS if cert_warn is None else cert_warn,
            options=options,
            clock=common.environment.clock,
            on_progress=on_progress,
        ),
    )
    _refuse_nothing(found)
    _show(common, output, found)
    if html is not None:
        _write_page(html, found)
        common.say(f"kctl pipeline: {html} has it as a page")
    return _exit_code(common, found, strict=strict)


def _pattern(text: str | None) -> re.Pattern[str] | None:
    try:
        return None if text is None else re.compile(text)
    except re.error as e:
        raise click.BadParameter(f"no regular expression: {e}", param_hint="'--place'") from None


def _show_plan(common: Common, output: Output, plan: "ReportPlan") -> int:
    rows: list[Row] = [
        dict(zip(PLAN_COLUMNS, (file.place, file.size_bytes, file.path), strict=True)) for file in plan.files
    ]
    write_rows(common, output, PLAN_COLUMNS, rows)
    from kctl.pipeline.jobs.report.words import count_words

    how = f"{len(plan.groups)} Spark tasks" if plan.uses_spark else "this process, without Spark"
    files = count_words(len(plan.files), "file")
    common.say(f"kctl pipeline: dry run, nothing was read: {files}, {plan.size_bytes} bytes, {how}")
    return ExitCode.OK


def _show(common: Common, output: Output, found: "FleetReport") -> None:
    out = DataOut(common.environment.stdout)
    if output is Output.JSON:
        from kctl.pipeline.jobs.report.result import as_object

        out.write_line(json.dumps(as_object(found), indent=1))
    else:
        from kctl.cli.pipeline.report_table import report_lines

        for line in report_lines(found, common.environment.table_width):
            out.write_line(line)
    out.flush()


def _write_page(path: Path, found: "FleetReport") -> None:
    from kctl.pipeline.jobs.report.page import page

    data = page(found).encode("utf-8", "replace")
    try:
        if path.exists() and not path.is_file():  # a device or a pipe is written to; only a file is replaced
            path.write_bytes(data)
        else:
            _replace(path.resolve(), data)
    except OSError as e:
        raise CommandError(ExitCode.USAGE, f"--html {path}: {e.strerror}") from None


def _replace(path: Path, data: bytes) -> None:
    """Write a file of which nobody ever sees a part; where that fails, what was there before stays."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def _refuse_nothing(found: "FleetReport") -> None:
    """Raise CommandError (24) where nothing could be used."""
    if any(node.attempts or node.requests for place in found.places for node in place.nodes):
        return
    from kctl.pipeline.jobs.report.words import count_words

    what = _bad_lines(found) if found.bad_lines else "there is no result of a probe and no trace in it"
    raise CommandError(
        ExitCode.DATA,
        f"nothing to report of {count_words(found.files, 'file')}: {what}",
        "kctl probe --watch --output jsonl > FILE, or --trace-file FILE on any command",
    )


def _bad_lines(found: "FleetReport") -> str:
    from kctl.pipeline.jobs.report.words import count_words, line_words

    first = harmless_text(line_words(found.bad_samples[0]))
    return f"{count_words(found.bad_lines, 'line')} could not be used; the first: {first}"


def _exit_code(common: Common, found: "FleetReport", *, strict: bool) -> int:
    """Return 3 where that is wanted, and something is wrong; tell of lines that could not be used."""
    if found.bad_lines:
        common.say(f"kctl pipeline: {_bad_lines(found)}")
    is_wrong = any(finding.severity != "note" for finding in found.findings)
    return ExitCode.DEGRADED if strict and is_wrong else ExitCode.OK
