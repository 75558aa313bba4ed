"""Brokers that do not answer, and secrets: the query ends by its deadline with one line, and shows nothing secret."""

import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kctl.client.errors import ApiTimeout, MaxBlockTimeout
from kctl.client.producer import Producer
from kctl.pipeline import reason
from kctl.pipeline.isolation import as_given
from kctl.pipeline.range_reader import read_range
from kctl.pipeline.ranges import Selection, plan_ranges
from tests.pipeline.source_topics import read
from tests.pipeline.striking import ANONYMOUS, FETCH_BYTES, QUOTA_BYTES, SLOW_RECORDS, byte_quota, slow_topic
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

LIMIT_S = 3
SLACK_S = 45
"""For a machine that does much else."""
FIRST_ROWS_MS = bound(300_000)
"""Spark plans and starts its workers first; who waits for rows gets an error when the read has ended without any."""


@pytest.fixture(scope="module")
def topic(kafka: KafkaCluster) -> str:
    """A topic of some 60 MB, more than is read ahead."""
    name = kafka.create_topic(partitions=1)
    with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
        for _ in range(600):
            producer.send(name, bytes(100_000))
    return name


def test_a_broker_that_is_frozen_in_mid_read_and_thaws(kafka: KafkaCluster, topic: str) -> None:
    properties = as_given({"bootstrap.servers": kafka.bootstrap(), "default.api.timeout.ms": LIMIT_S * 1000})
    (whole,) = plan_ranges(properties, Selection((topic,)))
    batches = read_range(properties, whole)
    counts = [next(batches).num_rows]
    kafka.node(1).freeze()
    try:
        words = rf"timed out after \S+ \(default.api.timeout.ms.*\) while waiting for offset .* of {topic}-0"
        with pytest.raises(ApiTimeout, match=words):
            counts.extend(batch.num_rows for batch in batches)
    finally:
        kafka.node(1).thaw()
    got = sum(counts)
    assert 0 < got < 600
    rest = whole._replace(start_offset=whole.start_offset + got)
    assert got + sum(batch.num_rows for batch in read_range(properties, rest)) == 600


def test_a_query_over_a_dead_broker(spark: "SparkSession", kafka: KafkaCluster, topic: str) -> None:
    """Tasks have four attempts, and yet the query ends soon after its limit, with our line."""
    table = read(spark, "kctl", kafka, subscribe=topic, apiTimeout=f"{LIMIT_S}s")
    planned = table.select("offset").rdd
    assert planned.getNumPartitions() == 1  # ranges are planned with this, while the broker lives
    kafka.node(1).freeze()
    try:
        began = time.monotonic()  # noqa: TID251 - a whole-process bound
        with pytest.raises(Exception, match="KCTL: ApiTimeout") as caught:
            planned.count()
        elapsed_s = time.monotonic() - began  # noqa: TID251 - a whole process, with a wide bound
        with pytest.raises(Exception, match="KCTL: ApiTimeout") as planning:
            read(spark, "kctl", kafka, subscribe=topic, apiTimeout=f"{LIMIT_S}s").count()
    finally:
        kafka.node(1).thaw()
    assert elapsed_s < LIMIT_S + SLACK_S
    line = reason(caught.value) or ""
    assert "timed out after " in line
    assert "Traceback" not in str(caught.value)
    assert f"timed out after {LIMIT_S}s (default.api.timeout.ms)" in (reason(planning.value) or "")


