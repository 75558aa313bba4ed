"""Locations: what texts mean, and that no credentials pass or are repeated."""

from pathlib import Path

import pytest

from kctl.pipeline.locations import DeltaTable, IcebergTable, StoreUrl, parse_location


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/data/x", Path("/data/x")),
        ("s3://b//x/", StoreUrl("s3://b/x")),
        ("S3://b", StoreUrl("s3://b")),
        ("iceberg:lake.a.b.t", IcebergTable("lake.a.b.t")),
        ("delta:/t", DeltaTable("/t")),
        ("delta:gs://b/t", DeltaTable("gs://b/t")),
    ],
)
def test_text_means_a_location_of_its_type(text: str, meant: object) -> None:
    found = parse_location(text)
    assert (type(found).__mro__[0].__name__.replace("Posix", ""), found) == (
        type(meant).__mro__[0].__name__.replace("Posix", ""),
        meant,
    )


def test_iceberg_table_has_a_catalog_and_an_identifier() -> None:
    table = IcebergTable("lake.db.orders")
    assert (table.catalog, table.identifier) == ("lake", "db.orders")


@pytest.mark.parametrize(
    "text",
    [
        "s3://key:sekret@bucket/x",
        "s3://sekret@bucket/x",
        "s3:/key:sekret@bucket/x",
        "s3:key:sekret@bucket/x",
        "s3://bucket/x?sig=sekret",
        "gs://bucket#sekret",
    ],
)
def test_credentials_in_a_url_are_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_location(text)
    assert "sekret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("s3:///x", "has no bucket"),
        ("s3:/bucket/x", "has no bucket"),
        ("s3:bucket/x", "has no bucket"),
        ("s3://b/a/../c", "in its path"),
        ("abfs://container/x", "CONTAINER@ACCOUNT"),
        ("iceberg:orders", "is not a table: use the form iceberg:CATALOG.DB.TABLE"),
        ("delta:iceberg:a.b.c", "invalid location after delta: use a path or a URL"),
        ("", "the path is empty"),
    ],
)
def test_text_that_means_nothing_is_refused_with_the_reason(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_location(text)
