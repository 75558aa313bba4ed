"""How Spark is set up for jobs, and what is refused before it starts."""

import shutil
from pathlib import Path

import pytest

from kctl.client.errors import ConfigError
from kctl.pipeline.job_errors import SparkMissingError
from kctl.pipeline.session import (
    CLUSTER_TASKS,
    SessionOptions,
    check_installed,
    last_log_line,
    spark_properties,
    tasks_at_once,
)


def test_spark_properties_omit_what_a_version_lacks() -> None:
    sockets = "spark.python.unix.domain.socket.enabled"
    assert sockets not in spark_properties(SessionOptions(), "x", version=(4, 0))
    assert spark_properties(SessionOptions(), "x", version=(4, 1))[sockets] == "true"


@pytest.mark.parametrize("master", ["yarn", "k8s://https://host:6443"])
def test_containers_have_no_sockets_with_paths(master: str) -> None:
    """The directory of a container has more bytes than the address of a socket."""
    assert "spark.python.unix.domain.socket.enabled" not in spark_properties(
        SessionOptions(master), "x", version=(4, 1)
    )


def test_the_users_properties_win() -> None:
    options = SessionOptions(properties={"spark.ui.enabled": "true", "spark.app.name": "mine"})
    properties = spark_properties(options, "kctl export", version=(4, 1))
    assert (properties["spark.ui.enabled"], properties["spark.app.name"]) == ("true", "mine")


@pytest.mark.parametrize("value", ["true", " TRUE", "1"])
def test_speculation_is_refused(value: str) -> None:
    with pytest.raises(
        ConfigError,
        match=r"invalid spark.speculation .*: use false, because speculative copies of "
        "a task",
    ):
        spark_properties(SessionOptions(properties={"spark.speculation": value}), "x", version=(4, 1))


@pytest.mark.parametrize("module", ["pyspark", "pyarrow"])
def test_missing_package_is_reported_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == module else object())
    with pytest.raises(SparkMissingError, match=module) as caught:
        check_installed()
    assert "pip install '.[spark]' (in a checkout of kctl)" in caught.value.hint


def test_missing_java_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(SparkMissingError, match="Java 17"):
        check_installed()


def test_a_java_home_without_java_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(SparkMissingError, match=f"PATH has no java, and JAVA_HOME={tmp_path} has no bin/java"):
        check_installed()


@pytest.mark.parametrize(
    ("log", "told"),
    [
        (
            "Invalid maximum heap size: -Xmx1x\nError: Could not create the Java Virtual Machine.\n"
            "Error: A fatal exception has occurred. Program will exit.\n",
            "Invalid maximum heap size: -Xmx1x",
        ),
        (
            "java.io.IOException: Failed to connect\n\tat io.netty.channel.Errors.handleConnectErrno(Errors.java:131)\n"
            "26/11/22 ERROR Backend: All masters are unresponsive! Giving up.\n26/11/22 WARN Client: Drop it\n",
            "26/11/22 ERROR Backend: All masters are unresponsive! Giving up.",
        ),
        ("26/11/22 WARN Utils: nothing is wrong\n", ""),
    ],
)
def test_the_line_of_a_log_that_tells_what_is_wrong(tmp_path: Path, log: str, told: str) -> None:
    (tmp_path / "log").write_text(log)
    assert last_log_line(tmp_path / "log") == told


def test_no_log_tells_nothing(tmp_path: Path) -> None:
    assert (last_log_line(None), last_log_line(tmp_path / "missing")) == ("", "")


def test_local_master_with_too_many_digits_is_left_to_spark() -> None:
    assert tasks_at_once(None, SessionOptions(f"local[{'9' * 5000}]")) == CLUSTER_TASKS
    assert tasks_at_once(None, SessionOptions("local[12,3]")) == 12
