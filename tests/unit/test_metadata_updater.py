from random import Random

from kctl.client.backoff import ExponentialBackoff
from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import FOREVER_MS, ManualClock
from kctl.client.cluster import Node
from kctl.client.config import ClientConfig
from kctl.client.errors import ConnectionLost
from kctl.client.hedged_requests import HedgedRequests
from kctl.client.metadata import Metadata
from kctl.client.metadata_updater import MetadataUpdater
from tests.unit.fake_network import FakeNetwork
from tests.unit.metadata_answers import answer, leader, topic

BOOTSTRAP = (Node(-1, "a", 1), Node(-2, "b", 2))


class Scenario:
    """An updater whose metadata wants topic t."""

    def __init__(self, **properties: str) -> None:
        names = {key.replace("_", "."): value for key, value in properties.items()}
        config = ClientConfig.parse({"bootstrap.servers": "a:1,b:2", **names})
        self.clock = ManualClock()
        self.network = FakeNetwork(self.clock)
        backoff = ExponentialBackoff(100, 1000, Random(1), jitter=0.0)
        self.metadata = Metadata(max_age_ms=config.metadata_max_age_ms, backoff=backoff)
        self.updater = MetadataUpdater(
            config, self.network, HedgedRequests(self.network, self.clock), self.metadata, self.clock
        )
        self.metadata.want_topics(["t"])

    def run(self) -> int:
        return self.updater.run(self.clock.now_ms())

    def learn_nodes(self) -> None:
        """Get the first answer, which names nodes 1 and 2."""
        self.network.up = [-1]
        self.run()
        self.network.take().answer(answer(topic("t", leader(0, 1))))
        self.network.up = []


def test_bootstrap_servers_come_first_and_the_answer_replaces_them() -> None:
    scenario = Scenario()
    assert scenario.network.nodes == BOOTSTRAP
    scenario.learn_nodes()
    assert [node.node_id for node in scenario.network.nodes] == [1, 2]


def test_one_request_at_a_time_bounded_by_the_request_timeout() -> None:
    scenario = Scenario(request_timeout_ms="1234")
    scenario.network.up = [-1, -2]
    assert scenario.run() == FOREVER_MS
    assert scenario.run() == FOREVER_MS
    assert [request.timeout_ms for request in scenario.network.sent] == [1234]


def test_the_next_refresh_is_due_when_the_snapshot_is_too_old() -> None:
    scenario = Scenario(metadata_max_age_ms="5000")
    scenario.learn_nodes()
    scenario.clock.advance(1000)
    assert scenario.run() == 5000
    scenario.clock.advance(4000)
    scenario.network.up = [1]
    scenario.run()
    scenario.network.take().answer(answer(topic("t", leader(0, 1))))
    assert scenario.run() == 10_000


def test_a_lost_request_is_repeated_after_the_back_off() -> None:
    scenario = Scenario()
    scenario.network.up = [-1]
    scenario.run()
    scenario.network.take().fail(ConnectionLost("gone"))
    assert scenario.run() == 100
    assert scenario.network.sent == []
    scenario.clock.advance(100)
    scenario.run()
    assert len(scenario.network.sent) == 1


def test_rebootstrap_when_no_known_node_is_available() -> None:
    """KIP-899."""
    scenario = Scenario()
    scenario.learn_nodes()
    scenario.metadata.request_update()
    scenario.clock.advance(1000)
    assert scenario.run() == FOREVER_MS  # nodes are still being tried
    assert scenario.network.nodes != BOOTSTRAP
    scenario.network.unavailable = True
    scenario.run()
    assert scenario.network.nodes == BOOTSTRAP
    count = len(scenario.network.node_sets)
    scenario.run()
    assert len(scenario.network.node_sets) == count  # once: the entries of bootstrap.servers are tried now


def test_no_rebootstrap_when_it_is_switched_off() -> None:
    scenario = Scenario(metadata_recovery_strategy="none")
    scenario.learn_nodes()
    scenario.metadata.request_update()
    scenario.clock.advance(1000)
    scenario.network.unavailable = True
    scenario.run()
    assert scenario.network.nodes != BOOTSTRAP


def test_rebootstrap_after_the_trigger_counted_from_the_first_failed_refresh() -> None:
    """KIP-1102: a node accepts, and never answers."""
    scenario = Scenario(metadata_recovery_rebootstrap_trigger_ms="10000")
    scenario.learn_nodes()
    scenario.clock.advance(60_000)
    scenario.metadata.request_update()
    scenario.network.up = [1]
    scenario.run()
    scenario.network.take().fail(ConnectionLost("gone"))
    scenario.network.up = []
    scenario.clock.advance(9999)
    assert scenario.run() == 70_000
    assert scenario.network.nodes != BOOTSTRAP
    scenario.clock.advance(1)
    scenario.run()
    assert scenario.network.nodes == BOOTSTRAP


def test_rebootstrap_when_a_broker_asks_for_it() -> None:
    """KIP-1102: error 129."""
    scenario = Scenario()
    scenario.learn_nodes()
    scenario.metadata.request_update()
    scenario.clock.advance(1000)
    scenario.network.up = [1]
    scenario.run()
    scenario.network.take().answer(answer(error=ErrorCode.REBOOTSTRAP_REQUIRED), version=13)
    assert scenario.network.nodes == BOOTSTRAP
    assert scenario.metadata.due_at_ms() == 0


def refreshed_by(scenario: Scenario, *, elsewhere: bool) -> int:
    """Ask for newer metadata, and return the node that is asked; it answers."""
    scenario.metadata.request_update(elsewhere=elsewhere)
    scenario.clock.advance(1000)
    scenario.run()
    request = scenario.network.take()
    request.answer(answer(topic("t", leader(0, 1))))
    return request.node_id


def test_refresh_goes_to_another_node_once_after_the_last_answer_is_doubted() -> None:
    scenario = Scenario()
    scenario.learn_nodes()
    scenario.network.up = [1, 2]
    first = refreshed_by(scenario, elsewhere=False)
    assert refreshed_by(scenario, elsewhere=True) != first
    assert refreshed_by(scenario, elsewhere=False) == first
    scenario.network.up = [first]
    assert refreshed_by(scenario, elsewhere=True) == first
