"""A job on a YARN cluster of two node managers: kctl's code reaches the executors, and each record is exported once."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Sandbox
from tests.cli.groups_scene import fill
from tests.pipeline.exports import in_export, on_topic
from tests.pipeline.processes import JobProcess
from tests.pipeline.spark_classes import spark_home
from tests.support.bounds import bound
from tests.support.kafka.lifeline import ServerProcess, make_folder, remove_folder
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import compiled_class_path, find_tool, maven_jars
from tests.support.kafka.waiting import wait_until

HADOOP = "3.4.2"
ARTIFACTS = (f"org.apache.hadoop:hadoop-minicluster:{HADOOP}", "junit:junit:4.13.2", "org.mockito:mockito-core:4.11.0")
OPENED = ("java.base/java.lang=ALL-UNNAMED", "java.base/java.util=ALL-UNNAMED")
STARTED_WITHIN_MS = bound(180_000)
PARTITIONS, EACH = 4, 250


@pytest.fixture(scope="module")
def hadoop_conf() -> Iterator[Path]:
    """The configuration of a running cluster."""
    jars = have(lambda: maven_jars(f"hadoop-{HADOOP}", *ARTIFACTS))
    class_path = os.pathsep.join(map(str, sorted(jars.glob("*.jar"))))
    source = Path(__file__).with_name("java") / "MiniYarn.java"
    classes = have(lambda: compiled_class_path(source, f"hadoop-{HADOOP}", class_path))
    folder = make_folder("yarn")
    process = ServerProcess("YARN", folder / "yarn.log")
    opened = [word for module in OPENED for word in ("--add-opens", module)]
    java = [find_tool("java", "openjdk-17-jdk-headless"), *opened, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    target = f"-Dtest.build.data={folder}"  # what node managers keep
    process.start(["/bin/sh", "-c", f'cd {folder} && exec "$@"', "sh", *java, target, "-cp", classes, "MiniYarn", "."])
    try:
        wait_until(lambda: b"READY" in process.log_path.read_bytes(), STARTED_WITHIN_MS, "YARN")
        yield folder
    finally:
        process.kill()
        remove_folder(folder)


def test_export_on_yarn_writes_each_record_once(
    hadoop_conf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(hadoop_conf))
    properties = {
        "spark.yarn.jars": f"local:{spark_home()}/jars/*",  # no copy for each container
        "spark.executor.instances": "1",
        "spark.executor.memory": "512m",
        "spark.yarn.am.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    given = [word for name, value in properties.items() for word in ("--spark-conf", f"{name}={value}")]
    with Sandbox(nodes=1, topics={"t": PARTITIONS}).serve() as served:
        fill(served.bootstrap, "t", dict.fromkeys(range(PARTITIONS), EACH))
        arguments = ("export", "t", "--to", str(tmp_path / "x"), "-b", served.bootstrap, "--master", "yarn", *given)
        job = JobProcess(tmp_path / "job", *arguments)
        try:
            assert job.ended()[0] == ExitCode.OK, job.said()
        finally:
            job.close()
        expected = on_topic({"bootstrap.servers": served.bootstrap}, "t")
    assert len(expected) == PARTITIONS * EACH
    assert in_export(tmp_path / "x") == expected
