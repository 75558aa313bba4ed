"""Options of `export` and `sync` for files and tables."""

from typing import Annotated

import typer

from kctl.cli.options import duration_ms
from kctl.cli.output_options import Words
from kctl.cli.pipeline.spark_options import target_text
from kctl.pipeline.bad_record_policies import POLICIES

ToOption = Annotated[
    str,
    typer.Option(
        "--to",
        parser=target_text,
        metavar="LOCATION",
        help="Target: a directory, an s3://, gs://, or abfs:// URL, iceberg:CATALOG.DB.TABLE, or delta:URL. All "
        "workers of a cluster must see the directory at this path.",
    ),
]
StartOption = Annotated[
    str,
    typer.Option(
        "--start", metavar="OFFSET", help="Start offset for partitions not yet in the target: earliest or latest."
    ),
]
FileFormatOption = Annotated[
    str,
    typer.Option("--file-format", metavar="NAME", help="File format: parquet or json (lines), compressed with zstd."),
]
LayoutOption = Annotated[
    str,
    typer.Option(
        "--layout",
        metavar="NAME",
        help="Subdirectories of each topic: topic (no subdirectories), date, or hour. Times are in UTC.",
    ),
]
LevelOption = Annotated[int, typer.Option("--level", min=1, max=22, metavar="N", help="Compression level for zstd.")]
FileSizeOption = Annotated[
    str | None,
    typer.Option(
        "--file-size",
        metavar="SIZE",
        help="Target size of files [default: the size in the table properties, or one file per range].",
    ),
]
RoundTimeOption = Annotated[
    int | None,
    typer.Option(
        "--round-time",
        parser=duration_ms,
        metavar="DURATION",
        help="Interval of commits to the target [default: 60s].",
    ),
]
BAD_RECORD_POLICIES = Words(POLICIES)
BadRecordOption = Annotated[
    str,
    typer.Option(
        "--on-bad-record",
        parser=BAD_RECORD_POLICIES,
        metavar="POLICY",
        help="Action for records that the target cannot store: error, null (write the record without the value), or "
        "skip. With null and skip, kctl lists the records in _errors.",
    ),
]
RangeSizeOption = Annotated[
    str,
    typer.Option("--range-size", metavar="SIZE", help="Approximate size of each task, in bytes of the log."),
]
