"""What the tests of the data source share: one Spark session with Spark's own connector beside ours, and one broker.

Those of jobs share a session of kctl's own. A process has one Spark session at a time, so they run in two processes
(see the Makefile).
"""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kctl.pipeline.running import open_session
from kctl.pipeline.session import Session, SessionOptions
from tests.pipeline.connector import connector_jars
from tests.pipeline.spark_classes import spark_java
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import NEWEST_KAFKA, ToolMissing, find_tool
from tests.support.s3.server import S3Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `make nightly` what is not marked smoke: `make test` has one Spark session."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and item.get_closest_marker("smoke") is None:
            item.add_marker(pytest.mark.nightly)


BROKER = {
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.min.compaction.lag.ms": "0",
    "log.initial.task.delay.ms": "0",
}
"""A cleaner that starts at once: compaction is one of the things that tests look at."""


@pytest.fixture(scope="session", autouse=True)
def _quick_java() -> None:
    """Have every JVM of Spark that starts from here map its classes from an archive: most of them live for seconds."""
    with suppress(ToolMissing):  # tests that need Java say so themselves
        os.environ["JDK_JAVA_OPTIONS"] = spark_java()


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaCluster]:
    """One node of the newest Kafka that compacts eagerly; leave it running and thawed."""
    have(lambda: find_tool("java", "openjdk-17-jdk-headless"))
    with have(lambda: KafkaCluster(NEWEST_KAFKA, 1, BROKER)) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def event_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the session writes all that its UI would show."""
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="session")
def spark(event_log: Path) -> "Iterator[SparkSession]":
    """A session in which both `format("kctl")` and `format("kafka")` work; a task has four attempts."""
    from pyspark.sql import SparkSession

    import kctl.pipeline

    os.environ["PYSPARK_PYTHON"] = sys.executable
    properties: dict[str, bool | float | int | str | None] = {
        "spark.jars": ",".join(map(str, have(connector_jars))),
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.dir": event_log.as_uri(),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.forceDeleteTempCheckpointLocation": "true",
        "spark.python.unix.domain.socket.enabled": "true",
    }
    builder = SparkSession.builder.master("local[2,4]").appName("kctl tests")
    session = builder.config(map=properties).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    kctl.pipeline.register(session)
    yield session
    session.stop()


class LocalSpark:
    """A local Spark for the tests of jobs, whose tasks have two attempts, as a cluster's have four.

    It takes five seconds to start, so it is shared; whoever wants another one in this process ends it before.
    """

    def __init__(self) -> None:
        self._open = ExitStack()
        self._session: Session | None = None

    def session(self) -> Session:
        """Return the session, started when it is not there."""
        if self._session is None:
            self._session = self._open.enter_context(open_session(SessionOptions(master="local[2]"), "kctl tests"))
        return self._session

    def close(self) -> None:
        """End it, if it is there."""
        self._session = None
        self._open.close()


@pytest.fixture(scope="session")
def local_spark() -> Iterator[LocalSpark]:
    """A local Spark that can be ended."""
    spark = LocalSpark()
    yield spark
    spark.close()


@pytest.fixture(scope="module")
def session(local_spark: LocalSpark) -> Session:
    """A session of kctl's on two cores; leave it as it is."""
    return local_spark.session()


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """An S3 server on loopback, whose environment variables a test sets for itself."""
    with S3Server() as server:
        yield server
