"""`pipeline export --partition-by`: event times and fields of decoded values divide directories and tables."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from kctl.client.errors import ConfigError
from kctl.client.producer import Producer
from kctl.pipeline.decoding.plan import DecodeRequest, side_request
from kctl.pipeline.export_files.column_layout import NULL
from kctl.pipeline.jobs.export import ExportRequest, export, plan_export
from kctl.pipeline.locations import DeltaTable, IcebergTable, Location
from kctl.pipeline.ranges import Selection
from kctl.sandbox.sandbox import Sandbox
from kctl.serdes.avro import AvroCodec
from kctl.serdes.wire import write_frame
from tests.support.registry.server import FakeRegistry, running
from tests.support.spark_in_process import session_in_process
from tests.unit.pipeline.lake_tables.test_table_targets import iceberg_table

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "int"},
            {"name": "country", "type": ["null", "string"]},
            {"name": "created", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
            {"name": "created_ms", "type": "long"},
        ],
    }
)
HOUR_MS = 3_600_000
COUNTRIES = ["de", "a/b=c", None, "", NULL]
IN_DIRECTORIES = ["de", "a~2Fb~3Dc", None, "~", f"~5F{NULL[1:]}"]
"""The names that a reader of directories shows."""
IN_DELTA = ["de", "a/b=c", None, None, NULL]
"""A partition of Delta cannot have an empty string, which is its null."""
HOURS = ["2023-11-14-22", "2023-11-14-23", "2023-11-15-00"]
FIRST_MS = 1_700_000_000_000
COUNT = 12


def created_ms(n: int) -> int:
    return FIRST_MS + n % len(HOURS) * HOUR_MS


def order(n: int) -> dict[str, Any]:
    at_ms = created_ms(n)
    return {"id": n, "country": COUNTRIES[n % len(COUNTRIES)], "created": at_ms if n else None, "created_ms": at_ms}


@pytest.fixture(scope="module")
def request_for_orders() -> Iterator[ExportRequest]:
    """An export of a topic whose values have times of three hours."""
    registry = FakeRegistry()
    with Sandbox(nodes=1, topics={"orders": 2}).serve() as served, running(registry):
        given: dict[str, object] = {"bootstrap.servers": served.bootstrap, "schema.registry.url": registry.url}
        number, codec = registry.add("orders-value", SCHEMA), AvroCodec(SCHEMA)
        with Producer({"bootstrap.servers": served.bootstrap}) as producer:
            for n in range(COUNT):
                producer.send("orders", write_frame(number, codec.encode(order(n))), partition=n % 2)
        decode = DecodeRequest(None, side_request("value", "avro", None, None), ())
        yield ExportRequest(Selection(topics=("orders",)), Path(), given, decode=decode)


def location_of(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    if kind == "iceberg":
        return iceberg_table(tmp_path, monkeypatch)
    return DeltaTable(str(tmp_path / "x")) if kind == "delta" else tmp_path / "x"


def ids_by(location: Location, name: str) -> dict[object, list[int]]:
    """Return the orders of each partition, as a foreign reader finds them."""
    if isinstance(location, IcebergTable):
        from pyiceberg.catalog import load_catalog

        table = load_catalog("lake").load_table(location.identifier).scan().to_arrow()
    elif isinstance(location, DeltaTable):
        import deltalake

        table = deltalake.DeltaTable(str(location)).to_pyarrow_table()
    else:
        assert isinstance(location, Path)
        table = ds.dataset(location / "orders", format="parquet", partitioning="hive").to_table()
    found: dict[object, list[int]] = {}
    for value, row in zip(table.column(name).to_pylist(), table.column("value").to_pylist(), strict=True):
        found.setdefault(value, []).append(row["id"])
    return {value: sorted(ids) for value, ids in found.items()}


@pytest.mark.parametrize("kind", ["directory", "delta", "iceberg"])
@pytest.mark.parametrize(
    ("field", "name"), [("created", "value_created_hour"), ("created_ms", "value_created_ms_hour")]
)
def test_partitions_by_hours_of_a_field_have_each_record_once(
    request_for_orders: ExportRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, field: str, name: str
) -> None:
    location = location_of(kind, tmp_path, monkeypatch)
    request = request_for_orders._replace(folder=location, layout=f"column:hour(value.{field})")
    with session_in_process() as session:
        assert export(request, session=session).records == COUNT
        assert export(request, session=session).records == 0
    expected: dict[object, list[int]] = {hour: list(range(n, COUNT, 3)) for n, hour in enumerate(HOURS)}
    if field == "created":
        expected |= {HOURS[0]: [3, 6, 9], None: [0]}
    assert ids_by(location, name) == expected


@pytest.mark.parametrize("kind", ["directory", "delta", "iceberg"])
def test_partitions_by_a_field_have_each_record_once(
    request_for_orders: ExportRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    location = location_of(kind, tmp_path, monkeypatch)
    request = request_for_orders._replace(folder=location, layout="column:value.country")
    with session_in_process() as session:
        export(request, session=session)
    expected: dict[object, list[int]] = {}
    names = {"directory": IN_DIRECTORIES, "delta": IN_DELTA, "iceberg": COUNTRIES}[kind]
    for n in range(COUNT):
        expected.setdefault(names[n % len(names)], []).append(n)
    assert ids_by(location, "value_country") == expected


@pytest.mark.parametrize("kind", ["directory", "delta", "iceberg"])
def test_column_that_cannot_partition_is_rejected_before_anything_is_written(
    request_for_orders: ExportRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    wanted = request_for_orders._replace(folder=location_of(kind, tmp_path, monkeypatch))
    for column in ("value", "nothing", "value.nothing", "key", "hour(value.country)", "day(value"):
        request = wanted._replace(layout=f"column:{column}")
        with pytest.raises(ConfigError, match=r"^cannot partition orders by ") as caught:
            plan_export(request)
        assert caught.value.key == "--partition-by"
    with session_in_process() as session, pytest.raises(ConfigError, match=r"^cannot partition orders by "):
        export(request, session=session)
    with pytest.raises(ConfigError, match=r"^cannot partition the export by "):
        plan_export(wanted._replace(decode=None, layout="column:hour(value)"))
    assert [path.name for path in tmp_path.rglob("*") if path.name != "catalog.db"] == []
