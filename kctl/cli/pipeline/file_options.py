"""Options for where and how records become files or rows of a table: of `export` and `sync`."""

from typing import Annotated

import typer

from kctl.cli.options import duration_ms
from kctl.cli.pipeline.spark_options import target_text

ToOption = Annotated[
    str,
    typer.Option(
        "--to",
        parser=target_text,
        metavar="LOCATION",
        help="A folder, which all workers of a cluster must see at this path; s3://, gs:// or abfs://; or a table, "
        "iceberg:CATALOG.DB.TABLE or delta:URL.",
    ),
]
StartOption = Annotated[
    str,
    typer.Option(
        "--start", metavar="WHERE", help="Where partitions that the target does not have begin: earliest or latest."
    ),
]
FileFormatOption = Annotated[
    str, typer.Option("--file-format", metavar="NAME", help="Format of files: parquet or json (lines), with zstd.")
]
LayoutOption = Annotated[
    str, typer.Option("--layout", metavar="NAME", help="Subfolders per topic: topic (none), date or hour, in UTC.")
]
LevelOption = Annotated[int, typer.Option("--level", min=1, max=22, metavar="N", help="Compression level of zstd.")]
FileSizeOption = Annotated[
    str | None,
    typer.Option(
        "--file-size", metavar="SIZE", help="Target size of a file (the table's own property, or one file a range)."
    ),
]
RoundTimeOption = Annotated[
    int | None,
    typer.Option(
        "--round-time",
        parser=duration_ms,
        metavar="DURATION",
        help="Interval at which finished files become part of the target while tasks run (60s).",
    ),
]
BadRecordOption = Annotated[
    str,
    typer.Option(
        "--on-bad-record",
        metavar="POLICY",
        help="For records with a value that the target cannot hold: error, or list them in _errors and write them "
        "without the value (null) or not at all (skip).",
    ),
]
RangeSizeOption = Annotated[
    str,
    typer.Option("--range-size", metavar="SIZE", help="Approximate size that one task reads, as stored in the log."),
]
