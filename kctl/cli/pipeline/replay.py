"""Options of `kctl pipeline replay`."""

import re
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
from kctl.cli.pipeline.spark_options import AllowLossOption, SparkOptions, result_of, spark_options, target_text
from kctl.cli.pipeline.target_options import KeepPartitionsOption, KeepTimestampsOption, TargetOptions, target_options
from kctl.client.wording import counted
from kctl.pipeline.locations import parse_location

if TYPE_CHECKING:
    from kctl.grammar.offsets import AtTime
    from kctl.pipeline.jobs.replay import WantedOffsets
    from kctl.pipeline.jobs.replay_task import Replayed

COLUMNS = ("topic", "records")
MOST_ATTEMPTS = 1_000_000


@with_common(*SHAPES)
@with_options(target=target_options, spark=spark_options)
def replay(
    common: Common,
    target: TargetOptions,
    spark: SparkOptions,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Topic to read, such as a dead-letter topic.")],
    export: Annotated[
        str | None,
        typer.Option(
            "--from-export",
            parser=target_text,
            metavar="LOCATION",
            help="Export to read the topic from: a directory, an s3://, gs://, or abfs:// URL, "
            "iceberg:CATALOG.DB.TABLE, or delta:URL.",
        ),
    ] = None,
    topic_header: Annotated[
        str | None,
        typer.Option(
            "--topic-from-header",
            metavar="NAME",
            help="Header with the target topic. Records without the header go to --to-topic.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="TIME", help="Start time of the records to replay, such as 2024-05-01T12:00:00Z or -1h."
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="End time of the records to replay (exclusive).")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="PATTERN", help="Regular expression that the key of records must match."),
    ] = None,
    headers: Annotated[
        list[str] | None,
        typer.Option("--header", metavar="NAME[=VALUE]", help="Header that records must have. Repeatable."),
    ] = None,
    offsets: Annotated[
        list[str] | None,
        typer.Option(
            "--offset",
            metavar="RANGE",
            help="Offsets to replay: FROM:TO or PARTITION=FROM:TO. TO is exclusive. Repeatable.",
        ),
    ] = None,
    jq: Annotated[
        str | None,
        typer.Option(
            "--jq",
            metavar="PROGRAM",
            help="Select records with a jq program. Its input is the record as in consume --output jsonl.",
        ),
    ] = None,
    rate: Annotated[
        str | None, typer.Option("--rate", metavar="N/s", help="Maximum rate of records, such as 500/s.")
    ] = None,
    max_attempts: Annotated[
        int,
        typer.Option(
            "--max-attempts",
            min=1,
            max=MOST_ATTEMPTS,
            metavar="N",
            help="Maximum number of replays of a record, counted in the header kctl-replay-attempts.",
        ),
    ] = 3,
    keep_partitions: KeepPartitionsOption = False,
    keep_timestamps: KeepTimestampsOption = False,
    allow_loss: AllowLossOption = False,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Name of the replay. A run with the same name continues where the last one stopped.",
        ),
    ] = None,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
) -> int:
    """Produce the records of a topic, export, or table again, each record once.

    Run the command again with the same options, or the same --name, to continue. --dry-run counts the records and
    writes nothing.
    """
    if target.topic is None and topic_header is None:
        raise click.UsageError("Choose a target: --to-topic, or --topic-from-header.")
    output = common.choose_output(*SHAPES)

    from kctl.pipeline.session import check_packages

    check_packages()  # a dry run counts records with Spark, too

    from kctl.grammar.sizes import parse_rate
    from kctl.pipeline.jobs.replay import ReplayRequest
    from kctl.pipeline.jobs.replay import replay as job
    from kctl.pipeline.record_filter import RecordFilter

    wanted = RecordFilter(
        None if since is None else _time_ms(common, since, "--since", is_named=name is not None),
        None if until is None else _time_ms(common, until, "--until", is_named=name is not None),
        key,
        tuple(map(_header, headers or ())),
        jq,
    )
    with target.properties(spark.settings_of(common), is_local=spark.is_local) as to_properties:
        request = ReplayRequest(
            topic,
            {},
            to_properties,
            None if export is None else parse_location(export),
            target.topic,
            topic_header,
            wanted,
            tuple(map(_offsets, offsets or ())),
            None if rate is None else click.parsed(parse_rate, rate, "'--rate'"),
            max_attempts,
            keep_partitions,
            keep_timestamps,
            name,
            not spark.dry_run,
            allow_loss,
        )
        found = result_of(common, spark, job, request)
    return _show(common, output, found, is_dry_run=spark.dry_run)


