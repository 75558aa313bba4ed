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
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import NEWEST_KAFKA
from tests.support.kafka.waiting import wait_until


def _level(peer: Peer) -> int:
    """Return the level of transaction.version that a broker tells."""
    asked = ApiVersionsRequest(client_software_name="peer", client_software_version="1")
    told = peer.call(asked, ApiVersionsResponse, 4).finalized_features
    return next((one.max_version_level for one in told if one.name == "transaction.version"), 0)


def _address(cluster: KafkaCluster) -> tuple[str, int]:
    host, _, port = cluster.bootstrap().partition(",")[0].rpartition(":")
    return host, int(port)


@pytest.fixture(scope="module")
def set_back() -> Iterator[KafkaCluster]:
    """One node of the newest Kafka with transactions as before KIP-890."""
    with have(lambda: KafkaCluster(NEWEST_KAFKA, 1)) as cluster:
        words = ("--bootstrap-server", cluster.bootstrap(), "downgrade", "--feature", "transaction.version=1")
        cluster.run_tool("org.apache.kafka.tools.FeatureCommand", *words)
        with Peer(_address(cluster)) as peer:
            wait_until(lambda: _level(peer) == 1, PATIENCE_MS, "transaction.version 1")
        yield cluster


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
