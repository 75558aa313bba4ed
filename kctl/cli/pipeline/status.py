"""Options and output of `kctl pipeline status`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import SHAPES, Listing, write_lines, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common, with_common
from kctl.cli.pipeline.spark_options import notices_of_stores, target_text, task_properties
from kctl.client.clock import duration_text
from kctl.client.wording import counted
from kctl.pipeline.locations import parse_location

if TYPE_CHECKING:
    from kctl.cli.formats.prometheus import Metric
    from kctl.pipeline.jobs.status import TargetStatus

COLUMNS = ("topic", "partition", "offset", "end", "lag", "newest_ms", "age_ms", "state")


@with_common(*SHAPES)
def status(
    common: Common,
    location: Annotated[
        str,
        typer.Argument(
            parser=target_text,
            metavar="LOCATION",
            help="Export or sync to show: a directory, an s3://, gs://, or abfs:// URL, or an iceberg: or "
            "delta: table.",
        ),
    ],
    prometheus: Annotated[
        bool, typer.Option("--prometheus", help="Print the metrics in the Prometheus text format.")
    ] = False,
) -> int:
    """Show offsets, lag, age, and size of an export.

    Does not need Spark. With bootstrap servers, also shows the ends of the partitions and the lag.
    """
    output = common.choose_output(*SHAPES)

    from kctl.pipeline.jobs.status import StatusRequest  # the client: not wanted for --help
    from kctl.pipeline.jobs.status import status as job
    from kctl.pipeline.references import lent

    settings = common.fail_fast_settings.by_name
    with lent(task_properties(settings, is_local=True)) as properties, notices_of_stores(common):
        has_cluster = "bootstrap.servers" in settings
        found = job(StatusRequest(parse_location(location), properties, has_cluster, common.events))
    if prometheus:
        from kctl.cli.formats.prometheus import exposition

        write_lines(common.environment, exposition(_metrics(found)).splitlines())
        return ExitCode.OK
    rows: list[Row] = [{name: getattr(each, name) for name in COLUMNS} for each in found.partitions]
    facts = {**found.facts._asdict(), "committed_age_ms": found.age_ms}
    write_listing(common.environment, output, Listing("export", COLUMNS, rows, facts))
    common.say(f"kctl pipeline: {_summary(found)}")
    return ExitCode.OK


def _summary(found: "TargetStatus") -> str:
    facts = found.facts
    last = "" if found.age_ms is None else f", last commit {duration_text(max(0, found.age_ms))} ago"
    counts = f"{counted(facts.records, 'record')} in {counted(facts.files, 'file')}, {facts.size_bytes} bytes"
    return f"{counts}, {counted(facts.rounds, 'round')}{last}"


def _metrics(found: "TargetStatus") -> "Iterator[Metric]":
    from kctl.cli.formats.prometheus import Metric

    facts = found.facts
    for name, text, value in (
        ("records", "Number of records in the export.", facts.records),
        ("files", "Number of files in the export.", facts.files),
        ("bytes", "Size of the files in the export, in bytes.", facts.size_bytes),
        ("rounds", "Number of committed rounds.", facts.rounds),
    ):
        yield Metric(f"kctl_export_{name}", text, [({}, value)])
    if facts.committed_at_ms is not None:
        text = "Time of the last commit, in seconds since the epoch."
        yield Metric("kctl_export_commit_timestamp_seconds", text, [({}, facts.committed_at_ms / 1000)])
    labelled = [({"topic": each.topic, "partition": str(each.partition)}, each) for each in found.partitions]
    offsets = [(labels, float(each.offset)) for labels, each in labelled]
    yield Metric("kctl_export_offset", "Next offset to export.", [*offsets])
    lags = [(labels, float(each.lag)) for labels, each in labelled if each.lag is not None]
    yield Metric(
        "kctl_export_lag_records", "Number of offsets between the export and the end of the partition.", [*lags]
    )
    newest = [(labels, each.newest_ms / 1000) for labels, each in labelled if each.newest_ms is not None]
    yield Metric(
        "kctl_export_newest_timestamp_seconds",
        "Largest timestamp of the records in the export, in seconds since the epoch.",
        [*newest],
    )
