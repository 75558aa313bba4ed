"""What a newcomer's machine lacks, or what was given wrongly: told in a line, before Spark's minutes and its traces."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Sandbox
from tests.cli.groups_scene import fill
from tests.cli.processes import Ended, kctl
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import find_tool

OLD_JAVA = """#!/bin/sh
echo 'Exception in thread "main" java.lang.UnsupportedClassVersionError: org/apache/spark/launcher/Main' >&2
exit 1
"""


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        fill(served.bootstrap, "t", {0: 3})
        yield served.bootstrap


def _export(bootstrap: str, folder: Path, *arguments: str, environ: dict[str, str] | None = None) -> Ended:
    have(lambda: find_tool("java", "openjdk-17-jdk-headless"))
    ours = {"TMPDIR": str(folder.parent), **(environ or {})}  # a log that is kept lies there
    return kctl("pipeline", "export", "t", "--to", str(folder), "-b", bootstrap, *arguments, environ=ours)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--spark-log", "/proc/nothing/log"), "Spark's log /proc/nothing/log: No such file or directory"),
        (("--spark-log", "/proc"), "Spark's log /proc: Is a directory"),
        (("--worker-python", "/proc/nothing"), "cannot find the Python for tasks: /proc/nothing"),
        (("--spark-conf", "spark.speculation=true"), "use false, because"),
        (("--spark-conf", "spark.driver.memory=1x"), "Spark did not start: Invalid maximum heap size: -Xmx1x"),
    ],
)
def test_export_with_invalid_spark_options_fails_without_traceback(
    bootstrap: str, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    ended = _export(bootstrap, tmp_path / "x", *arguments)
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
    assert list((tmp_path / "x").rglob("*.parquet")) == []


def test_a_master_that_nobody_listens_at_is_told_at_once(bootstrap: str, tmp_path: Path) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        master = f"spark://127.0.0.1:{bound.getsockname()[1]}"
        ended = _export(bootstrap, tmp_path / "x", "--master", master)
    assert ended.code == ExitCode.USAGE
    assert f"no Spark master responds at {master}: Connection refused" in ended.stderr
    assert "starting Spark" not in ended.stderr


def test_a_java_that_is_too_old_is_told(bootstrap: str, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(OLD_JAVA)
    java.chmod(0o755)
    ended = _export(bootstrap, tmp_path / "x", environ={"JAVA_HOME": str(tmp_path)})
    assert ended.code == ExitCode.USAGE
    assert "jobs need Java 17 or newer: the installed Java is older\nhint: " in ended.stderr
