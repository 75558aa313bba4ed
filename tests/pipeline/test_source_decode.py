"""`format("kctl")` with decode: struct columns by the latest schema, a column of errors, one request a schema.

Records are written by Confluent's serializers.
"""

import json
import traceback
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from kctl.client.producer import Producer
from kctl.pipeline import reason
from kctl.serdes.wire import write_frame
from tests.pipeline.source_topics import read
from tests.support.kafka.cluster import KafkaCluster
from tests.support.registry.server import FakeRegistry, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
USER_INFO = "me:canary-7731"
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
PRICE = {
    "name": "price",
    "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    "default": "\u0000",
}
VERSIONS = [
    {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]},
    {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}, NOTE]},
    {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, NOTE, PRICE]},
]
BROKEN = [b"plain", b"\0\0\0\0\1", b"\0\0\0\x30\x39\2", b""]
EACH = 200


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeRegistry]:
    (secret := tmp_path_factory.mktemp("secret") / "registry.properties").write_text(
        f"schema.registry.basic.auth.user.info={USER_INFO}\n"
    )
    fake = FakeRegistry()
    fake.user_info = USER_INFO
    with running(fake):
        fake.secret = f"file:{secret}#schema.registry.basic.auth.user.info"  # type: ignore[attr-defined]
        yield fake


def decoding(registry: FakeRegistry, **more: str) -> dict[str, str]:
    return {
        "decode": "value=auto",
        "schema.registry.url": registry.url,
        "schema.registry.basic.auth.user.info": registry.secret,  # type: ignore[attr-defined]
        **more,
    }


def serializer(registry: FakeRegistry, schema: Any, kind: type = AvroSerializer) -> Any:
    client = SchemaRegistryClient({"url": registry.url, "basic.auth.user.info": USER_INFO})
    if kind is AvroSerializer:
        return AvroSerializer(client, json.dumps(schema), conf={"auto.register.schemas": True})
    return JSONSerializer(json.dumps(schema), client)


@pytest.fixture(scope="module")
def orders(kafka: KafkaCluster, registry: FakeRegistry) -> str:
    """A topic with three versions of orders, a tombstone, and records that do not decode."""
    topic = kafka.create_topic(partitions=2)
    context = SerializationContext(topic, MessageField.VALUE)
    with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
        for number, schema in enumerate(VERSIONS):
            write = serializer(registry, schema)
            for n in range(EACH):
                value = {"id": number * EACH + n, "note": f"n{n}"} | ({"price": "1.5"} if number == 2 else {})
                if number == 2:
                    from decimal import Decimal

                    value["price"] = Decimal("1.50")
                producer.send(topic, write(value, context), b"k", partition=n % 2)
        for broken in BROKEN:
            producer.send(topic, broken, b"key", partition=1)
        producer.send(topic, None, b"gone", partition=0)
    return topic


def test_three_versions_are_rows_of_the_latest_and_errors_are_rows_too(
    spark: "SparkSession", kafka: KafkaCluster, registry: FakeRegistry, orders: str, event_log: Path
) -> None:
    registry.requests.clear()
    table = read(spark, "kctl", kafka, subscribe=orders, **decoding(registry))
    assert table.schema["value"].dataType.simpleString() == "struct<id:bigint,note:string,price:decimal(9,2)>"
    assert table.schema["key"].dataType.simpleString() == "binary"
    rows = table.selectExpr("value.*", "offset", "partition", "key", "decodeError").collect()
    good = sorted(row for row in rows if row.id is not None)
    assert [row.id for row in good] == list(range(3 * EACH))
    assert [row.note for row in good] == [None] * EACH + [f"n{n}" for n in range(EACH)] * 2
    assert [str(row.price) for row in good] == ["0.00"] * 2 * EACH + ["1.50"] * EACH
    assert all(row.decodeError is None for row in good)
    wrong = sorted((row for row in rows if row.decodeError is not None), key=lambda row: row.offset)
    assert [bytes(row.decodeError.value) for row in wrong] == BROKEN
    assert all(row.decodeError.offset == row.offset and bytes(row.decodeError.key) == b"key" for row in wrong)
    assert "has no schema ID" in wrong[0].decodeError.reason
    assert "Schema 12345 not found" in wrong[2].decodeError.reason
    assert [bytes(row.key) for row in rows if row.id is None and row.decodeError is None] == [b"gone"]
    by_id = [each for each in registry.requests if each.startswith("GET /schemas/ids/") and "12345" not in each]
    assert len(by_id) <= 3 * 3, "once a process: the driver, and two workers"
    assert 3 <= len(set(by_id)) <= 3
    plan = table._jdf.queryExecution().toString()
    seen = plan + "".join(path.read_text() for path in event_log.iterdir())
    assert "price" in seen
    assert USER_INFO not in seen
    assert "canary" not in seen


def test_own_schema_prunes_columns_and_fields_and_filters_hold(
    spark: "SparkSession", kafka: KafkaCluster, registry: FakeRegistry, orders: str
) -> None:
    wanted = (
        "offset long, value struct<note:string>, decodeError struct<offset:long,reason:string,key:binary,value:binary>"
    )
    table = read(spark, "kctl", kafka, subscribe=orders, schema=wanted, **decoding(registry))
    assert table.filter("value.note = 'n7'").count() == 2
    assert table.filter("decodeError is not null").count() == len(BROKEN)
    with pytest.raises(Exception, match="unknown field nothing of value in the schema: use id, note, price") as caught:
        read(spark, "kctl", kafka, subscribe=orders, schema="value struct<nothing:int>", **decoding(registry)).collect()
    assert reason(caught.value)