def _show(common: Common, output: Output, found: "Replayed", *, is_dry_run: bool) -> int:
    rows: list[Row] = [{"topic": topic, "records": count} for topic, count in found.topics]
    facts = {
        "executed": not is_dry_run,
        "read": found.read,
        "filtered": found.filtered,
        "exhausted": found.exhausted,
        "misplaced": found.misplaced,
    }
    write_listing(common.environment, output, Listing("replayed", COLUMNS, rows, facts))
    what = "dry run: would replay" if is_dry_run else "replayed"
    common.say(f"kctl pipeline: {what} {counted(found.records, 'record')} (records read: {found.read})")
    _report_skipped(common, found)
    return ExitCode.PARTIAL_FAILURE if found.misplaced else ExitCode.OK


def _report_skipped(common: Common, found: "Replayed") -> None:
    if found.exhausted:
        common.say(
            f"kctl pipeline: {counted(found.exhausted, 'record')} skipped, because the limit of replays is reached "
            f"(--max-attempts)"
        )
    if found.misplaced:
        common.say(
            f"kctl pipeline: {counted(found.misplaced, 'record')} skipped, because the target topic does not exist, "
            f"is internal, or is the topic to read"
        )


def _time_ms(common: Common, text: str, flag: str, *, is_named: bool) -> int:
    """Return a time. Print a relative time in absolute form, which a rerun needs to continue this replay.

    Raises: click.UsageError: a named replay has a relative time.
    """
    wall_ms = common.environment.clock.wall_ms()
    at, later = (_instant(text, flag, wall_ms=each) for each in (wall_ms, wall_ms + 1))
    if at != later and is_named:
        raise click.UsageError(
            f"{flag} {text} gives another time in each run, which --name does not allow: use {flag} {str(at)[1:]}."
        )
    if at != later:
        common.say(
            f"kctl pipeline: {flag} {text} is {str(at)[1:]} in this run. To continue this run later, use {flag} "
            f"{str(at)[1:]}"
        )
    return at.at_ms


def _instant(text: str, flag: str, *, wall_ms: int) -> "AtTime":
    from kctl.grammar.offset_grammar import parse_offset
    from kctl.grammar.offsets import AtTime

    spec = click.parsed(partial(parse_offset, wall_ms=wall_ms), f"@{text}", f"'{flag}'")
    if not isinstance(spec.start, AtTime) or spec.end is not None or spec.is_open:
        raise click.BadParameter(
            f"{text[:80]!r} is not a time: use a time such as 2024-05-01T12:00:00Z or -1h", param_hint=f"'{flag}'"
        )
    return spec.start


def _header(text: str) -> tuple[str, str | None]:
    name, equals, value = text.partition("=")
    return name, value if equals else None


def _offsets(text: str) -> "WantedOffsets":
    from kctl.pipeline.jobs.replay import WantedOffsets

    found = re.fullmatch(r"(?:(\d{1,9})=)?(\d{0,18}):(\d{0,18})", text)
    if found is None or text.endswith("=:") or text == ":":
        problem = f"{text[:40]!r} is not a range: use FROM:TO or PARTITION=FROM:TO, such as 0=100:200"
        raise click.BadParameter(problem, param_hint="'--offset'")
    partition, start, end = (int(part) if part else None for part in found.groups())
    return WantedOffsets(partition, start, end)
