from typing import get_args

import pytest

from kctl.client.clock import Timer
from kctl.client.consumer.events import (
    AskOffsets,
    AskTopics,
    Forget,
    NetworkFailed,
    Pause,
    Query,
    Question,
    ResolvePosition,
    StartFetch,
    ToApplication,
    ToNetwork,
    TryAgain,
    WaitReport,
)
from kctl.client.consumer.group.events import GroupToNetwork
from kctl.client.consumer.mailbox import CloseReport, ConsumerMailbox
from kctl.client.consumer.network_loop import NetworkLoop
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import ApiTimeout, AuthenticationError, IllegalStateError
from kctl.client.loop.close import CloseRequest
from kctl.client.loop.mailbox import Call, CallInterrupted
from kctl.client.protocol.api.metadata import MetadataResponse
from tests.unit.consumer.fakes import T0, T1, T2, FakeClient, Ones, answer, config, rng, topic
from tests.unit.producer.records import NoDriver


class Flag:
    def __init__(self) -> None:
        self.raised = 0

    def notify(self) -> None:
        self.raised += 1


class Scenario:
    def __init__(self, **properties: object) -> None:
        self.client = FakeClient(topic("t", [1]))
        self.flag = Flag()
        self.mailbox = ConsumerMailbox(
            self.client.clock, NoDriver(self.client.clock), lambda: None, lambda: None, lambda: lambda _: None
        )
        self.mailbox.waiter = self.flag
        self.loop = NetworkLoop(
            config(**properties), self.client.as_client(), self.mailbox, rng(), Ones(), prefetch_bytes=1 << 20
        )

    def query(self, question: Question, timeout_ms: int = 1000) -> Query:
        return Query(question, Timer(self.client.clock, timeout_ms), self.flag)

    def turn(self, *events: ToNetwork | Call | CallInterrupted) -> list[str]:
        """Let the loop run once with these events and return the names of the requests it sent."""
        self.mailbox.post_all(events)
        self.client.sent.clear()
        self.loop.turn()
        return [request.request.NAME for request in self.client.sent]

    def told(self) -> list[ToApplication]:
        told = list(self.mailbox.reports)
        self.mailbox.reports.clear()
        return told


def test_a_start_of_fetching_ends_the_look_up_of_the_position() -> None:
    scenario = Scenario()
    scenario.client.network.down[1] = None
    assert scenario.turn(ResolvePosition(T0, 1, -2)) == []
    del scenario.client.network.down[1]
    assert scenario.turn(StartFetch(T0, 2, 5)) == ["Fetch"]


def test_event_whose_wake_up_the_poll_before_a_deadline_reads_is_handled_in_that_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scenario = Scenario()
    scenario.turn(scenario.query(AskTopics(1, None, 1000)))
    monkeypatch.setattr(scenario.client, "poll_arrived", lambda: scenario.mailbox.post(StartFetch(T0, 2, 5)))
    scenario.client.clock.advance(1000)
    assert scenario.turn() == ["Fetch"]


def test_a_look_up_of_the_position_ends_fetching() -> None:
    scenario = Scenario()
    assert scenario.turn(StartFetch(T0, 1, 5), ResolvePosition(T0, 2, -2)) == ["ListOffsets"]


def test_paused_and_forgotten_partitions_are_not_asked_for() -> None:
    scenario = Scenario()
    assert scenario.turn(StartFetch(T0, 1, 5), Pause(T0, True)) == []
    assert scenario.turn(Pause(T0, False), Forget(T0)) == []
    scenario.client.know(topic("t", [1]))
    assert scenario.turn(StartFetch(T0, 2, 5)) == ["Fetch"]


def test_waits_of_a_turn_are_one_report() -> None:
    scenario = Scenario()
    scenario.client.know(topic("t", [1, 1, 1]))
    scenario.client.network.down[1] = None
    scenario.turn(StartFetch(T0, 1, 5), StartFetch(T1, 2, 5), StartFetch(T2, 3, 5))
    [report] = scenario.told()
    assert isinstance(report, WaitReport)
    assert [(wait.topic_partition, wait.kind) for wait in report.waits] == [
        (tp, WaitKind.CONNECTION) for tp in (T0, T1, T2)
    ]