def test_without_the_column_of_errors_the_first_error_ends_the_query(
    spark: "SparkSession", kafka: KafkaCluster, registry: FakeRegistry, orders: str
) -> None:
    table = read(
        spark, "kctl", kafka, subscribe=orders, schema="offset long, value struct<id:long>", **decoding(registry)
    )
    with pytest.raises(Exception) as caught:
        table.collect()
    assert "cannot decode the record at offset" in str(reason(caught.value))


def test_stream_decodes_as_a_batch_does(
    spark: "SparkSession", kafka: KafkaCluster, registry: FakeRegistry, orders: str, tmp_path: Path
) -> None:
    stream = spark.readStream.format("kctl").option("kafka.bootstrap.servers", kafka.bootstrap())
    options = decoding(registry, subscribe=orders, startingOffsets="earliest", decodeSchema=f"value={orders}-value@2")
    table = stream.options(**options).load().selectExpr("value.note as note", "decodeError.reason as reason")
    writer = table.writeStream.format("json").option("path", str(tmp_path / "out"))
    query = writer.option("checkpointLocation", str(tmp_path / "at")).trigger(availableNow=True).start()
    query.awaitTermination()
    found = spark.read.schema("note string, reason string").json(str(tmp_path / "out")).collect()
    assert len(found) == 3 * EACH + len(BROKEN) + 1
    assert sum(row.note is not None for row in found) == EACH
    # A long of the third version is no int of the second, which is read by here.
    assert sum(row.reason is not None for row in found) == EACH + len(BROKEN)


def test_json_schema_is_a_struct(spark: "SparkSession", kafka: KafkaCluster, registry: FakeRegistry) -> None:
    topic = kafka.create_topic(partitions=1)
    schema = {
        "title": "Item",
        "type": "object",
        "properties": {"sku": {"type": "string"}, "counts": {"type": "array", "items": {"type": "integer"}}},
    }
    write = serializer(registry, schema, JSONSerializer)
    with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
        producer.send(topic, write({"sku": "a", "counts": [1, 2]}, SerializationContext(topic, MessageField.VALUE)))
    [row] = read(spark, "kctl", kafka, subscribe=topic, **decoding(registry, decode="value=json-schema")).collect()
    assert (row.value.sku, row.value.counts, row.decodeError) == ("a", [1, 2], None)


def test_several_topics_need_a_schema_in_common_and_a_registry_that_answers(
    spark: "SparkSession", kafka: KafkaCluster, registry: FakeRegistry, orders: str
) -> None:
    with pytest.raises(Exception, match="option decode needs a common schema for several topics"):
        read(spark, "kctl", kafka, subscribe=f"{orders},other", **decoding(registry))
    both = decoding(registry, decodeSchema=f"value={orders}-value")
    assert read(spark, "kctl", kafka, subscribePattern=f"{orders}|none", **both).count() == 3 * EACH + len(BROKEN) + 1
    down = decoding(registry) | {"schema.registry.url": "http://127.0.0.1:1"}
    with pytest.raises(Exception, match=r"127\.0\.0\.1:1: connection refused"):
        read(spark, "kctl", kafka, subscribe=orders, **down)


class Repeating:
    """A fault of a registry: it repeats the login that it gets."""

    def __init__(self) -> None:
        self.logins: list[str] = []

    def __call__(self, handler: BaseHTTPRequestHandler) -> None:
        login = handler.headers["Authorization"] or ""
        self.logins.append(login)
        body = json.dumps({"error_code": 500, "message": f"for {login}, {USER_INFO}"}).encode()
        handler.send_response(500, f"of {login}")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


def test_credentials_are_in_no_plan_event_or_error_of_a_task(
    spark: "SparkSession", kafka: KafkaCluster, registry: FakeRegistry, orders: str, event_log: Path, tmp_path: Path
) -> None:
    """Also where the registry repeats them: in the tasks' failures, in batches and streams."""
    topic = kafka.create_topic(partitions=1)
    with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
        producer.send(topic, write_frame(777, b"1"))  # of a schema that no worker has asked for
    options = decoding(registry, subscribe=topic, startingOffsets="earliest", decodeSchema=f"value={orders}-value@2")
    table = read(spark, "kctl", kafka, **options)
    reader = spark.readStream.format("kctl").option("kafka.bootstrap.servers", kafka.bootstrap())
    writer = reader.options(**options).load().writeStream.format("noop")
    seen = []
    registry.fault = repeating = Repeating()
    try:
        with pytest.raises(Exception, match="HTTP 500") as of_batch:
            table.collect()
        query = writer.option("checkpointLocation", str(tmp_path / "at")).trigger(availableNow=True).start()
        with pytest.raises(Exception, match="HTTP 500") as of_stream:
            query.awaitTermination()
    finally:
        registry.fault = None
    login = b64encode(USER_INFO.encode()).decode()
    assert f"Basic {login}" in repeating.logins
    for caught in (of_batch, of_stream):
        seen += ["".join(traceback.format_exception(caught.value)), str(reason(caught.value))]
    seen += [str(query.exception()), str(query.recentProgress), str(query.status)]
    explained = spark._jvm.PythonSQLUtils.explainString  # type: ignore[union-attr]
    seen += [explained(table._jdf.queryExecution(), mode) for mode in ("extended", "codegen", "cost", "formatted")]
    with pytest.raises(Exception, match="is a secret, which would be sent") as plain:
        read(spark, "kctl", kafka, **options | {"Schema.Registry.Basic.Auth.User.Info": USER_INFO})
    seen += [
        str(plain.value),
        *(
            path.read_text(errors="replace")
            for path in (*event_log.iterdir(), *tmp_path.rglob("*.*"))
            if path.is_file()
        ),
    ]
    text = "\n".join(seen)
    assert "ExceptionFailure" in text
    assert "canary" not in text
    assert login not in text
