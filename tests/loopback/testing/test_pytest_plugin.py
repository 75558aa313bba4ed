"""The pytest plugin: a new cluster for each test, configured by a marker."""

import subprocess
import sys
from pathlib import Path

TESTS = """
import pytest
from kctl.client import Producer

seen = []


def test_fixture_is_a_cluster(kafka):
    with Producer({"bootstrap.servers": kafka.bootstrap_servers}) as producer:
        producer.send("orders", b"2 apples")
    assert [record.value for record in kafka.records("orders")] == [b"2 apples"]
    assert kafka.bootstrap_servers.count(":") == 3


@pytest.mark.kafka(brokers=1, topics={"orders": 2})
def test_marker_configures_a_new_cluster(kafka):
    assert (kafka.topics(), kafka.records("orders")) == ({"orders": 2}, [])
    assert kafka.bootstrap_servers.count(":") == 1
"""


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "kctl.pytest_plugin", "-p", "no:asyncio", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_fixture_and_marker(tmp_path: Path) -> None:
    (tmp_path / "test_service.py").write_text(TESTS)
    ended = run_pytest(tmp_path, "-W", "error", "--strict-markers")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "2 passed" in ended.stdout
    assert "kafka(...)" in run_pytest(tmp_path, "--markers").stdout


def test_plugin_imports_no_cluster_before_a_test_needs_it(tmp_path: Path) -> None:
    (tmp_path / "test_nothing.py").write_text(
        "import sys\n\n\ndef test_no_cluster():\n    assert 'kctl.sandbox' not in sys.modules\n"
    )
    ended = run_pytest(tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
