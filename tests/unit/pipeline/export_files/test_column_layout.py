"""Records divided by the values of a column, and the folders that have the values."""

import pyarrow as pa
import pytest

from kctl.pipeline.export_files.bad_records import TargetLimits
from kctl.pipeline.export_files.column_layout import divided, type_of, values_in
from kctl.pipeline.job_errors import RecordDataError

COUNTRY = pa.struct([("country", pa.string()), ("more", pa.struct([("big", pa.bool_()), ("at", pa.float64())]))])
SCHEMA = pa.schema([("partition", pa.int32()), ("value", COUNTRY)])


def batch(*countries: str | None) -> pa.RecordBatch:
    rows = [{"partition": 7, "value": {"country": country, "more": {"big": True}}} for country in countries]
    return pa.RecordBatch.from_pylist(rows, SCHEMA)


@pytest.mark.parametrize(
    "value", ["de", "", "a b/c=d", "..", "\u00e9\u4e2d", "~41", "x" * 200, "__HIVE_DEFAULT_PARTITION__", None]
)
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


def test_value_that_is_too_long_for_a_path_has_the_folder_of_null() -> None:
    given = batch("x" * 201, "de")
    found = {folder: piece.column("value_country").to_pylist() for folder, piece in divided("value.country", given)}
    assert found == {"value_country=__HIVE_DEFAULT_PARTITION__": [None], "value_country=de": ["de"]}
    limits = TargetLimits(layout="column:value.country")
    raw = pa.table({"topic": ["t"] * 2, "partition": [7] * 2, "offset": [3, 4]}).to_batches()[0]
    whole = given.append_column("offset", raw.column("offset"))
    with pytest.raises(RecordDataError, match=r"cannot write t-7, offset 3: the value of value.country is too long"):
        limits.fit_column(raw, whole)
    kept, listed = limits._replace(policy="skip").fit_column(raw, whole)
    assert (kept.column("offset").to_pylist(), listed and listed.column("offset").to_pylist()) == ([4], [3])


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
