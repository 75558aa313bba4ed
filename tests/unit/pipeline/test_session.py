"""How Spark is set up for jobs, and what is refused before it starts."""

import shutil

import pytest

from kctl.client.errors import ConfigError
from kctl.pipeline.job_errors import SparkMissingError
from kctl.pipeline.session import SessionOptions, check_installed, spark_properties


def test_what_a_version_lacks_is_left_out() -> None:
    sockets = "spark.python.unix.domain.socket.enabled"
    assert sockets not in spark_properties(SessionOptions(), "x", version=(4, 0))
    assert spark_properties(SessionOptions(), "x", version=(4, 1))[sockets] == "true"


def test_the_users_properties_win() -> None:
    options = SessionOptions(properties={"spark.ui.enabled": "true", "spark.app.name": "mine"})
    properties = spark_properties(options, "kctl export", version=(4, 1))
    assert (properties["spark.ui.enabled"], properties["spark.app.name"]) == ("true", "mine")


@pytest.mark.parametrize("value", ["true", " TRUE", "1"])
def test_speculation_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match=r"spark.speculation=.*: two copies of a task"):
        spark_properties(SessionOptions(properties={"spark.speculation": value}), "x", version=(4, 1))


@pytest.mark.parametrize("module", ["pyspark", "pyarrow"])
def test_what_is_not_installed_is_told_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == module else object())
    with pytest.raises(SparkMissingError, match=module) as caught:
        check_installed()
    assert caught.value.hint == "pip install 'kctl-kafka[spark]'"


def test_missing_java_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(SparkMissingError, match="Java 17"):
        check_installed()
