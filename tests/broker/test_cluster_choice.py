"""Which clusters tests have: `make test` starts `kafka_newest` alone, and fixtures make all clusters of these tiers."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.broker.test_plugin import environment, pytest_command
from tests.conformance.foreign.client import PROJECT
from tests.support.bounds import bound

TIERS = ("broker", "conformance", "faultlab", "replication")
USING = """
import pytest

@pytest.fixture
def through_another(kafka_three):
    return kafka_three

def test_newest(kafka_newest): pass
def test_three(kafka_three): pass
def test_impatient(kafka_impatient): pass
def test_own(own_kafka): pass
def test_any(any_kafka): pass
def test_through(through_another): pass

@pytest.mark.parametrize("name", ["kafka_newest", "kafka_3_9"])
def test_by_name(request, name): request.getfixturevalue(name)
"""


def test_tests_of_other_clusters_are_nightly(tmp_path: Path) -> None:
    command = [*pytest_command(tmp_path, USING), "--collect-only", "-m", "not nightly"]
    options = ["-o", "markers=nightly"]
    ended = subprocess.run([*command, *options], env=environment(), capture_output=True, text=True, timeout=bound(60))
    collected = re.findall(r"::(\S+)", ended.stdout)
    assert collected == ["test_newest", "test_any[4.3.1]", "test_by_name[kafka_newest]"], ended


@pytest.mark.parametrize("tier", TIERS)
def test_no_test_makes_a_cluster_beside_the_fixtures(tier: str) -> None:
    files = list((PROJECT / "tests" / tier).rglob("*.py"))
    assert files
    assert [path.name for path in files if re.search(r"\bKafkaCluster\(", path.read_text())] == []
