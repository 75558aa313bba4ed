from collections.abc import Callable

import pytest

from kctl.client.clock import ManualClock, Timer
from kctl.client.consumer.events import (
    AskTopics,
    Consumed,
    NetworkFailed,
    Query,
    Result,
    ToApplication,
    TryAgain,
    Waiting,
    WaitReport,
)
from kctl.client.consumer.mailbox import ConsumerMailbox
from kctl.client.errors import (
    ApiTimeout,
    AuthenticationError,
    ConnectionRefused,
    IllegalStateError,
    KafkaError,
    WakeupError,
)
from kctl.client.loop.close import CLOSE_MARGIN_MS, CloseRequest
from kctl.client.loop.mailbox import LOOP_GRACE_MS, CallInterrupted
from kctl.client.runtime import Task, Waiter
from tests.unit.consumer.fakes import T0


class Flag:
    def __init__(self) -> None:
        self.is_up = False

    def notify(self) -> None:
        self.is_up = True


class Loop:
    is_alive = True


class ScriptedDriver:
    """Time passes only in `wait`: to the next scripted moment, or to the deadline."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.flag = Flag()
        self.script: list[tuple[int, Callable[[], None]]] = []

    def waiter(self) -> Flag:
        return self.flag

    def wait(self, waiter: Waiter, deadline_at_ms: int) -> bool:
        while not self.flag.is_up:
            if not self.script or self.script[0][0] > deadline_at_ms:
                self.clock.advance(deadline_at_ms - self.clock.now_ms())
                return False
            at_ms, action = self.script.pop(0)
            self.clock.advance(at_ms - self.clock.now_ms())
            action()
        self.flag.is_up = False
        return True

    def spawn(self, loop: Callable[[], None], name: str) -> Loop:
        return Loop()

    def join(self, task: Task, deadline_at_ms: int) -> bool:
        self.clock.advance(deadline_at_ms - self.clock.now_ms())
        return False

    def is_current(self, task: Task) -> bool:
        return False

    def caller(self) -> object:
        return None


class Scenario:
    """A mailbox whose network thread is a script."""

    def __init__(self) -> None:
        self.clock = ManualClock(1000)
        self.driver = ScriptedDriver(self.clock)
        self.seen: list[ToApplication] = []
        self.wakeups = 0
        self.mailbox = ConsumerMailbox(self.clock, self.driver, self._woken, lambda: None, lambda: self.seen.append)

    def _woken(self) -> None:
        self.wakeups += 1

    @property
    def sent(self) -> list[object]:
        """The events posted so far; of a call its question."""
        return [event.question if isinstance(event, Query) else event for event in self.mailbox._events]

    def reports(self, at_ms: int, *events: ToApplication) -> None:
        """Let the network thread report something at an instant."""

        def speak() -> None:
            self.mailbox.reports.extend(events)
            self.driver.flag.notify()

        self.driver.script.append((at_ms, speak))

    def answers(self, at_ms: int, result: Result = None, error: KafkaError | None = None) -> None:
        """Let the network thread answer the last call at an instant."""

        def speak() -> None:
            call = [event for event in self.mailbox._events if isinstance(event, Query)][-1]
            call.result = result
            call.finish(error)

        self.driver.script.append((at_ms, speak))

    def ends(self, at_ms: int, failure: BaseException | None = None) -> None:
        """Let the network thread end at an instant."""

        def end() -> None:
            self.mailbox.failure = failure
            self.mailbox.is_finished = True
            self.driver.flag.notify()

        self.driver.script.append((at_ms, end))

    def ask(self, timeout_ms: int = 500) -> object:
        timer = Timer(self.clock, timeout_ms)
        return self.mailbox.query(lambda call_id: AskTopics(call_id, None, timer.deadline_at_ms), timer)


def test_query_returns_the_answer_and_handles_what_was_reported_before() -> None:
    scenario = Scenario()
    scenario.reports(1200, WaitReport([Waiting(T0, 1, "x")], 1200))
    scenario.answers(1200, {"t": ()})
    assert scenario.ask() == {"t": ()}
    assert scenario.clock.now_ms() == 1200
    assert scenario.sent == [AskTopics(1, None, 1500)]
    assert scenario.seen == [WaitReport([Waiting(T0, 1, "x")], 1200)]


def test_query_handles_reports_that_came_with_its_answer() -> None:
    scenario = Scenario()
    scenario.driver.script.append(
        (1200, lambda: scenario.mailbox.reports.append(WaitReport([Waiting(T0, 1, "x")], 1200)))
    )
    scenario.answers(1200, {})
    scenario.ask()
    assert scenario.seen == [WaitReport([Waiting(T0, 1, "x")], 1200)]


def test_query_of_a_loop_that_is_held_up_ends_after_the_grace() -> None:
    scenario = Scenario()
    with pytest.raises(ApiTimeout, match="waiting for the network loop"):
        scenario.ask()
    assert scenario.clock.now_ms() == 1500 + LOOP_GRACE_MS
    assert isinstance(scenario.sent[-1], CallInterrupted)


def test_error_of_the_network_thread_is_raised() -> None:
    scenario = Scenario()
    scenario.answers(1001, error=ConnectionRefused("refused"))
    with pytest.raises(ConnectionRefused):
        scenario.ask()
    assert scenario.sent == [AskTopics(1, None, 1500)], "a call that was answered is not interrupted"


def test_wakeup_ends_one_call_which_is_reported_as_interrupted() -> None:
    scenario = Scenario()
    scenario.driver.script.append((1100, scenario.mailbox.wakeup))
    with pytest.raises(WakeupError):
        scenario.ask()
    assert scenario.clock.now_ms() == 1100
    interrupted = scenario.sent[-1]
    assert isinstance(interrupted, CallInterrupted)
    assert isinstance(interrupted.call, Query)
    assert interrupted.call.question == scenario.sent[0]
    scenario.answers(1200, {})
    assert scenario.ask() == {}


def test_wakeup_before_a_call_ends_it() -> None:
    scenario = Scenario()
    scenario.mailbox.wakeup()
    with pytest.raises(WakeupError):
        scenario.ask()


def test_refused_credentials_are_raised_immediately_and_retried_by_the_next_call() -> None:
    scenario = Scenario()
    scenario.reports(1100, NetworkFailed(AuthenticationError("wrong password")))
    with pytest.raises(AuthenticationError):
        scenario.ask()
    assert scenario.clock.now_ms() == 1100
    assert TryAgain() in scenario.sent
    scenario.answers(1200, {})
    assert scenario.ask() == {}


@pytest.mark.parametrize(
    ("failure", "text"), [(None, "is closed"), (TypeError("x"), "failed, which is a bug: TypeError: x")]
)
def test_call_of_a_loop_that_has_ended_raises(failure: BaseException | None, text: str) -> None:
    scenario = Scenario()
    scenario.ends(1100, failure)
    with pytest.raises(IllegalStateError, match=text):
        scenario.ask()
    assert scenario.clock.now_ms() == 1100


def test_post_without_events_leaves_the_network_thread_asleep() -> None:
    scenario = Scenario()
    scenario.mailbox.post_all([])
    scenario.mailbox.post_quietly(Consumed(T0, 1, 5))
    assert scenario.wakeups == 0
    scenario.mailbox.post_all([])
    assert scenario.wakeups == 1


def test_room_that_the_loop_does_not_want_leaves_it_asleep() -> None:
    scenario = Scenario()
    mailbox = scenario.mailbox
    mailbox.post_consumed(Consumed(T0, 1, 5))
    assert mailbox.fall_asleep()
    mailbox.post_all([])
    assert scenario.wakeups == 0
    mailbox.wants_room = True  # the loop finds it out, and what makes room is there already
    assert not mailbox.fall_asleep()
    mailbox.post_consumed(Consumed(T0, 1, 7))
    mailbox.post_all([])
    assert scenario.wakeups == 1


def test_close_leaves_time_for_the_sockets_and_waits_for_the_last_steps() -> None:
    scenario = Scenario()
    assert scenario.mailbox.close(Loop(), Timer(scenario.clock, 300)) is False
    assert scenario.mailbox.pop_close() == CloseRequest(1300 - CLOSE_MARGIN_MS, timeout_ms=300, at_ms=1000)
    assert scenario.clock.now_ms() == 1300 + LOOP_GRACE_MS


def test_close_with_no_time_waits_for_nothing() -> None:
    scenario = Scenario()
    assert scenario.mailbox.close(Loop(), Timer(scenario.clock, 0)) is False
    assert scenario.mailbox.pop_close() == CloseRequest(0, timeout_ms=0, at_ms=1000)
    assert scenario.clock.now_ms() == 1000
