"""A cluster whose feature transaction.version is 1: the sandbox answers like a Kafka that was set back to it."""

from collections.abc import Iterator
from typing import Any

import pytest

from kctl.client.protocol.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kctl.sandbox import ClusterSettings, Sandbox
from tests.conformance import test_sandbox_transactions_against_kafka as scenarios
from tests.conformance.transaction_talk import PATIENCE_MS, TransactionTalk
from tests.loopback.sandbox.peer import Peer
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

pytestmark = pytest.mark.nightly


def _level(peer: Peer) -> int:
    """Return the level of transaction.version that a broker tells."""
    asked = ApiVersionsRequest(client_software_name="peer", client_software_version="1")
    told = peer.call(asked, ApiVersionsResponse, 4).finalized_features
    return next((one.max_version_level for one in told if one.name == "transaction.version"), 0)


def _address(cluster: KafkaCluster) -> tuple[str, int]:
    host, _, port = cluster.bootstrap().partition(",")[0].rpartition(":")
    return host, int(port)


def _set_level(kafka: KafkaCluster, change: str, level: int) -> None:
    words = ("--bootstrap-server", kafka.bootstrap(), change, "--feature", f"transaction.version={level}")
    kafka.run_tool("org.apache.kafka.tools.FeatureCommand", *words)
    with Peer(_address(kafka)) as peer:
        wait_until(lambda: _level(peer) == level, PATIENCE_MS, f"transaction.version {level}")


@pytest.fixture(scope="module")
def set_back(kafka_newest: KafkaCluster) -> Iterator[KafkaCluster]:
    """One node of the newest Kafka with transactions as before KIP-890."""
    _set_level(kafka_newest, "downgrade", 1)
    try:
        yield kafka_newest
    finally:
        _set_level(kafka_newest, "upgrade", 2)


@pytest.mark.parametrize("scenario", scenarios.BOTH)
def test_outcomes_are_those_of_kafka(set_back: KafkaCluster, scenario: Any) -> None:
    topic = set_back.create_topic(partitions=3)
    with Peer(_address(set_back)) as peer:
        kafka = list(scenario(TransactionTalk(peer, topic, 1)))
    sandbox = Sandbox(nodes=1, topics={topic: 3}, settings=ClusterSettings(transaction_version=1))
    with sandbox.serve() as served, Peer(served.listens_on(1)) as peer:
        assert _level(peer) == 1
        ours = list(scenario(TransactionTalk(peer, topic, 1)))
    assert ours == kafka
