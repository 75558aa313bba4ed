"""Spark's own Kafka connector, the peer of the data source: its jars, fetched once into the tests' cache.

Shown by tests/pipeline/test_source_read.py.
"""

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


def connector_jars() -> list[Path]:
    """Return the jars, in a fixed order.

    Raises:
        ToolMissing: they are not cached and there is no Maven or no Java.
        FetchError: Maven failed.
    """

    def fetch(folder: Path) -> None:
        find_tool("java", "openjdk-17-jdk-headless")
        maven = find_tool("mvn", "maven")
        dependencies = "".join(
            f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
            f"{_NOTHING_ELSE}</dependency>"
            for group, name, version in ARTIFACTS
        )
        pom = folder / "pom.xml"
        pom.write_text(_POM.format(dependencies))
        command = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=FETCH_TIMEOUT_S
        )
        if done.returncode != 0:
            raise FetchError(f"fetching Spark's connector failed:\n{(done.stdout + done.stderr)[-4000:]}")

    return sorted(cached(f"spark-connector-{ARTIFACTS[0][2]}", fetch).glob("*.jar"))
