"""`export` with decoded columns: what decodes is in the topic's files, all else in those of errors, nothing is lost."""

import json
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pyiceberg.catalog
import pytest
from pyiceberg.utils.config import Config

from kctl.client.errors import ConfigError, ConnectionRefused
from kctl.client.producer import Producer
from kctl.pipeline.decoding.plan import DecodeRequest, side_request
from kctl.pipeline.export_files.manifests import read_manifests
from kctl.pipeline.job_errors import ExportDataError, FolderError
from kctl.pipeline.jobs.export import ExportRequest, export, plan_export
from kctl.pipeline.jobs.file_import import ImportRequest, plan_import
from kctl.pipeline.jobs.sync import SyncRequest, sync
from kctl.pipeline.locations import DeltaTable, IcebergTable, StoreUrl
from kctl.pipeline.ranges import Selection
from kctl.pipeline.session import Session
from kctl.serdes.avro import AvroCodec
from kctl.serdes.wire import write_frame
from tests.support.kafka.cluster import KafkaCluster
from tests.support.registry.server import FakeRegistry, running

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
USER_INFO = "me:canary-9917"
FIELDS = [
    {"name": "id", "type": "int"},
    {"name": "note", "type": ["null", "string"], "default": None},
    {"name": "more", "type": "double", "default": 0.5},
]
VERSIONS = [json.dumps({"type": "record", "name": "R", "fields": FIELDS[:count]}) for count in (1, 2, 3)]
EACH = 300
BROKEN = {10: b"plain", 20: b"\0\0\0\0\1", 30: b"\0\0\0\x30\x39\2"}


def produce(kafka: KafkaCluster, registry: FakeRegistry, topic: str) -> None:
    """Send three versions, with broken records in between."""
    numbers = [registry.add(f"{topic}-value", text) for text in VERSIONS]
    codecs = [AvroCodec(text) for text in VERSIONS]
    with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
        for n in range(3 * EACH):
            value: dict[str, Any] = {"id": n, "note": f"n{n}", "more": 1.5}
            version = n // EACH
            data = write_frame(
                numbers[version], codecs[version].encode({f: value[f] for f in list(value)[: version + 1]})
            )
            producer.send(topic, BROKEN.get(n, data), b"k%d" % n, partition=n % 2, timestamp_ms=1_700_000_000_000 + n)


def request_for(
    kafka: KafkaCluster, registry: FakeRegistry, folder: Path | StoreUrl, topic: str, secret: str
) -> ExportRequest:
    properties = {
        "bootstrap.servers": kafka.bootstrap(),
        "default.api.timeout.ms": "30000",
        "schema.registry.url": registry.url,
        "schema.registry.basic.auth.user.info": secret,
    }
    decode = DecodeRequest(None, side_request("value", "avro", None, None), ())
    return ExportRequest(Selection(topics=(topic,)), folder, properties, decode=decode, range_bytes=10_000)


