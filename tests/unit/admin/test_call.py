from collections.abc import Callable
from random import Random

import pytest

from kctl.client.admin.call import Call, Span
from kctl.client.admin.topics import NewTopic, create_topics
from kctl.client.backoff import ExponentialBackoff
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import ManualClock, Timer
from kctl.client.config import AdminConfig
from kctl.client.errors import (
    Account,
    ApiTimeout,
    AuthenticationError,
    ConnectionLost,
    ConnectionRefused,
    KafkaError,
    UnsupportedVersionError,
)
from kctl.client.metadata import Metadata
from kctl.client.protocol.api.metadata import MetadataRequest
from kctl.client.protocol.api.topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from kctl.client.requests.retry import ADMIN
from tests.unit.fake_network import FakeClient, FakeNetwork, SentRequest
from tests.unit.metadata_answers import answer

Answerer = Callable[[SentRequest], None]


class AnsweringNetwork(FakeNetwork):
    """Answers each request 10 ms after it was sent, as a script says; silence lets the time pass."""

    def __init__(self, clock: ManualClock, answerer: Answerer) -> None:
        super().__init__(clock)
        self.answerer = answerer

    def poll(self, until_ms: int) -> None:
        if not self.sent:
            super().poll(until_ms)
            return
        sent = self.take()
        super().poll(min(self.clock.now_ms() + 10, until_ms))
        self.answerer(sent)


def call_with(answerer: Answerer, timeout_ms: int = 1000, retries: int = 2**31 - 1) -> Call:
    clock = ManualClock()
    metadata = Metadata(max_age_ms=300_000, backoff=ExponentialBackoff(100, 1000, Random(1), jitter=0.0))
    client = FakeClient(AdminConfig.parse({"bootstrap.servers": "a:1"}), clock, metadata)
    network = AnsweringNetwork(clock, answerer)
    network.set_nodes(client.fake.nodes)
    network.up = [-1, 1, 2]
    client.use(network)
    backoff = ExponentialBackoff(100, 1000, Random(1), jitter=0.0)
    span = Span(Timer(clock, timeout_ms), client.time_mark())
    return Call(client, backoff, span, request_timeout_ms=400, retries=retries, what="creating")


def silent(_sent: SentRequest) -> None:
    """Answer nothing."""


def fake_of(call: Call) -> FakeNetwork:
    assert isinstance(call.client, FakeClient)
    return call.client.fake


def created(request: SentRequest, codes: dict[str, int]) -> CreateTopicsResponse:
    assert isinstance(request.request, CreateTopicsRequest)
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name=topic.name, error_code=codes.get(topic.name, 0))
            for topic in request.request.topics
        ]
    )


def test_condition_that_holds_is_not_waited_for() -> None:
    call = call_with(silent, timeout_ms=0)
    call.wait_until(lambda: True, "looking")
    assert call.client.clock.now_ms() == 0


def test_wait_ends_at_the_deadline_with_cause_and_time_breakdown() -> None:
    call = call_with(silent, timeout_ms=1500)
    refused = ConnectionRefused("refused")
    fake_of(call).status.failures[-1] = refused
    with pytest.raises(ApiTimeout, match=r"timed out after 1.5s .* while creating: looking") as caught:
        call.wait_until(lambda: False, "looking")
    assert call.client.clock.now_ms() == 1500
    assert caught.value.cause is refused
    assert caught.value.account == Account(("connecting 1500 ms",), 0, (refused,))


def test_fatal_error_ends_a_wait_at_once() -> None:
    call = call_with(silent)
    fake_of(call).status.fatal = AuthenticationError("no")
    with pytest.raises(AuthenticationError):
        call.wait_until(lambda: False, "looking")
    assert call.client.clock.now_ms() == 0


def test_a_controller_that_moved_is_looked_for_and_only_what_failed_is_asked_again() -> None:
    asked: list[tuple[int, list[str]]] = []
    controllers = [1, 2]

    def script(sent: SentRequest) -> None:
        if isinstance(sent.request, MetadataRequest):
            found = answer()
            found.controller_id = controllers.pop(0)
            sent.answer(found)
            return
        assert isinstance(sent.request, CreateTopicsRequest)
        asked.append((sent.node_id, [topic.name for topic in sent.request.topics]))
        sent.answer(created(sent, {"b": int(ErrorCode.NOT_CONTROLLER)} if sent.node_id == 1 else {}))

    call = call_with(script)
    results = create_topics(call, [NewTopic("a"), NewTopic("b")], validate_only=False)
    assert list(results.done) == ["a", "b"]
    assert asked == [(1, ["a", "b"]), (2, ["b"])]