def test_read_whose_broker_is_killed_in_mid_task_has_each_record_once(
    spark: "SparkSession", kafka_three: KafkaCluster, tmp_path: Path
) -> None:
    """Brokers slow the reader down; the one that it reads from is killed when the first rows have come."""
    topic = slow_topic(kafka_three)
    leader, begun, is_done = kafka_three.leader(topic), tmp_path / "begun", threading.Event()
    is_killed_in_time: list[bool] = []

    def kill(lift_quota: Callable[[], None]) -> None:
        wait_until(lambda: begun.exists() or is_done.is_set(), FIRST_ROWS_MS, "the first rows")
        leader.kill()
        is_killed_in_time.append(not is_done.is_set())
        lift_quota()

    def offsets(rows: Iterable[Any]) -> Iterator[int]:
        for row in rows:
            begun.touch()
            yield row.offset

    options = {"subscribe": topic, "kafka.max.partition.fetch.bytes": str(FETCH_BYTES)}
    table = read(spark, "kctl", kafka_three, **options).select("offset", "value")
    with ExitStack() as ending:
        ending.callback(leader.start)
        lift_quota = ending.enter_context(byte_quota(kafka_three, ANONYMOUS, QUOTA_BYTES))
        killing = threading.Thread(target=kill, args=(lift_quota,))
        killing.start()
        ending.callback(killing.join)
        ending.callback(is_done.set)
        found = table.rdd.mapPartitions(offsets).collect()
    assert is_killed_in_time == [True]
    assert sorted(found) == list(range(SLOW_RECORDS))


def accepted(server: socket.socket) -> int:
    """Close the connections that wait at a server, and return their number."""
    connections = 0
    with suppress(BlockingIOError):
        while True:
            server.accept()[0].close()
            connections += 1
    return connections


def test_write_without_response_spends_its_timeout_once(spark: "SparkSession") -> None:
    """Tasks have four attempts; only the first one connects to the server, which never says anything."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        server.setblocking(False)
        bootstrap = {"bootstrap.servers": f"127.0.0.1:{server.getsockname()[1]}"}
        with Producer(bootstrap | {"max.block.ms": LIMIT_S * 1000}) as producer, pytest.raises(MaxBlockTimeout):
            producer.send("t", b"v")
        of_one_producer = accepted(server)
        writing = spark.range(1).selectExpr("'v' as value").coalesce(1).write.format("kctl").mode("append")
        options = {f"kafka.{name}": value for name, value in bootstrap.items()} | {"apiTimeout": f"{LIMIT_S}s"}
        with pytest.raises(Exception, match="KCTL: MaxBlockTimeout") as caught:
            writing.options(topic="t", **options).save()
        assert 0 < accepted(server) < 2 * of_one_producer
    assert f"timed out after {LIMIT_S}s (max.block.ms)" in (reason(caught.value) or "")


def test_secrets_are_seen_nowhere(
    spark: "SparkSession", kafka: KafkaCluster, event_log: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The canary is the password of a real login, given as a reference, in queries that work and that fail."""
    properties = kafka.client_properties("SASL_SSL", "PLAIN")
    jaas = properties["sasl.jaas.config"]
    secret = jaas.split('password="')[1].split('"')[0]
    (tmp_path / "jaas").write_text(jaas + "\n")
    options = {f"kafka.{name}": value for name, value in properties.items()}
    options["kafka.sasl.jaas.config"] = f"file:{tmp_path}/jaas"
    topic = kafka.create_topic()
    table = spark.sql("select 'v' as value")
    table.write.format("kctl").options(**options).option("topic", topic).mode("append").save()
    reading = spark.read.format("kctl").options(**options)
    found = reading.option("subscribe", topic).load()
    assert found.count() == 1
    shown = [found._jdf.queryExecution().toString()]
    (tmp_path / "wrong").write_text(jaas.replace(secret, secret + "-wrong"))
    options["kafka.sasl.jaas.config"] = f"file:{tmp_path}/wrong"
    for fails in (
        lambda: spark.read.format("kctl").options(**options).option("subscribe", topic).load().count(),
        lambda: table.write.format("kctl").options(**options).option("topic", topic).mode("append").save(),
        lambda: reading.option("subscribe", topic).option("kafka.sasl.jaas.config", jaas).load().count(),
    ):
        with pytest.raises(Exception, match="KCTL: ") as caught:
            fails()
        shown.append(str(caught.value))
    assert "AuthenticationError" in shown[1]
    assert "env:NAME or file:/path" in shown[3]
    shown += [path.read_text(errors="replace") for path in event_log.iterdir() if path.is_file()]
    shown += capfd.readouterr()
    assert any("SparkListenerSQLExecutionStart" in text for text in shown), "the events are looked for elsewhere"
    assert not [text for text in shown if secret in text]