def test_topics_of_what_is_fetched_are_kept_fresh_and_dropped_afterwards() -> None:
    scenario = Scenario()
    scenario.turn(StartFetch(T0, 1, 5))
    scenario.client.metadata.begin(0)
    assert [each.name for each in scenario.client.metadata.begin(0).topics or []] == ["t"]
    scenario.turn(Forget(T0))
    assert scenario.client.metadata.begin(0).topics == []


def test_call_is_answered_and_forgotten() -> None:
    scenario = Scenario()
    query = scenario.query(AskTopics(1, None, 1000))
    assert scenario.turn(query) == ["Metadata"]
    assert (query.is_done, scenario.flag.raised) == (False, 0), "the application sleeps on"
    answer(scenario.client.sent[0], MetadataResponse())
    assert (query.is_done, query.result, query.error) == (True, {}, None)
    assert scenario.flag.raised == 1
    assert scenario.loop.open_calls == {}


def test_interrupted_call_is_forgotten() -> None:
    scenario = Scenario()
    query = scenario.query(AskTopics(1, None, 1000))
    scenario.turn(query)
    [request] = scenario.client.sent
    scenario.turn(CallInterrupted(query))
    assert scenario.loop.open_calls == {}
    answer(request, MetadataResponse())
    scenario.turn()
    assert (scenario.told(), query.is_done) == ([], False)


def test_call_times_out_at_its_deadline_with_what_it_waits_for() -> None:
    scenario = Scenario()
    query = scenario.query(AskTopics(1, None, 500), timeout_ms=500)
    scenario.turn(query)
    assert scenario.client.polled_until_ms == [500]
    scenario.client.clock.advance(499)
    scenario.turn()
    assert not query.is_done
    scenario.client.clock.advance(1)
    scenario.turn()
    error = query.error
    assert isinstance(error, ApiTimeout)
    assert (error.timeout_ms, error.elapsed_ms) == (500, 500)
    assert error.waiting_for == "waiting for the metadata of all topics from host1:9092 (id 1)"
    assert error.account.time_breakdown == ("earlier requests 495 ms", "connecting 5 ms")
    assert scenario.loop.open_calls == {}


def test_wait_ends_at_the_nearest_deadline() -> None:
    scenario = Scenario()
    scenario.client.clock.advance(300)
    scenario.turn(scenario.query(AskTopics(1, None, 1000), timeout_ms=700))
    assert scenario.client.polled_until_ms == [1000]


def test_refused_credentials_are_told_once_until_tried_again() -> None:
    scenario = Scenario()
    refusal = scenario.client.network.refusal = AuthenticationError("wrong password")
    scenario.turn()
    scenario.turn()
    assert scenario.told() == [NetworkFailed(refusal)]
    scenario.turn(TryAgain())
    assert scenario.told() == [], "the client was let try again, and has not failed yet"
    scenario.client.network.refusal = refusal
    scenario.turn()
    assert scenario.told() == [NetworkFailed(refusal)]


def test_close_closes_the_client_and_reports() -> None:
    scenario = Scenario()
    scenario.mailbox.post_close(CloseRequest(0))
    scenario.loop.run()
    assert scenario.client.is_closed
    assert (scenario.mailbox.is_finished, scenario.mailbox.close_report) == (True, CloseReport())


def test_fault_of_the_loop_itself_closes_the_client_and_answers_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = Scenario()
    monkeypatch.setattr(scenario.client.network, "fatal_error", "no function: a fault that was not foreseen")
    taken = scenario.query(AskTopics(1, None, 1000))
    scenario.mailbox.post(taken)
    with pytest.raises(TypeError) as raised:
        scenario.loop.run()
    assert scenario.client.is_closed
    assert scenario.mailbox.failure is raised.value
    assert isinstance(taken.error, IllegalStateError)
    assert scenario.flag.raised > 0


def test_every_type_of_event_and_question_has_one_handler() -> None:
    loop = Scenario(group_id="g").loop
    assert set(loop._handlers) == set(get_args(ToNetwork)) - set(get_args(Question)) | {AskOffsets}
    assert set(loop._questions) == set(get_args(Question))
    without_group = Scenario().loop
    assert set(loop._handlers) - set(without_group._handlers) == set(get_args(GroupToNetwork)) - set(get_args(Question))
