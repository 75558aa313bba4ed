from collections import deque

import pytest

from kctl.client.consumer.events import (
    AbandonCall,
    AskTopics,
    CallDone,
    CallProgress,
    Forget,
    LoopEnded,
    NetworkFailed,
    Pause,
    ResolvePosition,
    StartFetch,
    Stop,
    ToApplication,
    ToNetwork,
    TryAgain,
)
from kctl.client.consumer.network_loop import NetworkLoop
from kctl.client.errors import Account, AuthenticationError
from kctl.client.protocol.api.metadata import MetadataResponse
from tests.unit.consumer.fakes import T0, FakeClient, Ones, answer, chance, config, topic


class Flag:
    def __init__(self) -> None:
        self.raised = 0

    def notify(self) -> None:
        self.raised += 1


class Desk:
    def __init__(self) -> None:
        self.client = FakeClient(topic("t", [1]))
        self.inbox: deque[ToNetwork] = deque()
        self.outbox: deque[ToApplication] = deque()
        self.flag = Flag()
        self.loop = NetworkLoop(
            config(), self.client.as_client(), chance(), Ones(),
            inbox=self.inbox, outbox=self.outbox, application=self.flag, prefetch_bytes=1 << 20,
        )  # fmt: skip

    def turn(self, *events: ToNetwork) -> list[str]:
        """Let the loop run once with these events and return the names of the requests it sent."""
        self.inbox.extend(events)
        self.client.sent.clear()
        self.loop.run_once()
        return [request.request.NAME for request in self.client.sent]

    def told(self) -> list[ToApplication]:
        told = list(self.outbox)
        self.outbox.clear()
        return told


def test_a_start_of_fetching_ends_the_look_up_of_the_position() -> None:
    desk = Desk()
    desk.client.network.down[1] = None
    assert desk.turn(ResolvePosition(T0, 1, -2)) == []
    del desk.client.network.down[1]
    assert desk.turn(StartFetch(T0, 2, 5)) == ["Fetch"]


def test_a_look_up_of_the_position_ends_fetching() -> None:
    desk = Desk()
    assert desk.turn(StartFetch(T0, 1, 5), ResolvePosition(T0, 2, -2)) == ["ListOffsets"]


def test_paused_and_forgotten_partitions_are_not_asked_for() -> None:
    desk = Desk()
    assert desk.turn(StartFetch(T0, 1, 5), Pause(T0, True)) == []
    assert desk.turn(Pause(T0, False), Forget(T0)) == []
    desk.client.know(topic("t", [1]))
    assert desk.turn(StartFetch(T0, 2, 5)) == ["Fetch"]


def test_topics_of_what_is_fetched_are_kept_fresh_and_dropped_afterwards() -> None:
    desk = Desk()
    desk.turn(StartFetch(T0, 1, 5))
    desk.client.metadata.begin(0)
    assert [each.name for each in desk.client.metadata.begin(0).topics or []] == ["t"]
    desk.turn(Forget(T0))
    assert desk.client.metadata.begin(0).topics == []


def test_an_open_call_is_told_of_and_forgotten_with_its_answer() -> None:
    desk = Desk()
    assert desk.turn(AskTopics(1, None, 1000)) == ["Metadata"]
    [progress] = desk.told()
    assert progress == CallProgress(
        1,
        "waiting for the metadata of all topics from host1:9092 (id 1)",
        None,
        Account(),
        {"connecting": 5},
        "idle",
        0,
    )
    assert desk.flag.raised == 0, "the application sleeps on"
    answer(desk.client.sent[0], MetadataResponse())
    desk.turn()
    assert desk.told() == [CallDone(1, {}, None)]
    assert desk.flag.raised == 1
    assert desk.loop.open_calls == {}


def test_an_abandoned_call_is_forgotten() -> None:
    desk = Desk()
    desk.turn(AskTopics(1, None, 1000))
    [request] = desk.client.sent
    desk.turn(AbandonCall(1))
    desk.told()
    answer(request, MetadataResponse())
    desk.turn()
    assert (desk.told(), desk.loop.open_calls) == ([], {})


def test_the_wait_ends_at_the_nearest_deadline() -> None:
    desk = Desk()
    desk.client.clock.advance(300)
    desk.turn(AskTopics(1, None, 1000))
    assert desk.client.polled_until_ms == [1000]


def test_refused_credentials_are_told_once_until_tried_again() -> None:
    desk = Desk()
    refusal = desk.client.network.refusal = AuthenticationError("wrong password")
    desk.turn()
    desk.turn()
    assert desk.told() == [NetworkFailed(refusal)]
    desk.turn(TryAgain())
    assert desk.told() == [], "the client was let try again, and has not failed yet"
    desk.client.network.refusal = refusal
    desk.turn()
    assert desk.told() == [NetworkFailed(refusal)]


def test_stop_closes_the_client_and_says_so_last() -> None:
    desk = Desk()
    desk.inbox.append(Stop(0))
    desk.loop.run()
    assert desk.client.is_closed
    assert desk.told() == [LoopEnded()]


def test_a_fault_of_the_loop_itself_still_closes_the_client_and_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()
    monkeypatch.setattr(desk.client.network, "fatal_error", "no function: a fault that nobody foresaw")
    with pytest.raises(TypeError) as raised:
        desk.loop.run()
    assert desk.client.is_closed
    assert desk.told() == [LoopEnded(failure=raised.value)]
    assert desk.flag.raised == 1
