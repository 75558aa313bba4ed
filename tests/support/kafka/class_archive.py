"""Archives of the classes that Kafka loads, which its JVMs map into memory: brokers and tools start with half the work.

Owns how an archive is made: of what one broker has loaded from its start to its end. `java_command` uses the archive of
a version once it is there, which changes nothing that a JVM does, and ignores one that another Java has made. Knows
nothing of pytest.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.toolchain import CLASS_ARCHIVE, cached, class_archive_folder, kafka_jars
from tests.support.kafka.waiting import wait_until

WRITE_TIMEOUT_MS = bound(240_000)
JAVA_OPTIONS = "JDK_JAVA_OPTIONS"


@contextmanager
def _own_options() -> Iterator[None]:
    """Take away the options that tests of Spark give its JVMs: Java maps one archive, or writes one."""
    options = os.environ.pop(JAVA_OPTIONS, None)
    try:
        yield
    finally:
        if options is not None:
            os.environ[JAVA_OPTIONS] = options


def make_class_archive(version: str) -> Path:
    """Return the archive of a Kafka version, made by a broker of its own the first time.

    Raises:
        ToolMissing: there is no Java, or the jars are not cached and there is no Maven.
        ClusterError: the broker did not start.
    """

    def make(folder: Path) -> None:
        written = f"-XX:ArchiveClassesAtExit={folder / CLASS_ARCHIVE}"
        with _own_options(), KafkaCluster(version, 1, jvm_options=[written]) as cluster:
            cluster.create_topic()
            process = cluster.node(1).process
            os.killpg(process.pid, signal.SIGTERM)  # not `stop`, which is in more of a hurry
            wait_until(lambda: not process.is_running, WRITE_TIMEOUT_MS, f"the archive of the classes of {version}")

    return cached(class_archive_folder(kafka_jars(version)).name, make) / CLASS_ARCHIVE
