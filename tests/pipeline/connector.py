"""Jars from Maven, fetched once into the tests' cache: Spark's Kafka connector, and what reads lake tables in Spark."""

import subprocess
from pathlib import Path
from typing import Final

from tests.support.kafka.toolchain import FETCH_TIMEOUT_S, FetchError, cached, find_tool

ARTIFACTS: Final = (
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.1.0"),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    ("org.apache.kafka", "kafka-clients", "3.9.1"),
    ("org.apache.commons", "commons-pool2", "2.12.1"),
)
"""What the connector needs beside Spark 4.1; nothing of what they name themselves."""
_NOTHING_ELSE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
_POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>kctl.tests</groupId><artifactId>connector</artifactId><version>1</version>
  <dependencies>{}</dependencies>
</project>
"""


LAKES: Final = (
    ("org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", "1.12.0"),
    ("io.delta", "delta-spark_4.1_2.13", "4.4.0"),
    ("io.delta", "delta-storage", "4.4.0"),
    ("org.xerial", "sqlite-jdbc", "3.47.1.0"),
)
"""By which Spark 4.1 reads tables of Iceberg, through a catalog in SQLite, and of Delta."""


def connector_jars() -> list[Path]:
    """Return the jars of Spark's Kafka connector, in a fixed order. Raises: as `_jars`."""
    return _jars("spark-connector", ARTIFACTS)


def lake_jars() -> list[Path]:
    """Return the jars by which Spark reads lake tables, in a fixed order. Raises: as `_jars`."""
    return _jars("spark-lakes", LAKES)


def _jars(name: str, artifacts: tuple[tuple[str, str, str], ...]) -> list[Path]:
    """Return the jars of artifacts.

    Raises:
        ToolMissing: they are not cached and there is no Maven or no Java.
        FetchError: Maven failed.
    """

    def fetch(folder: Path) -> None:
        find_tool("java", "openjdk-17-jdk-headless")
        maven = find_tool("mvn", "maven")
        dependencies = "".join(
            f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
            f"{_NOTHING_ELSE}</dependency>"
            for group, artifact, version in artifacts
        )
        pom = folder / "pom.xml"
        pom.write_text(_POM.format(dependencies))
        command = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=FETCH_TIMEOUT_S
        )
        if done.returncode != 0:
            raise FetchError(f"fetching {name} failed:\n{(done.stdout + done.stderr)[-4000:]}")

    return sorted(cached(f"{name}-{artifacts[0][2]}", fetch).glob("*.jar"))
