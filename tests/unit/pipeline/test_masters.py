"""What Spark needs for each kind of master: named with the setting to change before Spark starts."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.client.errors import ConfigError
from kctl.pipeline import masters, running
from kctl.pipeline.job_errors import SparkSetUpError
from kctl.pipeline.masters import check_master
from kctl.pipeline.session import SessionOptions

IMAGE = {"spark.kubernetes.container.image": "kctl:1"}


@pytest.fixture(autouse=True)
def _nothing_is_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    variables = (
        "HADOOP_CONF_DIR",
        "YARN_CONF_DIR",
        "KUBECONFIG",
        "SPARK_HOME",
        "SPARK_CONF_DIR",
        "PYSPARK_SUBMIT_ARGS",
    )
    for name in variables:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(masters, "POD_TOKEN", tmp_path / "token")


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a server."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def missing(master: str, properties: dict[str, str] | None = None) -> tuple[str, str]:
    """Return the error and its hint, each one line."""
    with pytest.raises(SparkSetUpError) as caught:
        check_master(SessionOptions(master, properties or {}))
    assert "\n" not in str(caught.value) + caught.value.hint
    return str(caught.value), caught.value.hint


def test_session_is_not_started_for_a_master_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "check_installed", lambda _options: None)
    with (
        pytest.raises(SparkSetUpError, match="HADOOP_CONF_DIR is not set"),
        running.open_session(SessionOptions("yarn"), "x"),
    ):
        pass


def test_yarn_needs_the_directory_with_its_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    error, hint = missing("yarn")
    assert error == "HADOOP_CONF_DIR is not set: Spark needs yarn-site.xml to find YARN"
    assert "export HADOOP_CONF_DIR=" in hint
    monkeypatch.setenv("YARN_CONF_DIR", str(tmp_path))
    assert missing("yarn")[0] == f"no yarn-site.xml found in the directory of YARN_CONF_DIR={tmp_path}"
    (tmp_path / "yarn-site.xml").touch()
    check_master(SessionOptions("yarn"))
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path / "core"))  # without that of YARN
    check_master(SessionOptions("yarn"))


def test_yarn_can_be_configured_by_a_property_or_by_the_script_of_spark(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    check_master(SessionOptions("yarn", {"spark.hadoop.yarn.resourcemanager.address": "rm:8032"}))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    (tmp_path / "spark-env.sh").write_text("export PATH\n")
    assert "HADOOP_CONF_DIR is not set" in missing("yarn")[0]
    (tmp_path / "spark-env.sh").write_text("export HADOOP_CONF_DIR=${HADOOP_CONF_DIR:-/etc/hadoop/conf}\n")
    check_master(SessionOptions("yarn"))


def test_kubernetes_needs_an_image(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    error, hint = missing("k8s://https://127.0.0.1:1")
    assert error == "spark.kubernetes.container.image is not set: Spark executors on Kubernetes need an image"
    assert hint.endswith("--spark-conf spark.kubernetes.container.image=IMAGE")
    others = ({"spark.kubernetes.executor.container.image": "kctl:1"}, IMAGE)
    assert all("no Kubernetes credentials" in missing("k8s://127.0.0.1:1", given)[0] for given in others)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/spark-defaults.conf").write_text("# ours\nspark.kubernetes.container.image   kctl:1\n")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert "no Kubernetes credentials" in missing("k8s://127.0.0.1:1")[0]
    monkeypatch.delenv("SPARK_HOME")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf 'spark.kubernetes.container.image=kctl:1' pyspark-shell")
    assert "no Kubernetes credentials" in missing("k8s://127.0.0.1:1")[0]


def test_kubernetes_needs_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str) -> None:
    master = f"k8s://https://{address}"
    error, hint = missing(master, IMAGE)
    assert error == (
        f"no Kubernetes credentials found in {tmp_path}/.kube/config, and this machine is not a pod "
        f"with a service account"
    )
    assert "--spark-conf spark.kubernetes.authenticate.oauthTokenFile=FILE" in hint
    assert (
        "no Kubernetes credentials"
        in missing(master, IMAGE | {"spark.kubernetes.authenticate.caCertFile": "ca.pem"})[0]
    )
    check_master(SessionOptions(master, IMAGE | {"spark.kubernetes.authenticate.oauthTokenFile": "t"}))
    check_master(SessionOptions(master, IMAGE | {"spark.kubernetes.context": "prod"}))
    (tmp_path / "token").touch()
    check_master(SessionOptions(master, IMAGE))
    (tmp_path / "token").rename(tmp_path / "config")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/gone:{tmp_path}/config")
    check_master(SessionOptions(master, IMAGE))


@pytest.mark.parametrize("scheme", ["", "http://", "https://"])
def test_api_server_of_kubernetes_that_refuses_is_named(address: str, scheme: str) -> None:
    given = IMAGE | {"spark.kubernetes.context": "prod"}
    check_master(SessionOptions(f"k8s://{scheme}{address}", given))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    error, hint = missing(f"k8s://{scheme}127.0.0.1:{port}", given)
    assert error == f"no Kubernetes API server responds at k8s://{scheme}127.0.0.1:{port}: Connection refused"
    assert "kubectl cluster-info" in hint


def test_one_of_several_standalone_masters_is_enough(address: str) -> None:
    check_master(SessionOptions(f"spark://127.0.0.1:1,{address}"))
    assert missing("spark://127.0.0.1:1")[0] == "no Spark master responds at spark://127.0.0.1:1: Connection refused"


@pytest.mark.parametrize(
    "master",
    [
        *("spark://HOST", "spark://", "spark://h:", "spark://h:x", "spark://h:99999", "spark://h:1,", "spark://::1:1"),
        *(f"spark://h:{'9' * 5000}", f"spark://{'h' * 64}:1", "h:1", "mesos://h:1", ""),
        *("k8s://h:x", "k8s://h:99999", "k8s://[h", f"k8s://h:{'9' * 5000}"),
    ],
)
def test_invalid_master_is_rejected(master: str) -> None:
    options = SessionOptions(master, {**IMAGE, "spark.kubernetes.context": "prod"})
    with pytest.raises(ConfigError, match=r"^invalid master '.*': use local\[N\], spark://HOST:PORT, ") as caught:
        check_master(options)
    assert len(str(caught.value)) < 200
