"""The data source on the oldest and the newest Spark that it is for, and on the one that is installed here.

Each of the first two has an environment of its own (0.5 GB), made once in the tests' cache. Not part of make test: make
pipeline-versions.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import FetchError, cached, find_tool

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("whole_way.py")
OLDEST, NEWEST = "4.0.0", "4.3.0"
FIRST_THAT_TELLS_OF_THE_END = (4, 2)
FETCH_S = 900
RUN_S = 600


def python_of(version: str) -> Path:
    """Return the interpreter of an environment with that PySpark."""
    if version == pyspark.__version__:
        return Path(sys.executable)

    def make(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=FETCH_S)
        wanted = [f"pyspark=={version}", "pyarrow>=18", "cramjam>=2.9"]
        command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*command, *wanted], capture_output=True, text=True, timeout=FETCH_S)
        if done.returncode != 0:
            raise FetchError(f"PySpark {version}:\n{done.stderr[-2000:]}")

    name = f"pyspark-{version}-python-{sys.version_info[0]}.{sys.version_info[1]}"
    return cached(name, make) / "bin" / "python"


@pytest.mark.parametrize("version", [OLDEST, pyspark.__version__, NEWEST])
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
    first, second = found["batches"]
    assert (sum(first), sum(second)) == (100, 50)
    if tuple(int(part) for part in version.split(".")[:2]) < FIRST_THAT_TELLS_OF_THE_END:
        assert found["limited"] == [[20], [20], [10], []], "one batch of that size for each query"
    else:
        assert found["limited"] == [[20, 20, 10], []], "one query, in batches of that size"
    assert found["copied"] == [[n, n % 2, str(n)] for n in range(200)]
