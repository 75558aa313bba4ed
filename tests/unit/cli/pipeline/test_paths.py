"""Locations on the command line of the pipeline: folders, URLs of object stores, and what is neither."""

from pathlib import Path

import pytest

from kctl.cli import click
from kctl.cli.pipeline.spark_options import files_at, files_text, path, target_text
from kctl.pipeline.locations import StoreUrl


@pytest.mark.parametrize("url", ["hdfs://n:8020/x", "file://x", "http://host/x", "s3a://bucket/x"])
def test_url_that_is_not_supported_is_refused_with_its_scheme(url: str) -> None:
    with pytest.raises(
        click.BadParameter, match=r"^\w+:// is not supported: use a directory such as /data/orders, or s3://"
    ):
        files_text(url)


@pytest.mark.parametrize("text", ["/data/orders", "orders", "C:\\orders", "a:b/c", "./s3:", "x/s3://y"])
def test_folder_is_taken(text: str) -> None:
    assert files_at(files_text(text)) == Path(text)


@pytest.mark.parametrize("url", ["s3://bucket", "gs://b/kafka", "abfs://c@account.dfs.core.windows.net/x"])
def test_prefix_of_an_object_store_is_taken(url: str) -> None:
    assert files_at(files_text(url)) == StoreUrl(url)


def test_table_is_taken_only_where_tables_are() -> None:
    assert target_text("iceberg:lake.db.orders") == "iceberg:lake.db.orders"
    with pytest.raises(click.BadParameter, match="is a table: use a directory, or a URL"):
        files_text("iceberg:lake.db.orders")


def test_empty_path_is_refused() -> None:
    with pytest.raises(click.BadParameter, match="the path is empty"):
        files_text("")


def test_url_is_no_path_of_a_local_file() -> None:
    assert path("x.html") == Path("x.html")
    with pytest.raises(click.BadParameter, match="is not a local file"):
        path("s3://bucket/x.html")
