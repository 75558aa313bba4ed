"""Records divided by the values of a column, and the folders that have the values."""

from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from kctl.client.errors import ConfigError
from kctl.pipeline.export_files.bad_records import TargetLimits
from kctl.pipeline.export_files.column_layout import check_column, divided, type_of, values_in
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
    with pytest.raises(
        RecordDataError,
        match=r"cannot write the record t-7 offset 3: the value of value.country is "
        "too long",
    ):
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


TIMES = pa.struct(
    [("at", pa.timestamp("us", "UTC")), ("local", pa.timestamp("us")), ("ms", pa.int64()), ("day", pa.date32())]
)
TIMED = pa.schema([("timestamp", pa.timestamp("us", "UTC")), ("value", TIMES)])
HOUR_MS = 3_600_000


def timed(*times_ms: int | None) -> pa.RecordBatch:
    """Return records whose times are given, in each type of a time."""
    columns = [
        pa.array(times_ms, pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC")),
        pa.array(times_ms, pa.timestamp("ms")).cast(pa.timestamp("us")),
        pa.array(times_ms, pa.int64()),
        pa.array([None if ms is None else ms // (24 * HOUR_MS) for ms in times_ms], pa.int32()).cast(pa.date32()),
    ]
    return pa.RecordBatch.from_arrays(
        [columns[0], pa.StructArray.from_arrays(columns, fields=list(TIMES))], schema=TIMED
    )


@pytest.mark.parametrize("path", ["value.at", "value.local", "value.ms", "timestamp"])
def test_records_are_divided_by_hours_and_days_of_a_time(path: str) -> None:
    given = timed(-1, 0, HOUR_MS - 1, HOUR_MS, 25 * HOUR_MS, None)
    name = path.replace(".", "_")
    found = {folder: piece.num_rows for folder, piece in divided(f"hour({path})", given)}
    assert found == {
        f"{name}_hour=1969-12-31-23": 1,
        f"{name}_hour=1970-01-01-00": 2,
        f"{name}_hour=1970-01-01-01": 1,
        f"{name}_hour=1970-01-02-01": 1,
        f"{name}_hour=__HIVE_DEFAULT_PARTITION__": 1,
    }
    days = {
        folder: piece.column(f"{name}_day").to_pylist()
        for folder, piece in divided(f"day({path})", given)
        if "1970" in folder
    }
    assert days == {
        f"{name}_day=1970-01-01": [date(1970, 1, 1)] * 3,
        f"{name}_day=1970-01-02": [date(1970, 1, 2)],
    }


def test_time_that_no_calendar_has_shares_the_directory_of_null() -> None:
    batch = timed(0).slice(0, 0)
    value = {"at": None, "local": None, "ms": None, "day": None}
    for ms in (-(2**63), 2**63 - 1, 253_402_300_800_000, -62_135_596_800_001):
        batch = pa.RecordBatch.from_pylist([{"value": {**value, "ms": ms}}], TIMED)
        for unit in ("day", "hour"):
            ((folder, piece),) = divided(f"{unit}(value.ms)", batch)
            assert folder == f"value_ms_{unit}=__HIVE_DEFAULT_PARTITION__"
            assert piece.column("value").to_pylist()[0]["ms"] == ms
    edges = pa.RecordBatch.from_pylist(
        [{"value": {**value, "ms": ms}} for ms in (-62_135_596_800_000, 253_402_300_799_999)], TIMED
    )
    assert [folder for folder, _ in divided("hour(value.ms)", edges)] == [
        "value_ms_hour=0001-01-01-00",
        "value_ms_hour=9999-12-31-23",
    ]


def test_files_of_directories_have_no_column_of_the_path() -> None:
    ((_, piece),) = divided("hour(value.at)", timed(0), adds_column=False)
    assert piece.schema == TIMED
    ((_, piece),) = divided("value.country", batch("de"), adds_column=False)
    assert piece.schema == SCHEMA
    ((_, piece),) = divided("partition", batch("de"), adds_column=False)
    assert piece.schema == SCHEMA


def test_directories_by_a_decoded_key_are_readable(tmp_path: Path) -> None:
    keys = pa.record_batch({"key": pa.array([1, 2**40], pa.int64()), "offset": pa.array([0, 1], pa.int64())})
    for folder, piece in divided("key", keys, adds_column=False):
        (tmp_path / folder).mkdir()
        pq.write_table(pa.Table.from_batches([piece]), tmp_path / folder / "x.parquet")
    table = ds.dataset(
        tmp_path, partitioning=ds.partitioning(pa.schema([("key", pa.int64())]), flavor="hive")
    ).to_table()
    assert sorted(zip(table.column("key").to_pylist(), table.column("offset").to_pylist(), strict=True)) == [
        (1, 0),
        (2**40, 1),
    ]
    assert ds.dataset(tmp_path / "key=1", partitioning="hive").to_table().column_names == ["offset"]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        *(("hour(value.at)", pa.string()), ("day(value.at)", pa.date32()), ("hour(value.ms)", pa.string())),
        *(("day(value.day)", pa.date32()), ("hour(value.day)", None), ("day(value)", None), ("hour(value.no)", None)),
        *(("month(value.at)", None), ("hour()", None), ("hour(value.at", None), ("hour(hour(value.at))", None)),
    ],
)
def test_type_of_a_time(column: str, kind: pa.DataType | None) -> None:
    assert type_of(column, TIMED) == kind
    if kind is None:
        with pytest.raises(ConfigError, match=r"^cannot partition t by ") as caught:
            check_column(f"column:{column}", TIMED, "t")
        assert caught.value.key == "--partition-by"
    else:
        check_column(f"column:{column}", TIMED, "t")
