"""The metadata as each broker has it: an isolated broker has an old one.

Shown by tests/sim/admin/test_cluster.py.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kctl.client.admin.call import Call, Results
from kctl.client.cluster import Node, TopicInfo
from kctl.client.errors import KafkaError
from kctl.client.metadata import nodes_in
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.metadata import MetadataResponse
from kctl.client.requests.topics import described_topics, metadata_request


class MetadataView(NamedTuple):
    """What one broker reports: the brokers, the controller (NO_NODE: none), and topics by name."""

    nodes: tuple[Node, ...]
    controller_id: int
    topics: Mapping[str, TopicInfo]


def metadata_views(call: Call, node_ids: Sequence[int], topics: Sequence[str] | None) -> Results[int, MetadataView]:
    """Return the metadata of each broker, asked once: a broker that does not respond is a result, too."""
    answers = call.ask_nodes({node_id: lambda _: metadata_request(topics) for node_id in node_ids})
    found = {node_id: _view(call, answer) for node_id, answer in answers.items()}
    return Results(
        {node_id: view for node_id, view in found.items() if not isinstance(view, KafkaError)},
        {node_id: error for node_id, error in found.items() if isinstance(error, KafkaError)},
    )


def _view(call: Call, answer: Answer | KafkaError) -> MetadataView | KafkaError:
    if isinstance(answer, KafkaError):
        return answer
    assert isinstance(answer.response, MetadataResponse)
    topics = described_topics(answer.response, call.name_of(answer.node_id))
    if isinstance(topics, KafkaError):
        return topics
    view = answer.response
    return MetadataView(nodes_in(view), view.controller_id, {topic.name: topic for topic in topics})
