"""Jobs that start in a working directory of somebody else: nothing of the directory runs, on any kind of cluster."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.client.producer import Producer
from kctl.sandbox import Sandbox
from tests.cli.processes import environment
from tests.pipeline.spark_classes import spark_java
from tests.pipeline.standalone import StandaloneCluster
from tests.support.bounds import bound
from tests.support.faults.hostile_folder import HostileFolder

LIMIT_S = bound(180)


@pytest.fixture(scope="module")
def standalone() -> Iterator[StandaloneCluster]:
    with StandaloneCluster(1, executor_java=spark_java()) as cluster:
        yield cluster


@pytest.mark.parametrize("kind", ["local", "standalone"])
def test_job_runs_nothing_of_the_working_directory(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    master = "local[1]" if kind == "local" else request.getfixturevalue("standalone").master
    hostile = HostileFolder(tmp_path)
    program = [sys.executable, "-P", "-m", "kctl"]
    with Sandbox(nodes=1, topics={"t": 1}).serve() as sandbox:
        with Producer({"bootstrap.servers": sandbox.bootstrap}) as producer:
            producer.send("t", b"value")
        ended = subprocess.run(
            [*program, "pipeline", "stats", "t", "-b", sandbox.bootstrap, "--master", master, "--output", "json"],
            cwd=hostile.path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment({"JDK_JAVA_OPTIONS": spark_java()}),
            timeout=LIMIT_S,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr.decode()
    assert b'"records": 1' in ended.stdout
    assert hostile.marks() == []