def test_decoded_columns_and_a_table_of_errors_hold_each_record_once(
    kafka_newest: KafkaCluster, session: Session, tmp_path: Path
) -> None:
    topic, folder = kafka_newest.create_topic(partitions=2), tmp_path / "x"
    secret = tmp_path / "user"
    secret.write_text(USER_INFO)
    registry = FakeRegistry()
    registry.user_info = USER_INFO
    with running(registry):
        produce(kafka_newest, registry, topic)
        request = request_for(kafka_newest, registry, folder, topic, f"file:{secret}")
        result = export(request, session=session)
        assert (result.records, result.bad_records) == (3 * EACH, len(BROKEN))
        table = pq.read_table(folder / topic)
        assert table.schema.field("value").type == pa.struct(
            [("id", pa.int32()), ("note", pa.string()), ("more", pa.float64())]
        )
        values = sorted(table.column("value").to_pylist(), key=lambda value: value["id"])
        assert values == [
            {"id": n, "note": None if n < EACH else f"n{n}", "more": 0.5 if n < 2 * EACH else 1.5}
            for n in range(3 * EACH)
            if n not in BROKEN
        ]
        assert {*table.schema.names} >= {"topic", "partition", "offset", "key", "headers"}
        errors = sorted(pq.read_table(folder / "_errors" / topic).to_pylist(), key=lambda row: row["key"])
        assert [(row["offset"], row["value"], row["key"]) for row in errors] == [
            (n // 2, data, b"k%d" % n) for n, data in sorted(BROKEN.items())
        ]
        assert all(row["reason"] for row in errors)
        assert "has no schema ID" in errors[0]["reason"]
        by_id = [each for each in registry.requests if each.startswith("GET /schemas/ids/") and "12345" not in each]
        assert len(by_id) <= 3 * 3, "once a process: the driver, and two workers"
        assert read_manifests(folder)[0].settings["decode"] == "value=avro"
        again = export(request, session=session)
        assert again.records == 0
        produce(kafka_newest, registry, topic)
        synced = sync(SyncRequest(request, trigger_ms=None), session=session)
        assert (synced.records, synced.bad_records) == (3 * EACH, len(BROKEN)), "a sync continues with the same columns"
        assert pq.read_table(folder / topic).num_rows == 2 * (3 * EACH - len(BROKEN))
        assert [row["value"] for row in pq.read_table(folder / "_errors" / topic).to_pylist()].count(b"plain") == 2
        with pytest.raises(FolderError, match="is an export with decode value=avro, but this run has decode none"):
            plan_export(request._replace(decode=None))
        with pytest.raises(ExportDataError, match="has decoded columns"):
            plan_import(ImportRequest(folder, {"bootstrap.servers": kafka_newest.bootstrap()}))
    for path in folder.rglob("*"):
        assert path.is_dir() or b"canary" not in path.read_bytes()


def test_registry_that_is_down_ends_the_export_and_nothing_is_written(
    kafka_newest: KafkaCluster, session: Session, tmp_path: Path
) -> None:
    topic, registry = kafka_newest.create_topic(partitions=2), FakeRegistry()
    with running(registry):
        produce(kafka_newest, registry, topic)
    down = request_for(kafka_newest, registry, tmp_path / "x", topic, "")
    with pytest.raises(ConnectionRefused):
        export(down, session=session)
    assert not list((tmp_path / "x").rglob("*.parquet"))
    with pytest.raises(ConfigError, match="for decoded columns: use parquet"):
        plan_export(down._replace(format="json"))


GROWN = [
    '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}, {"name": "old", "type": "string"}]}',
    '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"},'
    ' {"name": "note", "type": "string", "default": "none"}]}',
    '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"},'
    ' {"name": "note", "type": "string", "default": "none"}]}',
]
"""A field goes and another one with a default comes; then an int becomes a long."""


def send(kafka: KafkaCluster, topic: str, schema_id: int, text: str, first: int) -> None:
    """Send 20 records of a version, the first of which is none."""
    codec = AvroCodec(text)
    known = {"old": "o", "note": "n"}
    with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
        for n in range(first, first + 20):
            value = {"id": n} | {name: known[name] for name in known if f'"{name}"' in text}
            data = b"no Avro" if n == first else write_frame(schema_id, codec.encode(value))
            producer.send(topic, data, b"k%d" % n, partition=n % 2)


@pytest.mark.nightly
def test_spark_reads_files_of_two_versions_as_one(kafka_newest: KafkaCluster, session: Session, tmp_path: Path) -> None:
    topic, registry = kafka_newest.create_topic(partitions=2), FakeRegistry()
    with running(registry):
        request = request_for(kafka_newest, registry, tmp_path / "x", topic, "")
        for version, text in enumerate(GROWN[:2]):
            send(kafka_newest, topic, registry.add(f"{topic}-value", text), text, 20 * version)
            export(request, session=session)
        send(kafka_newest, topic, registry.add(f"{topic}-value", GROWN[2]), GROWN[2], 40)
        with pytest.raises(FolderError, match=r"value.id is int32 and cannot change to int64"):
            export(request, session=session)
    read = session.spark().read.option("mergeSchema", "true").parquet(str(tmp_path / "x" / topic))
    found = sorted(tuple(row) for row in read.select("value.id", "value.old", "value.note").collect())
    assert found == [(n, "o" if n < 20 else None, None if n < 20 else "n") for n in range(40) if n % 20]


@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_tables_follow_three_versions_of_a_schema_and_have_a_table_of_errors(
    kafka_newest: KafkaCluster, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", (tmp_path / "warehouse").as_uri())
    monkeypatch.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())
    table = IcebergTable("lake.db.orders") if kind == "iceberg" else DeltaTable(str(tmp_path / "orders"))
    topic, registry = kafka_newest.create_topic(partitions=2), FakeRegistry()
    with running(registry):
        request = request_for(kafka_newest, registry, tmp_path, topic, "")
        request = request._replace(folder=table, layout="column:value.old")
        for version, text in enumerate(GROWN[:2]):
            send(kafka_newest, topic, registry.add(f"{topic}-value", text), text, 20 * version)
            result = export(request, session=session)
            assert (result.records, result.bad_records) == (20, 1)
        assert values_in(table) == [
            {"id": n, "old": "o" if n < 20 else None, "note": None if n < 20 else "n"} for n in range(40) if n % 20
        ]
        send(kafka_newest, topic, registry.add(f"{topic}-value", GROWN[2]), GROWN[2], 40)
        if kind == "delta":
            with pytest.raises(FolderError, match=r"value.id is int32 and cannot change to int64"):
                export(request, session=session)
            assert request.decode is not None
            by_second = side_request("value", "avro", f"{topic}-value@2", None)
            request = request._replace(decode=request.decode._replace(value=by_second))
        result = export(request, session=session)
        assert (result.records, result.bad_records) == (20, 1 if kind == "iceberg" else 20)
        assert export(request, session=session).records == 0
    decoded = 60 if kind == "iceberg" else 40
    assert [value["id"] for value in values_in(table)] == [n for n in range(decoded) if n % 20]
    errors = rows_in(type(table)(f"{table}_errors"))
    assert len(errors) == 60 - len(values_in(table))
    assert [row["value"] for row in errors if row["key"] in (b"k0", b"k20", b"k40")] == [b"no Avro"] * 3
    assert all(row["reason"] and row["offset"] is not None for row in errors)


def rows_in(table: IcebergTable | DeltaTable) -> list[dict[str, Any]]:
    """Return what the format's own library reads."""
    if isinstance(table, IcebergTable):
        found = pyiceberg.catalog.load_catalog(table.catalog).load_table(table.identifier).scan().to_arrow()
    else:
        found = deltalake.DeltaTable(table).to_pyarrow_table()
    rows: list[dict[str, Any]] = found.drop_columns(["timestamp"]).to_pylist()
    return rows


def values_in(table: IcebergTable | DeltaTable) -> list[dict[str, Any]]:
    return sorted((row["value"] for row in rows_in(table)), key=lambda value: int(value["id"]))
