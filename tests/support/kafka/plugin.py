"""pytest fixtures: real Kafka clusters, each started at first use and shared by the whole session.

Owns the fixtures' names and the kept logs of a failed session. Run these tests in one process: with several workers of
pytest-xdist each would start clusters of its own, which is safe but slow.

| fixture | what |
|---|---|
| `kafka_newest` | one node of the newest Kafka |
| `kafka_three` | three nodes of the newest Kafka |
| `kafka_3_9`, `kafka_2_8` | one node, the latter with ZooKeeper |
| `any_kafka` | the three single nodes in turn |
"""

from collections.abc import Callable, Iterator

import pytest

from tests.support.kafka.class_archive import make_class_archive
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import give_up, have
from tests.support.kafka.toolchain import NEWEST_KAFKA, ToolMissing, find_tool

SINGLE_VERSIONS = (NEWEST_KAFKA, "3.9.1", "2.8.2")

_kept_logs = pytest.StashKey[list[str]]()
_Clusters = Callable[[str, int], KafkaCluster]


@pytest.fixture(scope="session")
def _kafka_clusters(request: pytest.FixtureRequest) -> Iterator[_Clusters]:
    started: dict[tuple[str, int], KafkaCluster] = {}
    missing: dict[tuple[str, int], str] = {}

    def get(version: str, nodes: int) -> KafkaCluster:
        wanted = version, nodes
        if wanted in missing:
            give_up(missing[wanted])
        if wanted not in started:
            try:
                make_class_archive(version)
                started[wanted] = KafkaCluster(version, nodes).__enter__()
            except ToolMissing as error:
                missing[wanted] = str(error)
                give_up(missing[wanted])
        return started[wanted]

    yield get
    keep = request.session.testsfailed > 0
    for cluster in started.values():
        cluster.close(keep_logs=keep)
        if keep:
            request.config.stash.setdefault(_kept_logs, []).append(str(cluster.kept_logs))


@pytest.fixture(scope="session")
def java_and_maven() -> None:
    """For those who ask Kafka's own classes: skipped where Java or Maven is missing, a failure on CI."""
    have(lambda: [find_tool("java", "openjdk-17-jdk-headless"), find_tool("mvn", "maven")])


@pytest.fixture(scope="session")
def kafka_newest(_kafka_clusters: _Clusters) -> KafkaCluster:
    """One node of the newest Kafka."""
    return _kafka_clusters(NEWEST_KAFKA, 1)


@pytest.fixture(scope="session")
def kafka_three(_kafka_clusters: _Clusters) -> KafkaCluster:
    """Three nodes of the newest Kafka; leave them all running and thawed."""
    return _kafka_clusters(NEWEST_KAFKA, 3)


@pytest.fixture(scope="session")
def kafka_3_9(_kafka_clusters: _Clusters) -> KafkaCluster:
    """One node of Kafka 3.9.1 (KRaft)."""
    return _kafka_clusters("3.9.1", 1)


@pytest.fixture(scope="session")
def kafka_2_8(_kafka_clusters: _Clusters) -> KafkaCluster:
    """One node of Kafka 2.8.2 (ZooKeeper)."""
    return _kafka_clusters("2.8.2", 1)


@pytest.fixture(scope="session", params=SINGLE_VERSIONS)
def any_kafka(request: pytest.FixtureRequest, _kafka_clusters: _Clusters) -> KafkaCluster:
    """One node of each supported version in turn."""
    return _kafka_clusters(request.param, 1)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print where the broker logs of a failed session are."""
    for path in config.stash.get(_kept_logs, []):
        terminalreporter.write_line(f"broker logs kept: {path}")
