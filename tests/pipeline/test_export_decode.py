"""`export` with decoded columns: what decodes is in the topic's files, all else in those of errors, nothing is lost."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kctl.client.errors import ConfigError, ConnectionRefused
from kctl.client.producer import Producer
from kctl.pipeline.decoding.plan import DecodeRequest, side_request
from kctl.pipeline.export_files.manifests import read_manifests
from kctl.pipeline.job_errors import ExportDataError, FolderError
from kctl.pipeline.jobs.export import ExportRequest, export, plan_export
from kctl.pipeline.jobs.file_import import ImportRequest, plan_import
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


def request_for(kafka: KafkaCluster, registry: FakeRegistry, folder: Path, topic: str, secret: str) -> ExportRequest:
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
        assert (result.records, result.undecoded) == (3 * EACH, len(BROKEN))
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
        assert "names no schema" in errors[0]["reason"]
        by_id = [each for each in registry.requests if each.startswith("GET /schemas/ids/") and "12345" not in each]
        assert len(by_id) <= 3 * 3, "once a process: the driver, and two workers"
        assert read_manifests(folder)[0].settings["decode"] == "value=avro"
        again = export(request, session=session)
        assert again.records == 0
        with pytest.raises(FolderError, match="is an export with decode value=avro, not none"):
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
    with pytest.raises(ConfigError, match="decoded columns are written to Parquet"):
        plan_export(down._replace(format="json"))
