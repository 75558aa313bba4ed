"""The data source on the oldest and the newest Spark that it is for, each in an environment of its own.

The environments (0.5 GB each) are made once, in the tests' cache. Not part of make test: make pipeline-versions.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.brokers.cluster import KafkaCluster
from tests.brokers.requirements import have
from tests.brokers.toolchain import FetchError, cached, find_tool

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("whole_way.py")
BEFORE_LIMITS, NEWEST = "4.0.0", "4.3.0"
FETCH_S = 900
RUN_S = 600


def python_of(version: str) -> Path:
    """Return the interpreter of an environment with that PySpark."""

    def make(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=FETCH_S)
        wanted = [f"pyspark=={version}", "pyarrow>=18", "google-crc32c>=1.6", "cramjam>=2.9"]
        command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*command, *wanted], capture_output=True, text=True, timeout=FETCH_S)
        if done.returncode != 0:
            raise FetchError(f"PySpark {version}:\n{done.stderr[-2000:]}")

    name = f"pyspark-{version}-python-{sys.version_info[0]}.{sys.version_info[1]}"
    return cached(name, make) / "bin" / "python"


@pytest.mark.parametrize("version", [BEFORE_LIMITS, NEWEST])
def test_the_whole_way(version: str, kafka_newest: KafkaCluster, tmp_path: Path) -> None:
    have(lambda: find_tool("java", "openjdk-17-jdk-headless"))
    prefix = f"whole-{version}"
    for suffix in "ab":
        kafka_newest.create_topic(f"{prefix}-{suffix}", partitions=2)
    python = python_of(version)
    done = subprocess.run(
        [str(python), str(PROGRAM), kafka_newest.bootstrap(), prefix, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=RUN_S,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["version"] == version
    assert found["read"] == [[n, f"v{n}", "h"] for n in range(100)]
    assert (found["filtered"], found["pruned"]) == (10, 50)
    assert "UNKNOWN_TOPIC_OR_PARTITION" in found["said"]
    first, second, limited = found["batches"]
    assert (sum(first), sum(second)) == (100, 50)
    if version == BEFORE_LIMITS:
        assert limited == [20], "one batch, limited: this Spark does not say that a query is to end"
    else:
        assert sum(limited) == 50
        assert max(limited) <= 20
    copied = [n for n, _, _ in found["copied"]]
    assert found["copied"] == [[n, n % 2, str(n)] for n in copied]
    assert len(copied) == len(set(copied)) == 150 + sum(limited)
    assert set(range(150)) <= set(copied)
