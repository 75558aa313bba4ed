from kctl.client.broker_errors import ErrorCode
from kctl.client.consumer.broker_queries import BrokerQueries
from kctl.client.consumer.events import AskClientInstanceId, AskTopics, CallDone
from kctl.client.errors import ConnectionLost
from kctl.client.network.in_flight import Outgoing
from kctl.client.protocol.api.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kctl.client.protocol.api.telemetry import GetTelemetrySubscriptionsResponse
from tests.unit.consumer.fakes import FakeClient, Reports, answer, config, fail, rng


class TopicsCall:
    """One call about topics: id 1, deadline 1000."""

    def __init__(self, topics: tuple[str, ...] | None = ("t",)) -> None:
        self.client = FakeClient()
        self.reports = Reports()
        self.manager = BrokerQueries(config(), self.client.as_client(), rng(), self.reports.append)
        self.manager.ask_topics(AskTopics(1, topics, 1000))

    def request(self, now_ms: int = 0) -> Outgoing:
        [request] = self.manager.poll(now_ms).requests
        return request


def described(name: str, code: int = 0) -> MetadataResponseTopic:
    partitions = [MetadataResponsePartition(partition_index=i, leader_id=i + 1) for i in (1, 0)]
    return MetadataResponseTopic(name=name, error_code=code, partitions=[] if code else partitions)


def test_a_question_is_a_request_that_creates_nothing() -> None:
    request = TopicsCall().request()
    assert isinstance(request.request, MetadataRequest)
    assert request.request.topics is not None
    assert [each.name for each in request.request.topics] == ["t"]
    assert request.request.allow_auto_topic_creation is False
    assert request.timeout_ms == 30_000, "request.timeout.ms: it outlives the call, whose limit is 1000"


def test_partitions_come_in_the_order_of_their_numbers() -> None:
    call = TopicsCall()
    answer(call.request(), MetadataResponse(topics=[described("t")]))
    [done] = call.reports.take()
    assert isinstance(done, CallDone)
    assert isinstance(done.result, dict)
    assert [info.partition for info in done.result["t"]] == [0, 1]
    assert call.manager.poll(0).requests == []


def test_an_unknown_topic_is_an_answer() -> None:
    call = TopicsCall()
    answer(call.request(), MetadataResponse(topics=[described("t", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]))
    [done] = call.reports.take()
    assert isinstance(done, CallDone)
    assert "UNKNOWN_TOPIC_OR_PARTITION" in str(done.error)


def test_all_topics_leaves_out_those_in_error() -> None:
    call = TopicsCall(None)
    broken = described("u", ErrorCode.INVALID_TOPIC_EXCEPTION)
    answer(call.request(), MetadataResponse(topics=[described("t"), broken]))
    [done] = call.reports.take()
    assert isinstance(done, CallDone)
    assert done.result is not None
    assert list(done.result) == ["t"]


def test_a_lost_connection_is_asked_again_until_the_deadline() -> None:
    call = TopicsCall()
    fail(call.request(), ConnectionLost("reset"), at_ms=50)
    assert call.manager.poll(50).next_deadline_at_ms == 150
    progress = call.manager.progress(1)
    assert progress is not None
    assert (progress.waiting_for, str(progress.cause)) == ("waiting for the metadata of t", "reset")
    assert call.request(150).timeout_ms == 30_000
    call.manager.poll(1000)
    assert call.manager.progress(1) is None


def test_an_answer_after_the_end_of_the_call_is_ignored() -> None:
    call = TopicsCall()
    request = call.request()
    call.manager.abandon(1)
    answer(request, MetadataResponse(topics=[described("t")]))
    assert call.reports.take() == []


def test_with_no_node_ready_it_waits() -> None:
    call = TopicsCall()
    call.client.network.down = dict.fromkeys((1, 2, 3))
    poll = call.manager.poll(0)
    assert (poll.requests, poll.next_deadline_at_ms) == ([], 1000)


def test_calls_for_the_client_instance_id_get_the_first_one_that_a_broker_chose() -> None:
    call = TopicsCall()
    call.request()
    call.manager.ask_client_instance_id(AskClientInstanceId(2, 1000))
    call.manager.ask_client_instance_id(AskClientInstanceId(3, 1000))
    first, second = call.manager.poll(0).requests
    answer(second, GetTelemetrySubscriptionsResponse(client_instance_id=b"2" * 16))
    answer(first, GetTelemetrySubscriptionsResponse(client_instance_id=b"1" * 16))
    call.manager.ask_client_instance_id(AskClientInstanceId(4, 1000))
    assert call.manager.poll(0).requests == []
    assert [(done.call_id, done.result) for done in call.reports.take() if isinstance(done, CallDone)] == [
        (3, b"2" * 16),
        (2, b"2" * 16),
        (4, b"2" * 16),
    ]