def test_items_unanswered_at_the_deadline_fail_each_and_the_others_keep_their_answers() -> None:
    def script(sent: SentRequest) -> None:
        if isinstance(sent.request, MetadataRequest):
            sent.answer(answer())
        else:
            sent.answer(created(sent, {"b": int(ErrorCode.THROTTLING_QUOTA_EXCEEDED)}))

    call = call_with(script)
    results = create_topics(call, [NewTopic("a"), NewTopic("b")], validate_only=False)
    assert list(results.done) == ["a"]
    error = results.failed["b"]
    assert isinstance(error, ApiTimeout)
    assert "THROTTLING_QUOTA_EXCEEDED" in str(error.cause)
    assert call.client.clock.now_ms() == 1000


def test_lost_requests_are_asked_again_as_often_as_retries_allow() -> None:
    counts = {"asked": 0}

    def script(sent: SentRequest) -> None:
        if isinstance(sent.request, MetadataRequest):
            sent.answer(answer())
        else:
            counts["asked"] += 1
            sent.fail(ConnectionLost("gone"))

    with pytest.raises(ConnectionLost):
        create_topics(call_with(script, retries=2), [NewTopic("a")], validate_only=False).raise_first()
    assert counts["asked"] == 3
    with pytest.raises(ApiTimeout, match="gone"):
        create_topics(call_with(script), [NewTopic("a")], validate_only=False).raise_first()


def test_error_that_is_not_retriable_is_raised_at_once() -> None:
    def script(sent: SentRequest) -> None:
        if isinstance(sent.request, MetadataRequest):
            sent.answer(answer())
        else:
            sent.fail(UnsupportedVersionError("too old"))

    call = call_with(script)
    with pytest.raises(UnsupportedVersionError):
        create_topics(call, [NewTopic("a")], validate_only=False)
    assert call.client.clock.now_ms() < 100


def test_a_request_may_take_what_is_left_of_the_call_but_not_more_than_one_request_may() -> None:
    limits: list[int] = []

    def script(sent: SentRequest) -> None:
        if isinstance(sent.request, MetadataRequest):
            sent.answer(answer())
            return
        assert isinstance(sent.request, CreateTopicsRequest)
        assert sent.request.timeout_ms == sent.timeout_ms
        limits.append(sent.timeout_ms)
        sent.fail(ConnectionLost("gone"))

    with pytest.raises(ApiTimeout):
        create_topics(call_with(script, timeout_ms=600), [NewTopic("a")], validate_only=False).raise_first()
    assert limits == [400, 400, 270]  # sent at 10, 120 and 330


def test_a_question_that_is_not_answered_is_named_with_its_broker() -> None:
    def script(sent: SentRequest) -> None:
        if isinstance(sent.request, MetadataRequest):
            sent.answer(answer())

    with pytest.raises(ApiTimeout, match=r"waiting for the CreateTopics response from \w+:\d+ \(id 1\)"):
        create_topics(call_with(script, timeout_ms=300), [NewTopic("a")], validate_only=False).raise_first()


def test_an_answer_that_forgets_an_item_is_an_error_of_that_item() -> None:
    def script(sent: SentRequest) -> None:
        if isinstance(sent.request, MetadataRequest):
            sent.answer(answer())
        else:
            sent.answer(CreateTopicsResponse(topics=[CreatableTopicResult(name="a")]))

    results = create_topics(call_with(script), [NewTopic("a"), NewTopic("b")], validate_only=False)
    assert list(results.done) == ["a"]
    with pytest.raises(KafkaError, match=r"the CreateTopics response from n1:9092 \(id 1\) does not contain b"):
        results["b"]


def test_items_that_fail_without_a_request_are_attempted_until_the_deadline_and_not_after() -> None:
    """A partition without a leader is looked up in the metadata alone: no request of it notices the time."""
    call = call_with(lambda sent: sent.answer(answer()))
    attempts: list[int] = []

    def attempt(keys: list[str]) -> dict[str, str | KafkaError]:
        attempts.append(call.client.clock.now_ms())
        assert len(attempts) < 100, "attempted without an end"
        return {key: "done" if key == "a" else broker_error(ErrorCode.LEADER_NOT_AVAILABLE, key) for key in keys}

    results = call.each(["a", "b"], attempt, ADMIN.is_retried)
    assert results.done == {"a": "done"}
    assert isinstance(results.failed["b"], ApiTimeout)
    assert attempts[-1] < 1000 == call.client.clock.now_ms()
