"""TopicIds: names from the metadata, else from any broker, by id."""

from kctl.client.consumer.group.topic_ids import TopicIds
from kctl.client.errors import ConnectionLost
from kctl.client.network.in_flight import Outgoing
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from tests.unit.consumer.fakes import TOPIC_ID, FakeClient, answer, config, fail, rng, topic

OTHER_ID = TOPIC_ID[::-1]


def names(client: FakeClient) -> TopicIds:
    return TopicIds(config(), client.as_client(), rng())


def asked(request: Outgoing) -> list[bytes]:
    assert isinstance(request.request, MetadataRequest)
    topics = request.request.topics or []
    assert all(each.name is None for each in topics)
    return [each.topic_id for each in topics]


def found(topic_id: bytes, name: str, error_code: int = 0) -> MetadataResponse:
    return MetadataResponse(topics=[MetadataResponseTopic(topic_id=topic_id, name=name, error_code=error_code)])


def test_topic_id_in_the_metadata_is_not_requested() -> None:
    ids = names(FakeClient(topic("t", [1])))
    ids.want([TOPIC_ID])
    assert ids.known() == {TOPIC_ID: "t"}
    assert ids.poll(0).requests == []


def test_metadata_that_comes_later_is_enough() -> None:
    client = FakeClient()
    ids = names(client)
    ids.want([TOPIC_ID])
    assert ids.known() == {}
    client.know(topic("t", [1]))
    assert ids.known() == {TOPIC_ID: "t"}
    assert ids.missing == 0


def test_the_others_are_asked_for_by_id() -> None:
    ids = names(FakeClient(topic("t", [1])))
    ids.want([TOPIC_ID, OTHER_ID])
    assert ids.known() == {TOPIC_ID: "t"}
    [request] = ids.poll(0).requests
    assert asked(request) == [OTHER_ID]
    assert ids.poll(0).requests == []
    answer(request, found(OTHER_ID, "u"))
    assert ids.known() == {TOPIC_ID: "t", OTHER_ID: "u"}


def test_an_unknown_id_and_a_lost_answer_are_asked_again_after_a_back_off() -> None:
    ids = names(FakeClient())
    ids.want([OTHER_ID])
    [request] = ids.poll(0).requests
    answer(request, found(OTHER_ID, "", error_code=100), at_ms=50)
    assert ids.poll(149) == ([], 150)
    [request] = ids.poll(150).requests
    fail(request, ConnectionLost("gone"), at_ms=200)
    [request] = ids.poll(300).requests
    answer(request, found(OTHER_ID, "u"), at_ms=310)
    assert ids.known() == {OTHER_ID: "u"}


def test_topic_id_that_is_no_longer_wanted_is_forgotten() -> None:
    ids = names(FakeClient(topic("t", [1])))
    ids.want([TOPIC_ID])
    ids.known()
    ids.want([])
    assert ids.known() == {}
    assert ids.missing == 0


def test_without_a_node_it_waits() -> None:
    client = FakeClient()
    client.network.down = {1: None, 2: None, 3: None}
    ids = names(client)
    ids.want([TOPIC_ID])
    assert ids.poll(0).requests == []
