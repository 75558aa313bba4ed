"""The table of options, row for row: each is given to both sources, and what comes back agrees with its verdict."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kctl.client.producer import Producer
from kctl.pipeline import reason
from kctl.pipeline.source.option_table import OPTIONS, OptionRow, Verdict
from kctl.pipeline.source.options import KAFKA
from tests.pipeline.source_topics import START_MS, read, rows
from tests.support.kafka.cluster import KafkaCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
COUNT = 20
TIMES = json.dumps({"T": {"0": START_MS + 5, "1": START_MS + 5}})
VALUES = {
    "kafka.bootstrap.servers": "B",
    "subscribe": "T",
    "subscribePattern": r"\QT\E",
    "assign": '{"T":[1]}',
    "startingOffsets": '{"T":{"0":-2,"1":3}}',
    "startingTimestamp": str(START_MS + 5),
    "startingOffsetsByTimestamp": TIMES,
    "startingOffsetsByTimestampStrategy": "latest",
    "endingOffsets": '{"T":{"0":4,"1":-1}}',
    "endingTimestamp": str(START_MS + 5),
    "endingOffsetsByTimestamp": TIMES,
    "failOnDataLoss": "false",
    "includeHeaders": "true",
    "minPartitions": "5",
    "maxRecordsPerPartition": "3",
    "maxOffsetsPerTrigger": "7",
    "minOffsetsPerTrigger": "3",
    "maxTriggerDelay": "1s",
    "commitToGroup": "T-progress",
    "kafkaConsumer.pollTimeoutMs": "20000",
    "fetchOffset.numRetries": "2",
    "fetchOffset.retryIntervalMs": "5",
    "groupIdPrefix": "some",
    "kafka.group.id": "some",
    "kafka.auto.offset.reset": "earliest",
    "kafka.enable.auto.commit": "true",
    "kafka.key.deserializer": "x",
    "kafka.value.deserializer": "x",
    "kafka.interceptor.classes": "x",
    "kafka.key.serializer": "x",
    "kafka.value.serializer": "x",
    "kafka.transactional.id": "x",
    "apiTimeout": "20s",
    "requestTimeout": "20s",
    "connectTimeout": "20s",
    "topic": "OUT",
    "keepTimestamps": "true",
}
SELECTING = ("subscribe", "subscribePattern", "assign")


@pytest.fixture(scope="module")
def topic(kafka: KafkaCluster) -> str:
    name = kafka.create_topic(partitions=2)
    with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
        for n in range(COUNT):
            headers = [("h", b"%d" % n)]
            producer.send(name, b"%d" % n, partition=n % 2, headers=headers, timestamp_ms=START_MS + n // 2)
    return name


def outcome(work: Callable[[], Any]) -> Any:
    """Return what it returns, or that it failed."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - Spark's errors have no common base; what came is compared
        return f"refused: {reason(error) or type(error).__name__}"


def connector_refusal(work: Callable[[], Any]) -> str:
    """Return how the connector refuses what it was given."""
    with pytest.raises(Exception) as caught:
        work()
    return str(caught.value)


def squeezed(text: str) -> str:
    """Return a text without the marks in which names of properties differ: transactional.id, TransactionalId."""
    return text.replace(".", "").lower()


def given(row: OptionRow, kafka: KafkaCluster, topic: str, out: str) -> dict[str, str]:
    value = VALUES[row.name].replace("OUT", out).replace("T", topic) if row.name not in ("apiTimeout",) else "20s"
    chosen = {row.name: kafka.bootstrap() if value == "B" else value}
    if row.use != "write" and row.name not in SELECTING:
        chosen["subscribe"] = topic
    return chosen


def read_all(spark: "SparkSession", source: str, kafka: KafkaCluster, options: dict[str, str]) -> Any:
    return rows(read(spark, source, kafka, **options))


def stream_all(spark: "SparkSession", source: str, kafka: KafkaCluster, options: dict[str, str], at: Path) -> Any:
    found: list[Any] = []
    stream = spark.readStream.format(source).option("kafka.bootstrap.servers", kafka.bootstrap())
    table = stream.options(**{"startingOffsets": "earliest", **options}).load()
    writing = table.writeStream.foreachBatch(lambda batch, _: found.extend(rows(batch)))
    query = writing.option("checkpointLocation", str(at / source)).trigger(processingTime="100 milliseconds").start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    return sorted(found, key=lambda row: row[2:5])


def write_one(spark: "SparkSession", source: str, kafka: KafkaCluster, options: dict[str, str], out: str) -> Any:
    before = len(read_all(spark, "kafka", kafka, {"subscribe": out}))
    table = spark.sql("select 'v' as value, array(named_struct('key', 'h', 'value', cast('x' as binary))) as headers")
    writing = table.write.format(source).option("kafka.bootstrap.servers", kafka.bootstrap())
    writing.options(**{"topic": out, **options}).mode("append").save()
    found = read_all(spark, "kafka", kafka, {"subscribe": out, "includeHeaders": "true"})
    return [(bytes(row[1]), row[7]) for row in found][before:]


DECODING = "decode"
"""How the names of options begin that need a registry: tests/pipeline/test_source_decode.py."""


@pytest.mark.parametrize(
    "row", [row for row in OPTIONS if not row.name.startswith(DECODING)], ids=lambda row: f"{row.use}-{row.name}"
)
def test_option_does_what_its_row_says(
    spark: "SparkSession", kafka: KafkaCluster, topic: str, row: OptionRow, tmp_path: Path
) -> None:
    out = kafka.create_topic() if row.use == "write" else ""
    options = given(row, kafka, topic, out)

    def run(source: str) -> Any:
        if row.use == "write":
            return write_one(spark, source, kafka, options, out)
        if row.use == "stream":
            return stream_all(spark, source, kafka, options, tmp_path)
        return read_all(spark, source, kafka, options)

    ours = outcome(lambda: run("kctl"))
    if row.verdict is Verdict.REFUSED:
        assert f"option {row.name} is not supported: {row.why}" in ours
        assert squeezed(row.name.removeprefix(KAFKA)) in squeezed(connector_refusal(lambda: run("kafka")))
        return
    theirs = outcome(lambda: run("kafka"))
    assert ours, "nothing was read or written"
    assert not str(ours).startswith("refused")
    assert ours == theirs or row.verdict is Verdict.OURS
    if row.verdict is Verdict.SAME:
        assert not str(theirs).startswith("refused")


def test_connector_has_no_option_that_the_table_lacks(spark: "SparkSession") -> None:
    """An option that the connector knows and the table does not would stop a program that moves over."""
    jvm: Any = spark._jvm
    provider = getattr(jvm, "org.apache.spark.sql.kafka010.KafkaSourceProvider$")
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    found = jvm.java.lang.Class.forName(provider._fqn, True, loader)
    module = found.getField("MODULE$").get(None)
    names = {
        str(method.invoke(module, None))
        for method in found.getMethods()
        if method.getReturnType().getName() == "java.lang.String"
        and not method.getParameterTypes()
        and method.getName().isupper()
    }
    options = {name.lower() for name in names if name.replace(".", "").isalnum()}
    known = {row.name.lower() for row in OPTIONS}
    assert len(options & known) > 10, "the connector's names were not found"
    assert options - {"15m"} <= known, "15m is the default of maxTriggerDelay"
