"""Dedicated connection: created on request, used for nothing else, and kept when the list of nodes changes."""

from kctl.client.cluster import Node
from kctl.client.errors import KafkaError
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.protocol.api.metadata import MetadataRequest
from tests.sim.kit.network import NetworkClientCluster, is_metadata
from tests.sim.virtual import Hub

OWN = -1000


def dedicated(cluster: NetworkClientCluster) -> Node:
    place = cluster.client.node(-1)
    return Node(OWN, place.host, place.port)


def test_dedicated_connection_is_used_by_nothing_else() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        cluster.connect()
        cluster.client.dedicate(dedicated(cluster))
        hub.run(hub.now_ms + 50)
        assert cluster.network.open_connections == 1, "made when it is asked for"
        cluster.poll_until(lambda: cluster.client.ready(OWN), until_ms=1000)
        assert cluster.network.open_connections == 2
        answers: list[Answer] = []
        cluster.client.send(Outgoing(OWN, MetadataRequest(), 1000, answers.append))
        node = cluster.client.any_ready_node()
        assert node is not None
        assert node.node_id != OWN
        cluster.poll_until(lambda: bool(answers), until_ms=1000)
        assert is_metadata(answers[0].response)


def test_dedicated_connection_outlives_the_list_of_nodes_and_follows_its_address() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        cluster.connect()
        cluster.client.dedicate(dedicated(cluster))
        cluster.poll_until(lambda: cluster.client.ready(OWN), until_ms=1000)
        cluster.client.set_nodes([Node(7, "elsewhere", 1)])
        cluster.client.dedicate(dedicated(cluster))
        cluster.client.poll(0)
        assert cluster.client.is_ready(OWN), "the same place again changes nothing"
        errors: list[KafkaError | None] = []
        cluster.client.send(Outgoing(OWN, MetadataRequest(), 1000, lambda answer: errors.append(answer.error)))
        cluster.client.dedicate(Node(OWN, "elsewhere", 1))
        cluster.poll_until(lambda: bool(errors), until_ms=1000)
        assert "the address of the broker changed" in str(errors[0])
        assert not cluster.client.is_ready(OWN)
