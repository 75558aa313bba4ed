"""Which replica is read: followers that a leader sends us to, and leaders that an answer names."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import PartitionInfo, TopicInfo
from kctl.client.consumer.events import Fetched, PartitionFailed, StartFetch
from kctl.client.consumer.fetch.partition import LEADER_ONLY_MS
from kctl.client.errors import ConnectionLost, ConnectionRefused
from kctl.client.network.in_flight import Outgoing
from kctl.client.protocol.api.fetch import FetchableTopicResponse, FetchResponse, NodeEndpoint, PartitionData
from tests.unit.consumer.fakes import T0, T1, TOPIC_ID, FakeClient, answer, batch, fail, topic
from tests.unit.consumer.fetch.test_manager import Scenario, asked, brings, data, error, message

MAX_AGE_MS = 60_000


def prefers(index: int, node_id: int) -> PartitionData:
    """What a leader says that sends a reader to a follower: no records."""
    part = data(index, b"", end=9)
    part.preferred_read_replica = node_id
    return part


def following() -> Scenario:
    """A scenario that partition 0's leader, node 1, has sent to node 2 at 0 ms."""
    client = FakeClient(topic("t", [1, 1]))
    scenario = Scenario(client, T0, client_rack="here", metadata_max_age_ms=MAX_AGE_MS)
    answer(scenario.request(), brings(prefers(0, 2)))
    scenario.reports.take()
    return scenario


def rack(request: Outgoing) -> str:
    return message(request).rack_id


def test_the_rack_is_told_and_the_follower_that_the_leader_names_is_read() -> None:
    client = FakeClient(topic("t", [1, 1]))
    scenario = Scenario(client, T0, T1, client_rack="here")
    request = scenario.request()
    assert rack(request) == "here"
    answer(request, brings(prefers(0, 2), data(1, b"")))
    requests = {each.node_id: asked(each) for each in scenario.requests()}
    assert requests == {2: [("t", 0, 0)], 1: [("t", 1, 0)]}


def test_a_follower_is_read_until_the_metadata_would_be_too_old() -> None:
    scenario = following()
    request = scenario.request(MAX_AGE_MS - 1)
    assert request.node_id == 2
    answer(request, brings(data(0, batch(0, 3), end=3)), at_ms=MAX_AGE_MS - 1)
    assert isinstance(scenario.reports.take()[0], Fetched)
    request = scenario.request(MAX_AGE_MS)
    assert (request.node_id, asked(request)) == (1, [("t", 0, 3)])


def test_offset_that_a_follower_lacks_is_fetched_from_the_leader_without_a_reset() -> None:
    for code in (ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REPLICA_NOT_AVAILABLE):
        scenario = following()
        answer(scenario.request(), brings(error(0, code)), at_ms=10)
        assert not any(isinstance(each, PartitionFailed) for each in scenario.reports.take())
        request = scenario.request(10)
        assert (request.node_id, rack(request)) == (1, ""), "at once, and not to be sent back"
        answer(request, brings(error(0, ErrorCode.OFFSET_OUT_OF_RANGE)))
        assert isinstance(scenario.reports.take()[0], PartitionFailed), "the leader's word counts"


def test_a_follower_is_named_again_when_its_fault_is_some_time_ago() -> None:
    scenario = following()
    answer(scenario.request(), brings(error(0, ErrorCode.OFFSET_OUT_OF_RANGE)), at_ms=10)
    for at_ms, expected in ((10, ""), (10 + LEADER_ONLY_MS - 1, ""), (10 + LEADER_ONLY_MS, "here")):
        request = scenario.request(at_ms)
        assert (request.node_id, rack(request)) == (1, expected)
        answer(request, brings(data(0, b"", end=0)), at_ms=at_ms)


def test_a_follower_that_hangs_up_is_left_at_once() -> None:
    scenario = following()
    fail(scenario.request(), ConnectionLost("reset"), at_ms=10)
    assert scenario.request(10).node_id == 1


def test_a_follower_that_cannot_be_reached_is_left_and_one_that_is_dialled_is_waited_for() -> None:
    scenario = following()
    scenario.client.network.down[2] = None
    assert scenario.requests() == []
    assert "connecting to leader" in scenario.waiting()[0]
    scenario.client.network.down[2] = ConnectionRefused("refused")
    poll = scenario.manager.poll(10)
    assert (poll.requests, poll.next_deadline_at_ms) == ([], 10)
    assert scenario.request(10).node_id == 1


def test_a_follower_that_is_offline_or_unknown_is_not_read() -> None:
    scenario = following()
    offline = PartitionInfo("t", 0, 1, leader_epoch=7, offline_replicas=(2,))
    scenario.client.know(TopicInfo("t", TOPIC_ID, False, None, {0: offline}))
    assert scenario.request().node_id == 1
    scenario = Scenario(FakeClient(topic("t", [1])), T0, client_rack="here")
    answer(scenario.request(), brings(prefers(0, 99)))
    request = scenario.request()
    assert (request.node_id, rack(request)) == (1, "")
    assert scenario.client.is_refresh_wanted


def test_a_seek_stays_at_the_follower() -> None:
    scenario = following()
    scenario.manager.start(StartFetch(T0, 2, 5))
    assert scenario.request().node_id == 2


# --- leaders that an answer names -----------------------------------------------------------------------------------


def moved(leader_id: int, leader_epoch: int, *nodes: NodeEndpoint, code: int) -> FetchResponse:
    part = error(0, code)
    part.current_leader.leader_id, part.current_leader.leader_epoch = leader_id, leader_epoch
    topics = [FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[part])]
    return FetchResponse(responses=topics, node_endpoints=list(nodes))


NODE_9 = NodeEndpoint(node_id=9, host="host9", port=9099, rack="there")


def test_the_leader_that_an_answer_names_is_asked_at_once() -> None:
    for code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH):
        scenario = Scenario(FakeClient(topic("t", [1])), T0)
        answer(scenario.request(), moved(9, 8, NODE_9, code=code), at_ms=50)
        request = scenario.request(50)
        assert (request.node_id, message(request).topics[0].partitions[0].current_leader_epoch) == (9, 8)
        node = scenario.client.metadata.cluster.node(9)
        assert node is not None
        assert (node.host, node.port, node.rack) == ("host9", 9099, "there")
        assert scenario.client.is_refresh_wanted, "the rest of the metadata may be stale as well"


def test_a_named_leader_that_is_no_news_has_to_wait() -> None:
    scenario = Scenario(FakeClient(topic("t", [1])), T0)
    answer(scenario.request(), moved(9, 7, NODE_9, code=ErrorCode.NOT_LEADER_OR_FOLLOWER), at_ms=50)
    assert scenario.requests(50) == []
    assert scenario.request(150).node_id == 1


def test_metadata_that_is_newer_than_the_fetch_needs_no_back_off() -> None:
    client = FakeClient(topic("t", [1]))
    scenario = Scenario(client, T0)
    request = scenario.request()
    info = PartitionInfo("t", 0, 2, leader_epoch=8)
    client.know(TopicInfo("t", TOPIC_ID, False, None, {0: info}))
    answer(request, brings(error(0, ErrorCode.NOT_LEADER_OR_FOLLOWER)), at_ms=50)
    assert scenario.request(50).node_id == 2
