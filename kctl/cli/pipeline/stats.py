"""Options of `kctl pipeline stats`."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import SHAPES, Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common, with_common, with_options
from kctl.cli.output_options import Output
from kctl.cli.pipeline.spark_options import SparkOptions, path, plan_of, result_of, spark_options
from kctl.client.wording import counted

if TYPE_CHECKING:
    from kctl.cli.formats.html_page import TitledRows
    from kctl.pipeline.jobs.stats import PartitionStatistics, StatsPlan, TopicStatistics
    from kctl.pipeline.record_statistics import RecordStatistics

PLAN_COLUMNS = ("topic", "partition", "start", "end", "offsets")
COLUMNS = (
    "topic",
    "partition",
    "start",
    "end",
    "records",
    "gaps",
    "share_percent",
    "null_keys",
    "distinct_keys",
    "null_values",
    "key_bytes",
    "value_bytes",
    "p50_value_bytes",
    "p99_value_bytes",
    "max_value_bytes",
    "first_timestamp_ms",
    "last_timestamp_ms",
    "unordered",
)
SHOWN = (
    "partition",
    "records",
    "gaps",
    "share_percent",
    "null_keys",
    "distinct_keys",
    "null_values",
    "value_bytes",
    "p99_value_bytes",
    "max_value_bytes",
    "unordered",
)
MOST_KEYS = 5
EXPLANATION = (
    "gaps: offsets without a record, because of compaction or transactions. share percent: percentage of the "
    "records of the topic. distinct keys: an estimate with an error of about 2%. p50, p99: percentiles of the value "
    "size, rounded up to a power of two. unordered: records with an earlier timestamp than the previous record."
)


@with_common(*SHAPES)
@with_options(spark=spark_options)
def stats(
    common: Common,
    spark: SparkOptions,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Topic to read.")],
    html: Annotated[
        Path | None,
        typer.Option("--html", parser=path, metavar="FILE", help="Write an HTML page of the statistics to this file."),
    ] = None,
) -> int:
    """Count records, sizes, keys, gaps, timestamps, and schema IDs of a topic.

    Reads the whole topic once. The skew is the largest partition divided by the mean. --output json adds the most
    frequent keys and the records of each schema ID.
    """
    output = common.choose_output(*SHAPES)

    from kctl.pipeline.jobs.stats import StatsRequest, plan_stats  # the client: not wanted for --help
    from kctl.pipeline.jobs.stats import stats as job

    request = StatsRequest(topic, {})
    if spark.dry_run:
        plan = partial(plan_stats, options=spark.session_options())
        return _show_plan(common, output, plan_of(common, spark, plan, request))
    if html is not None:
        from kctl.cli.formats.html_page import check_page

        check_page(html)
    found = result_of(common, spark, job, request)
    rows = [_row(each, found.total.records) for each in found.partitions]
    facts = {"skew": found.skew, "total": {**_sums(found.total), **_counts(found.total)}}
    objects = [{**row, **_counts(each.statistics)} for row, each in zip(rows, found.partitions, strict=True)]
    write_listing(common.environment, output, Listing("statistics", COLUMNS, rows, facts, SHOWN, objects=objects))
    if html is not None:
        from kctl.cli.formats.html_page import html_page, write_page

        write_page(html, html_page(f"Topic {topic}", EXPLANATION, _tables(found, rows)))
    for line in _notes(found):
        common.say(f"kctl pipeline: {line}")
    return ExitCode.OK


def _show_plan(common: Common, output: Output, plan: "StatsPlan") -> int:
    rows: list[Row] = [
        dict(
            zip(PLAN_COLUMNS, (each.topic, each.partition, each.start_offset, each.end_offset, each.size), strict=True)
        )
        for each in plan.partitions
    ]
    write_listing(common.environment, output, Listing("plan", PLAN_COLUMNS, rows))
    common.say(
        f"kctl pipeline: dry run: would read {plan.offsets} offsets (about {plan.size_bytes} bytes in the log) in "
        f"{counted(len(plan.tasks), 'task')}"
    )
    return ExitCode.OK


def _row(each: "PartitionStatistics", total: int) -> Row:
    read, found = each.range, each.statistics
    return {
        "topic": read.topic,
        "partition": read.partition,
        "start": read.start_offset,
        "end": read.end_offset,
        "records": found.records,
        "gaps": each.gaps,
        "share_percent": round(100 * found.records / total, 1) if total else None,
        **_sums(found),
    }


def _sums(found: "RecordStatistics") -> dict[str, Any]:
    return {
        "null_keys": found.null_keys,
        "distinct_keys": found.distinct_keys.estimate,
        "null_values": found.null_values,
        "key_bytes": found.key_bytes,
        "value_bytes": found.value_bytes,
        "p50_value_bytes": found.value_bytes_at(0.5),
        "p99_value_bytes": found.value_bytes_at(0.99),
        "max_value_bytes": found.max_value_bytes,
        "first_timestamp_ms": found.first_timestamp_ms,
        "last_timestamp_ms": found.last_timestamp_ms,
        "unordered": found.unordered,
    }


def _counts(found: "RecordStatistics") -> dict[str, object]:
    return {
        "frequent_keys": [{"key": key, "records": count} for key, count in frequent_keys(found.frequent_keys)],
        "schema_ids": [{"schema_id": number, "records": count} for number, count in _falling(found.schema_ids)],
    }


def frequent_keys(counts: Mapping[bytes, int]) -> list[tuple[str, int]]:
    from kctl.pipeline.record_statistics import MOST_KEYS as MOST

    return [(key.decode(errors="replace"), count) for key, count in _falling(counts)[:MOST] if count > 1]


def _falling(counts: Mapping[Any, int]) -> list[tuple[Any, int]]:
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def _notes(found: "TopicStatistics") -> Iterator[str]:
    total = found.total
    skew = (
        "" if found.skew is None else f", {found.skew:.2g} times the average number of records in the largest partition"
    )
    yield f"{total.records} records, about {total.distinct_keys.estimate} keys{skew}"
    keys = frequent_keys(total.frequent_keys)[:MOST_KEYS]
    if keys:
        yield "most frequent keys: " + ", ".join(f"{key} ({count})" for key, count in keys)
    ids = _falling(total.schema_ids)[:MOST_KEYS]
    if ids:
        yield "schema IDs: " + ", ".join(f"{number} ({count} records)" for number, count in ids)


def _tables(found: "TopicStatistics", rows: list[Row]) -> Iterator["TitledRows"]:
    from kctl.cli.formats.html_page import TitledRows

    facts: Row = {
        "records": found.total.records,
        "skew": None if found.skew is None else round(found.skew, 2),
        **_sums(found.total),
    }
    yield TitledRows("The topic", [facts])
    yield TitledRows("Partitions", rows)
    keys: list[Row] = [{"key": key, "records": count} for key, count in frequent_keys(found.total.frequent_keys)]
    ids: list[Row] = [{"schema_id": number, "records": count} for number, count in _falling(found.total.schema_ids)]
    sizes: list[Row] = [
        {"value_bytes": "0" if not bits else f"{1 << (bits - 1)} to {(1 << bits) - 1}", "records": count}
        for bits, count in sorted(found.total.value_sizes.items())
    ]
    for title, table in (("Most frequent keys", keys), ("Schema IDs", ids), ("Sizes of values", sizes)):
        if table:
            yield TitledRows(title, table)
