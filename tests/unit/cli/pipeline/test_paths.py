"""Folders on the command line of the pipeline: a URL is no folder."""

from pathlib import Path

import pytest

from kctl.cli import click
from kctl.cli.pipeline.spark_options import path


@pytest.mark.parametrize(
    "url", ["s3://bucket/x", "gs://b", "abfs://c@a/x", "s3:/bucket", "hdfs://n:8020/x", "file://x"]
)
def test_url_is_refused_with_its_scheme(url: str) -> None:
    with pytest.raises(click.BadParameter, match=r"^\w+:// is not supported: a folder is wanted"):
        path(url)


@pytest.mark.parametrize("text", ["/data/orders", "orders", "C:\\orders", "a:b/c", "./s3:", "x/s3://y"])
def test_folder_is_taken(text: str) -> None:
    assert path(text) == Path(text)


def test_empty_path_is_refused() -> None:
    with pytest.raises(click.BadParameter, match="an empty path"):
        path("")
