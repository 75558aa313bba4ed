"""Records divided by the values of a column, and the folders that have the values."""

import pyarrow as pa
import pytest

from kctl.pipeline.export_files.column_layout import divided, type_of, values_in
from kctl.pipeline.job_errors import RecordDataError

COUNTRY = pa.struct([("country", pa.string()), ("more", pa.struct([("big", pa.bool_()), ("at", pa.float64())]))])
SCHEMA = pa.schema([("partition", pa.int32()), ("value", COUNTRY)])


def batch(*countries: str | None) -> pa.RecordBatch:
    rows = [{"partition": 7, "value": {"country": country, "more": {"big": True}}} for country in countries]
    return pa.RecordBatch.from_pylist(rows, SCHEMA)


@pytest.mark.parametrize("value", ["de", "", "a b/c=d", "..", "\u00e9\u4e2d", "~41", "x" * 200, None])
def test_value_is_the_same_after_a_path(value: str | None) -> None:
    ((folder, piece),) = divided("value.country", batch(value, value))
    assert piece.num_rows == 2
    assert "/" not in folder
    assert "%" not in folder
    assert values_in(f"t/{folder}/t-0-0-1.parquet") == {"value_country": value}


def test_each_value_has_its_records() -> None:
    given = batch("de", "fr", None, "de")
    found = {folder: piece.column("value").to_pylist() for folder, piece in divided("value.country", given)}
    assert {folder: len(rows) for folder, rows in found.items()} == {
        "value_country=de": 2,
        "value_country=fr": 1,
        "value_country=__HIVE_DEFAULT_PARTITION__": 1,
    }
    assert [folder for folder, _ in divided("partition", given)] == ["partition=7"]
    assert [folder for folder, _ in divided("value.more.big", given)] == ["value_more_big=true"]


def test_value_that_no_path_can_have_is_named() -> None:
    with pytest.raises(RecordDataError, match=r"--partition-by value.country: the value 'xxx"):
        list(divided("value.country", batch("x" * 201)))


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("partition", pa.int32()),
        ("value.country", pa.string()),
        ("value.more.big", pa.bool_()),
        ("value.more.at", None),
        ("value", None),
        ("value.nothing", None),
        ("partition.x", None),
        ("", None),
    ],
)
def test_type_of_a_column(column: str, kind: pa.DataType | None) -> None:
    assert type_of(column, SCHEMA) == kind
