"""pytest fixtures: real Kafka clusters, each started at first use and shared by the whole session.

Owns the fixtures' names, which tests belong to `make nightly` because of their clusters, and the kept logs of a failed
session. Run these tests in one process: with several workers of pytest-xdist each would start clusters of its own,
which is safe but slow.

| fixture | what |
|---|---|
| `kafka_newest` | one node of the newest Kafka, with an authorizer and short sessions over SASL_SSL |
| `kafka_impatient` | one node of the newest Kafka with the timers of IMPATIENT, without an authorizer |
| `kafka_three` | three nodes of the newest Kafka, without an authorizer |
| `kafka_3_9`, `kafka_2_8` | one node like `kafka_newest`, the latter with ZooKeeper |
| `any_kafka` | the three single nodes with an authorizer in turn |
| `own_kafka` | makes a cluster for a test that ends or damages it, or needs other listeners or Java options |

A shared cluster has topics, groups, users and transactions of other tests: each test uses and counts its own.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import pytest

from tests.support.kafka.class_archive import make_class_archive
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import give_up, have
from tests.support.kafka.server_properties import IMPATIENT, guarded_properties
from tests.support.kafka.toolchain import NEWEST_KAFKA, ToolMissing, find_tool

OLD_VERSIONS = ("3.9.1", "2.8.2")
SINGLE_VERSIONS = (NEWEST_KAFKA, *OLD_VERSIONS)
NIGHTLY_CLUSTERS = frozenset({"kafka_impatient", "kafka_three", "kafka_3_9", "kafka_2_8", "own_kafka"})
"""The fixtures, and values of parameters, whose tests `make test` leaves out; it starts `kafka_newest` alone."""

_kept_logs = pytest.StashKey[list[str]]()
_Clusters = Callable[[str, str], KafkaCluster]


class OwnKafka(Protocol):
    """Makes a cluster and does not start it; takes the arguments of `KafkaCluster`."""

    def __call__(
        self,
        properties: Mapping[str, str] | None = None,
        *,
        version: str = NEWEST_KAFKA,
        jvm_options: tuple[str, ...] = (),
        classes: str | None = None,
    ) -> KafkaCluster: ...


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need more than one node of the newest Kafka, before pytest selects by marks."""
    for item in items:
        if is_nightly(item):
            item.add_marker(pytest.mark.nightly)


def is_nightly(item: pytest.Item) -> bool:
    """Return whether a test uses a cluster that `make test` does not start."""
    callspec = getattr(item, "callspec", None)
    values = {value for value in callspec.params.values() if isinstance(value, str)} if callspec else set()
    return not NIGHTLY_CLUSTERS.isdisjoint({*getattr(item, "fixturenames", ()), *values}) or (
        callspec is not None and callspec.params.get("any_kafka") in OLD_VERSIONS
    )


@pytest.fixture(scope="session")
def _kafka_clusters(request: pytest.FixtureRequest) -> Iterator[_Clusters]:
    started: dict[tuple[str, str], KafkaCluster] = {}
    missing: dict[tuple[str, str], str] = {}

    def make(version: str, kind: str) -> KafkaCluster:
        if kind == "three":
            return KafkaCluster(version, 3)
        guarded = guarded_properties(with_zookeeper=version.startswith("2."))
        return KafkaCluster(version, 1, guarded if kind == "guarded" else IMPATIENT)

    def get(version: str, kind: str) -> KafkaCluster:
        wanted = version, kind
        if wanted in missing:
            give_up(missing[wanted])
        if wanted not in started:
            try:
                make_class_archive(version)
                started[wanted] = make(version, kind).__enter__()
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
    """One node of the newest Kafka, with an authorizer: the guest may do nothing, all others everything."""
    return _kafka_clusters(NEWEST_KAFKA, "guarded")


@pytest.fixture(scope="session")
def kafka_impatient(_kafka_clusters: _Clusters) -> KafkaCluster:
    """One node of the newest Kafka that does its background work several times a second."""
    return _kafka_clusters(NEWEST_KAFKA, "impatient")


@pytest.fixture(scope="session")
def kafka_three(_kafka_clusters: _Clusters) -> KafkaCluster:
    """Three nodes of the newest Kafka; leave them all running and thawed."""
    return _kafka_clusters(NEWEST_KAFKA, "three")


@pytest.fixture(scope="session")
def kafka_3_9(_kafka_clusters: _Clusters) -> KafkaCluster:
    """One node of Kafka 3.9.1 (KRaft)."""
    return _kafka_clusters("3.9.1", "guarded")


@pytest.fixture(scope="session")
def kafka_2_8(_kafka_clusters: _Clusters) -> KafkaCluster:
    """One node of Kafka 2.8.2 (ZooKeeper)."""
    return _kafka_clusters("2.8.2", "guarded")


@pytest.fixture(scope="session", params=SINGLE_VERSIONS)
def any_kafka(request: pytest.FixtureRequest, _kafka_clusters: _Clusters) -> KafkaCluster:
    """One node of each supported version in turn."""
    return _kafka_clusters(request.param, "guarded")


@pytest.fixture(scope="session")
def own_kafka() -> OwnKafka:
    """A maker of clusters that the test starts and ends itself."""

    def make(
        properties: Mapping[str, str] | None = None,
        *,
        version: str = NEWEST_KAFKA,
        jvm_options: tuple[str, ...] = (),
        classes: str | None = None,
    ) -> KafkaCluster:
        return have(lambda: KafkaCluster(version, 1, properties, jvm_options=jvm_options, classes=classes))

    return make


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print where the broker logs of a failed session are."""
    for path in config.stash.get(_kept_logs, []):
        terminalreporter.write_line(f"broker logs kept: {path}")
